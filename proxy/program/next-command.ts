import { resolve } from 'node:path';
import { isForMembers } from '../../contracts/permissions.ts';

/** Options of a command line that say which ledger it is for, and who acts on an account of it as its member. */
export interface StartedWith {
  readonly config: string | null;
  readonly data: string | undefined;
  readonly as?: string | undefined;
}

export const startedWithOf = ({ startedWith }: { readonly startedWith?: () => StartedWith }): StartedWith =>
  startedWith?.() ?? { config: null, data: undefined };

/** A command for the ledger of a command line that was given so, wherever it is typed, as a shell takes it. */
export function nextCommand({ config, data, as }: StartedWith, ...command: readonly string[]): string {
  const words = [...command];
  if (as !== undefined && isForItsMembers(command)) words.push('--as', as);
  if (config !== null) words.push('--config', resolve(config));
  if (data !== undefined) words.push('--data', resolve(data));
  return words.map(asShellWord).join(' ');
}

/** Whether a member may give it; those of one account name it first. */
function isForItsMembers([, group = '', name = '']: readonly string[]): boolean {
  return isForMembers({ group, name, first: 'account' }) && !FOR_OPERATORS.test(`${group} ${name}`);
}

/** Of those commands the ones that no member may give of any account (contracts/permissions.ts). */
const FOR_OPERATORS =
  /^(account (suspend|reinstate)|credits (grant|reinstate|revoke|restore)|payment (confirm|refund|withdraw-refund|dispute|close-dispute))$/;

/** What is to be filled in stands as it is, in the quotes that it is to be typed in. */
const asShellWord = (text: string): string =>
  /^("…"|[\w./:@%+=,-]+)$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
