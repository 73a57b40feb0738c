import type { CatalogModel } from '../../contracts/catalog.ts';
import { isObject } from '../../contracts/json-object.ts';
import { NO_TOKENS, TOKEN_CLASSES, type TokenClass, type TokenCounts } from '../../contracts/usage.ts';
import type { Terms } from '../admission/terms.ts';
import { type InputWeight, weighInput } from '../request-body/input-weight.ts';
import type { RequestBytes } from '../request-body/request-bytes.ts';
import type { MessageFacts } from '../request-body/request-facts.ts';
import { tokensOfMillitokens } from '../tokens/text-tokens.ts';

interface RequestToEstimate {
  /** The client's request, which was valid when it was admitted. */
  readonly bytes: Pick<RequestBytes, 'whole'>;
  readonly facts: Pick<MessageFacts, 'inputWeight'>;
  /** What its provider counted for it before it was admitted, where it did. */
  readonly inputTokensCounted: number | null;
  readonly model: Pick<CatalogModel, 'caching'>;
  /** Its betas may change the window and the prices. */
  readonly terms: Pick<Terms, 'contextWindow' | 'rateCard'>;
}

/**
 * The input of a request whose upstream never said what it was: by the provider's count, else by its weight, and one
 * token at the least, for it was sent. All of it is billed as the cheapest class that it can have been: a request that
 * caches, of a model that does, may have read everything from the cache.
 *
 * It reads the whole body once more, unless that was long and is weighed already, so it is asked for only where a request
 * ends without its usage.
 */
export function estimateInput({ bytes, facts, inputTokensCounted, model, terms }: RequestToEstimate): TokenCounts {
  const { contextWindow, rateCard } = terms;
  const { millitokens, asksForCache } = facts.inputWeight ?? weightOf(bytes.whole, contextWindow);
  const counted = inputTokensCounted ?? tokensOfMillitokens(millitokens);
  const tokens = Math.min(contextWindow, Math.max(1, counted));
  return { ...NO_TOKENS, [cheapestInputClass(rateCard.rates, mayCache(model.caching, asksForCache))]: tokens };
}

function weightOf(body: Buffer, contextWindow: number): InputWeight {
  const request: unknown = JSON.parse(body.toString('utf8'));
  return isObject(request) ? weighInput(request, contextWindow) : { millitokens: 0, asksForCache: false };
}

function mayCache(caching: CatalogModel['caching'], asksForCache: boolean): boolean {
  return caching === 'automatic' || (caching === 'explicit' && asksForCache);
}

function cheapestInputClass(rates: Terms['rateCard']['rates'], isCached: boolean): TokenClass {
  let cheapest: TokenClass = 'input';
  if (!isCached) return cheapest;
  for (const name of TOKEN_CLASSES) if (name !== 'output' && rates[name] < rates[cheapest]) cheapest = name;
  return cheapest;
}
