import type { CatalogModel } from '../../contracts/catalog.ts';
import type { EventData, UsageRecorded } from '../../contracts/events.ts';
import type { AccountId } from '../../contracts/ids.ts';
import { type MicroUsd, microUsd, type PicoUsd, picoUsd } from '../../contracts/money.ts';
import { FREE_USES } from '../../contracts/outside-input.ts';
import { type RateCard, rateOfUse } from '../../contracts/rate-card.ts';
import { UnreadableEventError } from '../../contracts/unreadable-event-error.ts';
import { rateUsage } from '../rating.ts';
import { type CatalogState, cardsOf, rateCardOf } from './catalog-state.ts';

/** What the same usage was debited, and what it costs by rates alone, whatever holds and operators have made of it. Exact. */
export interface Rerated {
  requests: number;
  /** What was taken for it: by debits and by what was approved of exceptions, less what was reversed. With each account's carry. */
  debited: MicroUsd;
  /** By the card that each was rated by when it was used. */
  byItsCards: PicoUsd;
  inForce: PicoUsd;
  next: PicoUsd;
  /** Requests for what one of the two catalogs does not sell, or has no price for: in the first two alone, for there is nothing to compare. */
  notCompared: number;
  /** Of these, those with a use that has no price there: it would be refused, and is not free. */
  unpriced: number;
}

/** An event that takes money for a request, or gives it back, and names its month and model. */
export type Debit =
  | { readonly type: 'CreditsDebited'; readonly data: EventData<'CreditsDebited'> }
  | { readonly type: 'ExceptionApproved'; readonly data: EventData<'ExceptionApproved'> }
  | { readonly type: 'DebitReversed'; readonly data: EventData<'DebitReversed'> };

/** Usage that is charged for, rated again request by request: what each costs before its account's carry and its hold; and what was debited. */
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
    const isCompared = isSold && isPriced(this.#inForce, usage, inForce) && isPriced(this.#next, usage, next);
    const cost = {
      byItsCards: rateUsage(usage, card).cost,
      inForce: isCompared ? rateUsage(usage, inForce).cost : 0n,
      next: isCompared ? rateUsage(usage, next).cost : 0n,
    };
    for (const sum of this.#sums(account, usage.model)) {
      sum.requests += 1;
      sum.notCompared += isCompared ? 0 : 1;
      sum.unpriced += isSold && !isCompared ? 1 : 0;
      sum.byItsCards = picoUsd(sum.byItsCards + cost.byItsCards);
      sum.inForce = picoUsd(sum.inForce + cost.inForce);
      sum.next = picoUsd(sum.next + cost.next);
    }
  }

  addDebit(account: AccountId, { type, data: { model, amount } }: Debit): void {
    for (const sum of this.#sums(account, model))
      sum.debited = microUsd(sum.debited + (type === 'DebitReversed' ? -amount : amount));
  }

  #sums(account: AccountId, model: string): readonly Rerated[] {
    return [this.total, of(this.models, model), of(this.accounts, account)];
  }
}

interface Prices {
  readonly models: ReadonlyMap<string, RateCard>;
  /** With those of betas. */
  readonly cards: ReadonlyMap<string, RateCard>;
  readonly freeModels: ReadonlySet<string>;
}

/** Of what can be called: a retired model answers nobody. */
function pricesOf(models: readonly CatalogModel[]): Prices {
  const callable = models.filter(({ status }) => status !== 'retired');
  return {
    models: new Map(callable.map(({ id, rateCard }) => [id, rateCard])),
    cards: new Map(callable.flatMap(cardsOf).map((card) => [card.id, card])),
    freeModels: new Set(callable.flatMap(({ id, free }) => (free ? [id] : []))),
  };
}

/** A card of the same name as it was billed by; of a beta that has no price of its own any more, its model's. */
const priceOf = ({ models, cards }: Prices, { model, rateCard }: UsageRecorded): RateCard | null =>
  models.has(model) ? (cards.get(rateCard.id) ?? models.get(model) ?? null) : null;

/** As it would be let in: a free model has a price for everything, and what its provider gives for nothing needs none. */
const isPriced = ({ freeModels }: Prices, { model, uses }: UsageRecorded, card: RateCard): boolean =>
  freeModels.has(model) || Object.keys(uses).every((use) => FREE_USES.has(use) || rateOfUse(card, use) !== null);

const nothing = (): Rerated => ({
  requests: 0,
  debited: microUsd(0n),
  byItsCards: picoUsd(0n),
  inForce: picoUsd(0n),
  next: picoUsd(0n),
  notCompared: 0,
  unpriced: 0,
});

function of<Key>(sums: Map<Key, Rerated>, key: Key): Rerated {
  const sum = sums.get(key) ?? nothing();
  sums.set(key, sum);
  return sum;
}
