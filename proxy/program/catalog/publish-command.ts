import { resolve } from 'node:path';

/** Options of a start that say which ledger a command is for. */
export interface StartedWith {
  readonly config: string | null;
  readonly data: string | undefined;
}

/** What publishes a catalog file into the ledger of a gateway that was started so. */
export const publishCommand = (file: string, startedWith: StartedWith): string =>
  commandFor(startedWith, 'gateway', 'catalog', 'publish', file);

/** A command for the ledger of a gateway that was started so, wherever it is typed, as a shell takes it. */
export function commandFor({ config, data }: StartedWith, ...command: readonly string[]): string {
  const words = [...command];
  if (config !== null) words.push('--config', resolve(config));
  if (data !== undefined) words.push('--data', resolve(data));
  return words.map(asShellWord).join(' ');
}

const asShellWord = (text: string): string =>
  /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
