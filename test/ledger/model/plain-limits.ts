import type { Verdict } from './plain-grants.ts';

/** Of a month, in micro-USD. */
export interface PlainLimit {
  readonly mode: string;
  readonly most: bigint;
  readonly percents: readonly number[];
}

/** The account itself, beside members by their e-mails in small letters, and keys by their ids. */
const ALL = '';

/** What may be spent in a month, by whom, and which parts of that somebody was told of. */
export class PlainLimits {
  readonly #spent: Readonly<Record<string, bigint>>;
  readonly #limits: Record<string, PlainLimit> = {};
  readonly #members: Record<string, string> = {};
  readonly #told = new Set<string>();

  /** @param spent by month, and by month and key */
  constructor(spent: Readonly<Record<string, bigint>>) {
    this.#spent = spent;
  }

  /** Each in a line, with whose it is. */
  get all(): string[] {
    return Object.keys(this.#limits)
      .map((whose) => `${whose}: ${this.#lineOf(whose)}`)
      .toSorted();
  }

  /** Each as its month, whose limit it was, and the percent. */
  get told(): string[] {
    return [...this.#told].toSorted();
  }

  /** What a key spends is its member's, too, for good. */
  owns(member: string, key: string): void {
    this.#members[key] = member;
  }

  /** Null is none. */
  set(whose: string | null, limit: PlainLimit | null): Verdict {
    const name = whose ?? ALL;
    const before = this.#lineOf(name);
    if (limit === null) delete this.#limits[name];
    else this.#limits[name] = limit;
    return before === this.#lineOf(name) ? 'nothing' : 'done';
  }

  /** What the month has behind it as the limit is set. */
  tellOf(whose: string | null, month: string): void {
    if (this.#spentBy(whose ?? ALL, month) !== 0n) this.#tell(whose ?? ALL, month);
  }

  /** What a request, also one that costs nothing whole, brings a month to. */
  used(month: string, key: string): void {
    for (const whose of [ALL, this.#members[key], key]) if (whose !== undefined) this.#tell(whose, month);
  }

  #lineOf(whose: string): string | null {
    const limit = this.#limits[whose];
    return limit === undefined ? null : `${limit.mode} ${limit.most} ${limit.percents}`;
  }

  #tell(whose: string, month: string): void {
    const limit = this.#limits[whose];
    if (limit === undefined) return;
    for (const percent of limit.percents)
      if (this.#spentBy(whose, month) * 100n >= limit.most * BigInt(percent))
        this.#told.add(`${month} ${whose}:${percent}`);
  }

  #spentBy(whose: string, month: string): bigint {
    if (whose === ALL) return this.#spent[month] ?? 0n;
    const keys = Object.keys(this.#members).filter((key) => key === whose || this.#members[key] === whose);
    return keys.reduce((sum, key) => sum + (this.#spent[`${month} ${key}`] ?? 0n), 0n);
  }
}
