import type { CatalogModel } from '../../contracts/catalog.ts';
import { NO_TOKENS, TOKEN_CLASSES, type TokenClass, type TokenCounts } from '../../contracts/usage.ts';
import type { Terms } from '../admission/terms.ts';
import { millitokensOfJson } from '../meter/json-tokens.ts';
import { isObject, type JsonObject } from '../meter/seen-usage.ts';
import { millitokensOf, tokensOfMillitokens } from '../meter/text-tokens.ts';
import { IMAGE_TOKENS_MAX, imageTokens } from './image-tokens.ts';

export interface RequestToEstimate {
  /** The client's request, which was valid when it was admitted. */
  readonly body: Buffer;
  /** What its provider counted for it before it was admitted, where it did. */
  readonly inputTokensCounted: number | null;
  readonly model: Pick<CatalogModel, 'caching'>;
  /** Its betas may change the window and the prices. */
  readonly terms: Pick<Terms, 'contextWindow' | 'rateCard'>;
}

/**
 * The input of a request whose upstream never said what it was: by the provider's count, else from its text, with images
 * by the provider's table. What brings more than the request's own bytes (files, tools of the provider) counts as
 * nothing, and so does what a provider may leave out. All of it is billed as the cheapest class that it can have been: a
 * request that caches may have read everything from the cache.
 *
 * It reads the whole body once more, so it is asked for only where a request ends without its usage.
 */
export function estimateInput({ body, inputTokensCounted, model, terms }: RequestToEstimate): TokenCounts {
  const request: unknown = JSON.parse(body.toString('utf8'));
  if (!isObject(request)) return NO_TOKENS;
  const tokens = Math.min(terms.contextWindow, inputTokensCounted ?? inputTokensOf(request));
  const mayCache = model.caching === 'automatic' || asksForCache(request);
  return { ...NO_TOKENS, [cheapestInputClass(terms.rateCard.rates, mayCache)]: tokens };
}

/** A document of pages has one at the least (the provider names 1,500 to 3,000 tokens a page). */
const PAGES_TOKENS_MIN = 1_500;

/** From the text of a request alone, whatever it refers to. */
export function inputTokensOf({ system, messages, tools }: JsonObject): number {
  let millitokens = millitokensOfContent(system);
  for (const message of listOf(messages)) if (isObject(message)) millitokens += millitokensOfContent(message.content);
  for (const tool of listOf(tools)) if (isObject(tool)) millitokens += millitokensOfTool(tool);
  return tokensOfMillitokens(millitokens);
}

function cheapestInputClass(rates: Terms['rateCard']['rates'], mayCache: boolean): TokenClass {
  let cheapest: TokenClass = 'input';
  if (!mayCache) return cheapest;
  for (const name of TOKEN_CLASSES) if (name !== 'output' && rates[name] < rates[cheapest]) cheapest = name;
  return cheapest;
}

/** Whether `cache_control` stands anywhere where a provider looks for it; in a tool's input or schema it is data. */
function asksForCache(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(asksForCache);
  if (!isObject(value)) return false;
  if (isObject(value.cache_control)) return true;
  return Object.entries(value).some(([name, inner]) => !IS_DATA.has(name) && asksForCache(inner));
}

const IS_DATA = new Set(['input', 'input_schema']);

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const textIn = (value: unknown): number => (typeof value === 'string' ? millitokensOf(value) : 0);

const jsonOf = (value: unknown): number => (isObject(value) ? millitokensOfJson(value) : 0);

function millitokensOfContent(content: unknown): number {
  let sum = textIn(content);
  for (const block of listOf(content)) if (isObject(block)) sum += millitokensOfBlock(block);
  return sum;
}

/** Thinking of earlier turns is left out by providers, or cannot be read: it weighs nothing. */
function millitokensOfBlock(block: JsonObject): number {
  switch (block.type) {
    case 'text':
      return textIn(block.text);
    case 'image':
      return 1_000 * tokensOfImage(block.source);
    case 'document':
      return textIn(block.title) + textIn(block.context) + millitokensOfDocument(block.source);
    case 'search_result':
      return textIn(block.title) + textIn(block.source) + millitokensOfContent(block.content);
    default:
      return textIn(block.name) + jsonOf(block.input) + millitokensOfContent(block.content);
  }
}

function tokensOfImage(source: unknown): number {
  if (!isObject(source) || source.type !== 'base64' || typeof source.data !== 'string') return IMAGE_TOKENS_MAX;
  return imageTokens(source.data);
}

function millitokensOfDocument(source: unknown): number {
  if (!isObject(source)) return 0;
  if (source.type === 'text') return textIn(source.data);
  if (source.type === 'content') return millitokensOfContent(source.content);
  return 1_000 * PAGES_TOKENS_MIN;
}

function millitokensOfTool({ name, description, input_schema: schema }: JsonObject): number {
  return textIn(name) + textIn(description) + jsonOf(schema);
}
