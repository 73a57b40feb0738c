/** Exceptions and corrections of a month, one by one as far as a page takes them. */
export interface Note {
  readonly at: string;
  readonly account: string | null;
  readonly what: string;
  readonly requestId: string | null;
  /** Micro-USD, rounded down; null where it is not about money. */
  readonly amount: bigint | null;
  /** Why and by whom, where somebody decided it. */
  readonly why: string | null;
}

/** More would be no page. The rest is counted, and `gateway ledger events` has it. */
const NOTES_MAX = 5_000;
/** Kinds of usage without a price: a provider names what it likes. */
const UNPRICED_MAX = 200;

export class Listed<T extends { readonly at: string }> {
  readonly #all: T[] = [];
  leftOut = 0;

  /** By their time; those of one time as they came. */
  get all(): readonly T[] {
    return this.#all.toSorted((one, other) => (one.at < other.at ? -1 : one.at > other.at ? 1 : 0));
  }

  add(one: T): void {
    if (this.#all.length < NOTES_MAX) this.#all.push(one);
    else this.leftOut += 1;
  }
}

export class Notes extends Listed<Note> {
  /** Requests by model and what of their usage has no price: each is an exception without an amount. */
  readonly unpriced = new Map<string, { readonly model: string; readonly what: string; requests: number }>();
  unpricedLeftOut = 0;

  addUnpriced(model: string, what: string): void {
    const key = JSON.stringify([model, what]);
    const known = this.unpriced.get(key);
    if (known !== undefined) known.requests += 1;
    else if (this.unpriced.size < UNPRICED_MAX) this.unpriced.set(key, { model, what, requests: 1 });
    else this.unpricedLeftOut += 1;
  }
}
