import { groupedExactUsd, groupedUsd, picoUsd } from '../../contracts/money.ts';

/** What is wrong with one event, or with what should stand there. */
export interface Fault {
  readonly stream: string;
  /** Null where it is about the stream as a whole. */
  readonly revision: number | null;
  /** An amount within a text names its unit. */
  readonly what: string;
  /** Null where a word says it all. */
  readonly found: string | null;
  readonly expected: string | null;
  /** What the two values count, where they are amounts. */
  readonly unit?: Unit;
}

export type Unit = 'micro-USD' | 'pico-USD';

/** The same without its place, and amounts as USD. */
export function describeFault({ what, found, expected, unit }: Omit<Fault, 'stream' | 'revision'>): string {
  const shown = (value: string): string => inUsd(unit === undefined ? value : `${value} ${unit}`);
  if (found === null) return inUsd(what);
  if (expected === null) return `${inUsd(what)}: ${shown(found)}`;
  return `${inUsd(what)} is ${shown(found)}, should be ${shown(expected)}`;
}

/** About the log as a whole, and no stream of it. */
export const ofLedger = (what: string, found: string | null, expected: string | null = null): Fault => ({
  ...{ stream: '(the log)', revision: null, what, found, expected },
});

const AMOUNT = /(?<![\w.])(-?\d+) (micro|pico)-USD/g;

const inUsd = (text: string): string =>
  text.replaceAll(AMOUNT, (_all, amount: string, unit: string) =>
    unit === 'micro' ? `${groupedUsd(BigInt(amount))} USD` : `${groupedExactUsd(picoUsd(BigInt(amount)))} USD`,
  );
