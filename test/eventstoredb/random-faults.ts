import type { AppendFault, ReadFault } from './faults.ts';

export interface RandomFaultsOptions {
  readonly seed: number;
  /** The chance of each fault per append, from 0 to 1; together at most 1. */
  readonly append?: Partial<Record<AppendFault, number>>;
  /** The chance per read that it breaks, falls silent, or has its connection cut, somewhere in its first events. */
  readonly read?: StreamChances;
  readonly subscription?: StreamChances;
}

export interface StreamChances {
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
  #state: number;

  constructor(options: RandomFaultsOptions) {
    this.#options = options;
    this.#state = options.seed >>> 0;
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
    const events = Math.floor(this.#next() * (withinEvents + 1));
    if (kind === 'break') return { breakAfterEvents: events };
    return kind === 'silent' ? { silentAfterEvents: events } : { cutAfterEvents: events };
  }

  #draw<K extends string>(chances: readonly (readonly [K, number])[]): K | null {
    let point = this.#next();
    for (const [kind, chance] of chances) {
      if (point < chance) return kind;
      point -= chance;
    }
    return null;
  }

  /** mulberry32: small, fast, and good enough to choose faults with. From 0 inclusive to 1 exclusive. */
  #next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }
}
