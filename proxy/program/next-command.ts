import { resolve } from 'node:path';

/** Options of a command line that say which ledger it is for. */
export interface StartedWith {
  readonly config: string | null;
  readonly data: string | undefined;
}

export const startedWithOf = ({ startedWith }: { readonly startedWith?: () => StartedWith }): StartedWith =>
  startedWith?.() ?? { config: null, data: undefined };

/** A command for the ledger of a command line that was given so, wherever it is typed, as a shell takes it. */
export function nextCommand({ config, data }: StartedWith, ...command: readonly string[]): string {
  const words = [...command];
  if (config !== null) words.push('--config', resolve(config));
  if (data !== undefined) words.push('--data', resolve(data));
  return words.map(asShellWord).join(' ');
}

/** What is to be filled in stands as it is, in the quotes that it is to be typed in. */
const asShellWord = (text: string): string =>
  /^("…"|[\w./:@%+=,-]+)$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
