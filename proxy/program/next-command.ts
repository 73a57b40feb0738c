import { resolve } from 'node:path';
import type { Command } from 'commander';
import { type CommandContext, configurationFile, globalOptions } from './command-context.ts';

/** Options of a command line that say which ledger it is for. */
export interface StartedWith {
  readonly config: string | null;
  readonly data: string | undefined;
}

export const startedWithOf = (context: CommandContext, command: Command): StartedWith => ({
  config: configurationFile(context, command),
  data: globalOptions(command).data,
});

/** A command for the ledger of a command line that was given so, wherever it is typed, as a shell takes it. */
export function nextCommand({ config, data }: StartedWith, ...command: readonly string[]): string {
  return withOptions(command.map(asShellWord).join(' '), { config, data });
}

/** A command that stands ready in words, with what it is given for the same ledger. */
export function withOptions(line: string, { config, data }: StartedWith): string {
  const words: string[] = [];
  if (config !== null) words.push('--config', resolve(config));
  if (data !== undefined) words.push('--data', resolve(data));
  return [line, ...words.map(asShellWord)].join(' ');
}

const asShellWord = (text: string): string =>
  /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
