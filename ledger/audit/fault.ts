/** What is wrong with one event, or with what should stand there. */
export interface Fault {
  readonly stream: string;
  /** Null where it is about the stream as a whole. */
  readonly revision: number | null;
  readonly what: string;
  /** Null where a word says it all. */
  readonly found: string | null;
  readonly expected: string | null;
}

/** The same without its place. */
export const describeFault = ({ what, found, expected }: Pick<Fault, 'what' | 'found' | 'expected'>): string =>
  found === null ? what : expected === null ? `${what}: ${found}` : `${what} is ${found}, should be ${expected}`;

/** About the log as a whole, and no stream of it. */
export const ofLedger = (what: string, found: string): Fault => ({
  ...{ stream: '(the log)', revision: null, what, found, expected: null },
});
