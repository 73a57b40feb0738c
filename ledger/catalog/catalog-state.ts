import type { CatalogModel } from '../../contracts/catalog.ts';
import { decodeRecorded, type EventMetadata } from '../../contracts/event-codec.ts';
import type { RateCardRef } from '../../contracts/event-fields.ts';
import type { ReadableLog } from '../../contracts/event-log.ts';
import type { EventData } from '../../contracts/events.ts';
import { CATALOG_STREAM, NO_STREAM, type Revision } from '../../contracts/ids.ts';
import type { CatalogPlan } from '../../contracts/plan.ts';
import { isRateCardIntact, type RateCard } from '../../contracts/rate-card.ts';
import { UnreadableEventError } from '../../contracts/unreadable-event-error.ts';

/** What the stream `catalog` folds to: the models of the newest version, and every rate card there ever was. */
export interface CatalogState {
  /** 0 before the first publication. */
  readonly version: number;
  readonly hash: string;
  readonly models: ReadonlyMap<string, CatalogModel>;
  /** By version, of each that there was: an account's period is by the one in force as it began. */
  readonly plans: ReadonlyMap<number, readonly CatalogPlan[]>;
  /** By hash; never forgotten, for usage names the card it is priced with. */
  readonly cards: ReadonlyMap<string, RateCard>;
  /** The newest card of each model that was ever listed. */
  readonly newestCards: ReadonlyMap<string, RateCard>;
  /** When each model was published first, RFC 3339. */
  readonly listedSince: ReadonlyMap<string, string>;
  readonly revision: Revision;
}

export const EMPTY_CATALOG: CatalogState = {
  version: 0,
  hash: '',
  models: new Map(),
  plans: new Map(),
  cards: new Map(),
  newestCards: new Map(),
  listedSince: new Map(),
  revision: NO_STREAM,
};

/** Pure. @throws UnreadableEventError when a rate card's hash is not that of its content. */
export function evolveCatalog(state: CatalogState, data: EventData<'CatalogPublished'>, at: Revision): CatalogState {
  const cards = new Map(state.cards);
  const newestCards = new Map(state.newestCards);
  for (const rateCard of data.models.flatMap(cardsOf)) {
    if (!isRateCardIntact(rateCard))
      throw new UnreadableEventError(
        `${CATALOG_STREAM} revision ${at}: rate card ${rateCard.id} version ${rateCard.version} does not match its hash`,
      );
    cards.set(rateCard.hash, rateCard);
    newestCards.set(rateCard.id, rateCard);
  }
  const models = new Map(data.models.map((model) => [model.id, model]));
  const listedSince = new Map(state.listedSince);
  for (const id of models.keys()) if (!listedSince.has(id)) listedSince.set(id, data.publishedAt);
  const plans = new Map(state.plans).set(data.version, data.plans);
  return { version: data.version, hash: data.hash, models, plans, cards, newestCards, listedSince, revision: at };
}

/** Every card that a model's requests can be billed by: its own, and those of betas that change the price. */
export const cardsOf = ({ rateCard, betas }: CatalogModel): RateCard[] => [
  rateCard,
  ...betas.listed.flatMap((beta) => beta.rateCard ?? []),
];

/** The card that a usage names; null when the catalog never had it. */
export const rateCardOf = (state: CatalogState, { hash }: RateCardRef): RateCard | null =>
  state.cards.get(hash) ?? null;

/** Reads the whole stream: a few publications a week at most. */
export async function loadCatalog(log: Pick<ReadableLog, 'readStream'>): Promise<CatalogState> {
  let state = EMPTY_CATALOG;
  for await (const { data, revision } of readPublications(log)) state = evolveCatalog(state, data, revision);
  return state;
}

interface Publication {
  readonly data: EventData<'CatalogPublished'>;
  readonly metadata: EventMetadata;
  readonly revision: Revision;
}

/** In their order. @throws UnreadableEventError */
export async function* readPublications(log: Pick<ReadableLog, 'readStream'>): AsyncGenerator<Publication> {
  for await (const recorded of log.readStream(CATALOG_STREAM)) {
    const { revision } = recorded;
    const { event, metadata } = decodeRecorded(recorded);
    if (event.type !== 'CatalogPublished')
      throw new UnreadableEventError(`${CATALOG_STREAM} revision ${revision}: ${event.type} does not belong there`);
    yield { data: event.data, metadata, revision };
  }
}
