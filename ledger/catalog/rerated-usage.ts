import type { CatalogModel } from '../../contracts/catalog.ts';
import { UnreadableEventError } from '../../contracts/event-codec.ts';
import type { UsageRecorded } from '../../contracts/events.ts';
import type { AccountId } from '../../contracts/ids.ts';
import type { PicoUsd } from '../../contracts/money.ts';
import { picoUsd } from '../../contracts/money.ts';
import type { RateCard } from '../../contracts/rate-card.ts';
import { rateUsage } from '../rating.ts';
import { type CatalogState, cardsOf, rateCardOf } from './catalog-state.ts';

/** What the same requests cost: as they were billed, by the catalog in force, and by another. Exact. */
export interface Rerated {
  requests: number;
  /** By the card that each was billed by. */
  billed: PicoUsd;
  inForce: PicoUsd;
  next: PicoUsd;
  /** Requests for what one of the two catalogs does not sell: in `billed` alone, for there is nothing to compare. */
  unsold: number;
}

/** Usage that was charged for, rated again request by request: what each costs before its account's carry and its hold. */
export class ReratedUsage {
  readonly total = nothing();
  readonly models = new Map<string, Rerated>();
  readonly accounts = new Map<AccountId, Rerated>();
  readonly #state: CatalogState;
  readonly #inForce: Prices;
  readonly #next: Prices;

  constructor(state: CatalogState, next: readonly CatalogModel[]) {
    this.#state = state;
    this.#inForce = pricesOf([...state.models.values()]);
    this.#next = pricesOf(next);
  }

  /** @throws UnreadableEventError where the catalog never had the card that it names */
  add(account: AccountId, usage: UsageRecorded): void {
    const card = rateCardOf(this.#state, usage.rateCard);
    if (card === null)
      throw new UnreadableEventError(`${usage.requestId}: the catalog has no rate card ${usage.rateCard.hash}`);
    const [inForce, next] = [priceOf(this.#inForce, usage), priceOf(this.#next, usage)];
    const isSold = inForce !== null && next !== null;
    const cost = {
      billed: rateUsage(usage, card).cost,
      inForce: isSold ? rateUsage(usage, inForce).cost : 0n,
      next: isSold ? rateUsage(usage, next).cost : 0n,
    };
    for (const sum of [this.total, of(this.models, usage.model), of(this.accounts, account)]) {
      sum.requests += 1;
      sum.unsold += isSold ? 0 : 1;
      sum.billed = picoUsd(sum.billed + cost.billed);
      sum.inForce = picoUsd(sum.inForce + cost.inForce);
      sum.next = picoUsd(sum.next + cost.next);
    }
  }
}

interface Prices {
  readonly models: ReadonlyMap<string, RateCard>;
  /** With those of betas. */
  readonly cards: ReadonlyMap<string, RateCard>;
}

/** Of what can be called: a retired model answers nobody. */
function pricesOf(models: readonly CatalogModel[]): Prices {
  const callable = models.filter(({ status }) => status !== 'retired');
  return {
    models: new Map(callable.map(({ id, rateCard }) => [id, rateCard])),
    cards: new Map(callable.flatMap(cardsOf).map((card) => [card.id, card])),
  };
}

/** A card of the same name as it was billed by; of a beta that has no price of its own any more, its model's. */
const priceOf = ({ models, cards }: Prices, { model, rateCard }: UsageRecorded): RateCard | null =>
  models.has(model) ? (cards.get(rateCard.id) ?? models.get(model) ?? null) : null;

const nothing = (): Rerated => ({
  requests: 0,
  billed: picoUsd(0n),
  inForce: picoUsd(0n),
  next: picoUsd(0n),
  unsold: 0,
});

function of<Key>(sums: Map<Key, Rerated>, key: Key): Rerated {
  const sum = sums.get(key) ?? nothing();
  sums.set(key, sum);
  return sum;
}
