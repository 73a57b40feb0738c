import { WITHOUT_COST_MAX } from '../account/exceptions.ts';

/** The exceptions of an account that nobody has ended, as its state has them, with no more of each than what it costs: exact, in pico-USD. */
export class OpenExceptions {
  readonly #costs = new Map<string, bigint>();
  #listedWithoutCost = 0;
  #unlisted = 0;

  /** All that costs something. */
  get costs(): bigint[] {
    return [...this.#costs.values()].filter((cost) => cost > 0n);
  }

  /** Usage without a price, and what nobody can end any more, as there was too much of it. */
  get withoutCost(): number {
    return this.#listedWithoutCost + this.#unlisted;
  }

  /** What was left out of a debit, or came late. */
  open(requestId: string, cost: bigint): void {
    const before = this.#costs.get(requestId);
    const after = (before ?? 0n) + cost;
    if (before === 0n) this.#listedWithoutCost -= 1;
    if (after === 0n) this.#listedWithoutCost += 1;
    this.#costs.set(requestId, after);
  }

  openUnpriced(requestId: string): void {
    if (this.#listedWithoutCost < WITHOUT_COST_MAX) this.open(requestId, 0n);
    else this.#unlisted += 1;
  }

  end(requestId: string): void {
    if (this.#costs.get(requestId) === 0n) this.#listedWithoutCost -= 1;
    this.#costs.delete(requestId);
  }
}
