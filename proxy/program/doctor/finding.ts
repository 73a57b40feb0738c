import type { Configuration } from '../../../contracts/configuration.ts';
import { LedgerLostError } from '../../../ledger/identity/ledger-lost.ts';
import { within } from '../../../ledger/within.ts';
import type { CommandCall } from '../command-context.ts';

/** What is looked at, and with what. */
export interface Examined extends CommandCall {
  readonly configuration: Configuration;
  /** Whether a gateway has the data folder. */
  readonly isServed: boolean;
  /** How long each look may take. */
  readonly timeMs: number;
}

/** What one look has found. */
export interface Found {
  readonly state: 'ok' | 'warn' | 'fault';
  readonly says: string;
  /** What to do next; null where nothing is to be done, or `says` has it. */
  readonly advice: string | null;
}

/** The same, under the name of what was looked at. */
export interface Finding extends Found {
  readonly check: string;
}

export const ok = (says: string): Found => ({ state: 'ok', says, advice: null });
export const warn = (says: string, advice: string | null = null): Found => ({ state: 'warn', says, advice });
export const fault = (says: string, advice: string | null = null): Found => ({ state: 'fault', says, advice });

/** Secrets that this command's environment lacks: a gateway that runs has found what it needs, for its environment is another. */
export const lackingHere = (faults: readonly string[], { isServed }: Pick<Examined, 'isServed'>): Found =>
  isServed
    ? warn(faults.join('; '), 'the gateway that runs has its own; set it here, too, to look at it')
    : fault(faults.join('; '), 'set it where the gateway is started: it does not start without');

/** Until when a look may read, by `performance.now()`: what is left of its time is for what it says of it. */
export const readingUntilMs = ({ timeMs }: Pick<Examined, 'timeMs'>): number => performance.now() + 0.8 * timeMs;

/** So many are named. */
const NAMED_MAX = 5;

/** The first of them by name, and how many more there are. */
export const firstNamed = (names: readonly string[]): string => {
  const more = names.length > NAMED_MAX ? ` and ${names.length - NAMED_MAX} more` : '';
  return `${names.slice(0, NAMED_MAX).join(', ')}${more}`;
};

export interface Check {
  readonly check: string;
  /** What to do where the look fails or does not end in time. */
  readonly advice: string | null;
  /** @param signal aborted when its time is over */
  readonly look: (signal: AbortSignal) => Found | Promise<Found>;
}

/** One look, in its time: what does not answer is a fault like any other, and holds up nothing. */
export async function looked(timeMs: number, { check, advice, look }: Check): Promise<Finding> {
  const ending = new AbortController();
  try {
    const found = await within(
      timeMs,
      Promise.resolve().then(() => look(ending.signal)),
    );
    if (found === null) return { check, ...fault(`no answer within ${timeMs / 1_000} s`, advice) };
    return { check, ...found, says: onOneLine(found.says) };
  } catch (error) {
    // What a lost ledger says is all that an operator needs.
    const next = error instanceof LedgerLostError ? null : advice;
    return { check, ...fault(onOneLine(error instanceof Error ? error.message : String(error)), next) };
  } finally {
    ending.abort();
  }
}

/** What goes over several lines: a sentence goes on, what stands below a head follows it, and of others each is a part. */
export function onOneLine(message: string): string {
  let one = '';
  let before = '';
  for (const line of message.split('\n')) {
    const goesOn = /[.:;,]$/.test(before) || (/^\s/.test(line) && !/^\s/.test(before));
    one += before === '' ? line.trim() : `${goesOn ? ' ' : '; '}${line.trim()}`;
    before = line;
  }
  return one;
}
