import { type Refusal, refusal } from '../../contracts/errors.ts';
import type { AccountId } from '../../contracts/ids.ts';
import { LIMITS } from '../../contracts/limits.ts';
import { Tally } from '../tally.ts';
import type { BodyOwner } from './body-owner.ts';

interface BodyBudgetOptions {
  readonly maxBytes: number;
  readonly maxBytesPerAccount: number;
}

/**
 * How many bytes of request bodies, and of answers that are kept, there are in all: counted as they come, given back when
 * nobody has them any more. An account's part of it has a bound, too, so that nobody's bodies keep those of others out;
 * and all that never paid have half of it together, but room for one body of any length.
 */
export class BodyBudget {
  readonly #options: BodyBudgetOptions;
  readonly #ofAccount = new Tally<AccountId>();
  #bytes = 0;
  readonly #unpaidBytesMax: number;
  #unpaidBytes = 0;

  constructor(options: BodyBudgetOptions) {
    this.#options = options;
    this.#unpaidBytesMax = Math.max(options.maxBytes / 2, LIMITS.requestBodyBytesMax);
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Null where there is room; then it is taken. */
  take({ accountId, hasPaid }: BodyOwner, bytes: number): Refusal | null {
    const { maxBytes, maxBytesPerAccount } = this.#options;
    const unpaidBytes = hasPaid ? this.#unpaidBytes : this.#unpaidBytes + bytes;
    if (this.#ofAccount.of(accountId) + bytes > maxBytesPerAccount)
      return refusal(
        'rate_limited',
        `the requests of this account that are under way have more than ${maxBytesPerAccount} bytes together`,
      );
    if (this.#bytes + bytes > maxBytes || unpaidBytes > this.#unpaidBytesMax)
      return refusal('gateway_overloaded', 'the requests that are under way have too many bytes together', 1);
    this.#bytes += bytes;
    this.#unpaidBytes = unpaidBytes;
    this.#ofAccount.add(accountId, bytes);
    return null;
  }

  /** @param owner as it was when they were taken */
  give({ accountId, hasPaid }: BodyOwner, bytes: number): void {
    this.#ofAccount.subtract(accountId, bytes);
    this.#bytes -= bytes;
    if (!hasPaid) this.#unpaidBytes -= bytes;
  }
}
