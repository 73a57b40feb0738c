import { SeededRandom } from '../fixtures/seeded-random.ts';
import type { AppendFault, ReadFault } from './fault-kinds.ts';

export interface RandomFaultsOptions {
  readonly seed: number;
  /** The chance of each fault per append, from 0 to 1; together at most 1. */
  readonly append?: Partial<Record<AppendFault, number>>;
  /** The chance per read that it breaks, falls silent, or has its connection cut, somewhere in its first events. */
  readonly read?: StreamChances;
  readonly subscription?: StreamChances;
}

interface StreamChances {
  readonly refuse?: number;
  readonly break?: number;
  readonly silent?: number;
  readonly cut?: number;
  /** The fault strikes after 0 to so many events; default 100. */
  readonly withinEvents?: number;
}

const WITHIN_EVENTS = 100;

/** Faults drawn from a seed: the same calls in the same order meet the same faults. */
export class RandomFaults {
  readonly #options: RandomFaultsOptions;
  readonly #random: SeededRandom;

  constructor(options: RandomFaultsOptions) {
    this.#options = options;
    this.#random = new SeededRandom(options.seed);
  }

  ofAppend(): AppendFault {
    return this.#draw(Object.entries(this.#options.append ?? {}) as [AppendFault, number][]) ?? 'ok';
  }

  ofRead(): ReadFault {
    return this.#ofStream(this.#options.read);
  }

  ofSubscription(): ReadFault {
    return this.#ofStream(this.#options.subscription);
  }

  #ofStream(chances: StreamChances | undefined): ReadFault {
    if (chances === undefined) return 'ok';
    const { withinEvents = WITHIN_EVENTS, refuse = 0, silent = 0, cut = 0 } = chances;
    const kind = this.#draw([
      ['refuse', refuse],
      ['break', chances.break ?? 0],
      ['silent', silent],
      ['cut', cut],
    ]);
    if (kind === null || kind === 'refuse') return kind ?? 'ok';
    const events = this.#random.whole(0, withinEvents);
    if (kind === 'break') return { breakAfterEvents: events };
    return kind === 'silent' ? { silentAfterEvents: events } : { cutAfterEvents: events };
  }

  #draw<K extends string>(chances: readonly (readonly [K, number])[]): K | null {
    let point = this.#random.next();
    for (const [kind, chance] of chances) {
      if (point < chance) return kind;
      point -= chance;
    }
    return null;
  }
}
