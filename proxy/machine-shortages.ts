import type { Shortage } from '../contracts/shortage.ts';
import type { Journal } from '../ledger/journal/journal.ts';
import type { Projections } from '../projections/projections.ts';

interface MachineShortagesParts {
  readonly journal: Pick<Journal, 'obstacle' | 'shortage'>;
  readonly projections: Pick<Projections, 'unwritten'>;
  /** By the clock of `performance.now()`. */
  readonly passedMs: () => number;
}

/** What the machine has too little of, as journal and views have found: each goes on by itself when there is enough. */
export class MachineShortages {
  readonly #parts: MachineShortagesParts;

  constructor(parts: MachineShortagesParts) {
    this.#parts = parts;
  }

  /** All of it in words, with since when; null where there is enough. */
  describe(): string | null {
    const { journal, projections } = this.#parts;
    const { shortage } = journal;
    const { unwritten } = projections;
    const found = [
      shortage === null ? null : `${WHAT[shortage.of]} for ${this.#since(shortage.sinceMs)}`,
      unwritten === null ? null : `for ${this.#since(unwritten.sinceMs)} ${unwritten.why}; their file is behind`,
    ].filter((what) => what !== null);
    return found.length === 0 ? null : found.join('; ');
  }

  /** That no request can begin for want of it, and for how long that has been so; null where one can. */
  blocked(): { readonly what: string; readonly forMs: number } | null {
    const { obstacle, shortage } = this.#parts.journal;
    if (shortage === null || obstacle !== shortage.of) return null;
    const { of, sinceMs } = shortage;
    return {
      what: `${WHAT[of]} for ${this.#since(sinceMs)}, and no request can be taken`,
      forMs: this.#parts.passedMs() - sinceMs,
    };
  }

  #since = (sinceMs: number): string => `${Math.ceil((this.#parts.passedMs() - sinceMs) / 1_000)} s`;
}

const WHAT: Readonly<Record<Shortage, string>> = {
  disk: 'the disk has had no room for the journal of usage',
  descriptors: 'the process has had no file descriptor for another file of the journal',
};
