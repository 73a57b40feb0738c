import type { UsageRecorded } from '../../contracts/events.ts';
import { type Lane, TOKEN_CLASSES, type TokenClass } from '../../contracts/usage.ts';

/** What a model brought in a month. Money in micro-USD. */
export interface ModelBook {
  readonly model: string;
  readonly lane: Lane;
  requests: number;
  readonly tokens: Record<TokenClass, bigint>;
  /** Of requests, and of exceptions that an operator approved. */
  spent: bigint;
  /** Of that, from credits that were paid for, from credits that were given, and what no grant covered. */
  fromPaid: bigint;
  fromGiven: bigint;
  owed: bigint;
  /** Without what was given. */
  earned: bigint;
}

type Spent = Pick<ModelBook, 'spent' | 'fromPaid' | 'fromGiven' | 'owed' | 'earned'>;

export class ModelBooks {
  readonly #books = new Map<string, ModelBook>();

  addUsage({ model, lane, tokens }: UsageRecorded): void {
    const book = this.#bookOf(model, lane);
    book.requests += 1;
    for (const tokenClass of TOKEN_CLASSES) book.tokens[tokenClass] += BigInt(tokens[tokenClass]);
  }

  addSpent({ model, lane }: Pick<ModelBook, 'model' | 'lane'>, added: Spent): void {
    const book = this.#bookOf(model, lane);
    book.spent += added.spent;
    book.fromPaid += added.fromPaid;
    book.fromGiven += added.fromGiven;
    book.owed += added.owed;
    book.earned += added.earned;
  }

  /** The dearest first. */
  get all(): ModelBook[] {
    return [...this.#books.values()].sort(
      (one, other) =>
        Number(other.spent > one.spent) - Number(other.spent < one.spent) || (one.model < other.model ? -1 : 1),
    );
  }

  #bookOf(model: string, lane: Lane): ModelBook {
    const key = `${lane} ${model}`;
    let book = this.#books.get(key);
    if (book === undefined) {
      const tokens = { input: 0n, output: 0n, cacheRead: 0n, cacheWrite5m: 0n, cacheWrite1h: 0n };
      book = { model, lane, requests: 0, tokens, spent: 0n, fromPaid: 0n, fromGiven: 0n, owed: 0n, earned: 0n };
      this.#books.set(key, book);
    }
    return book;
  }
}
