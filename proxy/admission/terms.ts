import { FAST_MODE_BETAS, SHIPPED_BETAS } from '../../contracts/betas.ts';
import type { CatalogModel, ModelBetas } from '../../contracts/catalog.ts';
import type { Configuration } from '../../contracts/configuration.ts';
import { type Refusal, refusal } from '../../contracts/errors.ts';
import type { RateCard } from '../../contracts/rate-card.ts';

/** What a request's betas make of its model. */
export interface Terms {
  /** `anthropic-beta` as it goes upstream; null where nothing of it does. */
  readonly beta: string | null;
  readonly contextWindow: number;
  /** The beta for which more may be held: it has a wider window, or prices of its own. Null where none is sent. */
  readonly behind: string | null;
  /** What the request is held and billed by. */
  readonly rateCard: RateCard;
}

interface BetaRequest {
  /** As the client sent it; null where it did not. */
  readonly header: string | null;
  /** The request goes upstream with a `speed`: fast where it may run so, or standard by its own words. */
  readonly saysSpeed: boolean;
  readonly unknownBetas: Configuration['unknownBetas'];
}

type Listed = ModelBetas['listed'][number];

/** The betas that pass for a model, and its window and prices with them. What does not pass is dropped, or refused. */
export function termsOf(model: CatalogModel, request: BetaRequest): Terms | Refusal {
  const { contextWindow, rateCard } = model;
  if (request.header === null) return { beta: null, contextWindow, behind: null, rateCard };
  const asked = request.header.split(',').map((name) => name.trim());
  const names = asked.filter((name) => name !== '');
  const unknown = names.find((name) => !isKnown(model, name));
  if (unknown !== undefined && request.unknownBetas === 'refuse')
    return refusal(
      'invalid_request',
      `anthropic-beta: ${JSON.stringify(unknown.slice(0, 128))} is not a beta of model ${model.id}`,
    );
  const passing = names.filter((name) => isKnown(model, name) && (request.saysSpeed || !FAST_MODE_BETAS.has(name)));
  return termsWith(model, passing, passing.length === asked.length ? request.header : passing.join(','));
}

const listedIn = ({ betas }: CatalogModel, name: string): Listed | undefined =>
  betas.listed.find((beta) => beta.name === name);

const isKnown = (model: CatalogModel, name: string): boolean =>
  listedIn(model, name) !== undefined || (model.betas.shipped && SHIPPED_BETAS.has(name));

function termsWith(model: CatalogModel, passing: readonly string[], header: string): Terms | Refusal {
  const listed = passing.flatMap((name) => listedIn(model, name) ?? []);
  const priced = new Map(listed.flatMap(({ name, rateCard }) => (rateCard === null ? [] : [[name, rateCard]])));
  if (priced.size > 1)
    return refusal(
      'invalid_request',
      `anthropic-beta: ${[...priced.keys()].join(' and ')} each have a price, and there is none for both`,
    );
  const [rateCard = model.rateCard] = priced.values();
  const windows = listed.flatMap((beta) => beta.contextWindow ?? []);
  // Catalogs from before may have betas with a window below the model's: that holds no less.
  const contextWindow = Math.max(model.contextWindow, ...windows);
  const widest = listed.find((beta) => beta.contextWindow !== null && beta.contextWindow === contextWindow);
  const behind = contextWindow > model.contextWindow ? widest?.name : [...priced.keys()][0];
  return { beta: passing.length === 0 ? null : header, contextWindow, behind: behind ?? null, rateCard };
}
