import { resolve } from 'node:path';

/** Options of a start that say which ledger a command is for. */
export interface StartedWith {
  readonly config: string | null;
  readonly data: string | undefined;
}

/** What publishes a catalog file into the ledger of a gateway that was started so, wherever it is typed, as a shell takes it. */
export function publishCommand(file: string, { config, data }: StartedWith): string {
  const words = ['gateway', 'catalog', 'publish', file];
  if (config !== null) words.push('--config', resolve(config));
  if (data !== undefined) words.push('--data', resolve(data));
  return words.map(asShellWord).join(' ');
}

const asShellWord = (text: string): string =>
  /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
