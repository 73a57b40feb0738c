import type { CatalogModel } from '../../contracts/catalog.ts';
import { costOfTokens, type MicroUsd, mostDebited, type PicoUsd, picoUsd, type Rate } from '../../contracts/money.ts';
import { type RateCard, rateInLane } from '../../contracts/rate-card.ts';
import type { Lane, TokenClass } from '../../contracts/usage.ts';

/** Tokens that a provider may add around a request: tool instructions and the frame of each message. */
const FRAME_TOKENS = 2_048;
/** The most that one image is counted as, however few bytes it has. */
const IMAGE_TOKENS_MAX = 16_384;

/** What a request's size says about its input, before anybody has counted. */
export interface RequestSize {
  readonly bodyBytes: number;
  readonly images: number;
  /** It names content that is not in its bytes (a URL, a file, a document, a server tool): its size says nothing. */
  readonly refersToMore: boolean;
  /** The longest cache that it asks for; null is none. */
  readonly cache: '5m' | '1h' | null;
}

/**
 * The most input tokens that a request can have: a token has at least one byte, so its bytes bound it, and the model's
 * context window bounds everything.
 */
export function inputTokensBound(size: RequestSize, contextWindow: number): number {
  if (size.refersToMore) return contextWindow;
  return Math.min(contextWindow, size.bodyBytes + FRAME_TOKENS + size.images * IMAGE_TOKENS_MAX);
}

/** What the input is at least likely to be: a token has four or five bytes. Only decides whether a count is worth it. */
export function inputTokensGuess(size: RequestSize, contextWindow: number): number {
  if (size.refersToMore) return 0;
  return Math.min(contextWindow, Math.ceil(size.bodyBytes / 5));
}

/** The dearest class that the request's input can be billed as: cache writes cost more, where there are any. */
export function dearestInputClass(size: RequestSize, caching: CatalogModel['caching']): TokenClass {
  if (size.cache === '1h') return 'cacheWrite1h';
  return size.cache === '5m' || caching === 'automatic' ? 'cacheWrite5m' : 'input';
}

export interface WorstCase {
  readonly input: PicoUsd;
  readonly outputRate: Rate;
  readonly hold: MicroUsd;
}

/**
 * The most that a request can be debited: every input token in the dearest class that it can be, every token of
 * max_tokens as output, in the fast lane where it asks for it and the model has it.
 */
export function worstCase(
  card: RateCard,
  lane: Lane,
  { inputTokens, inputClass, maxTokens }: { inputTokens: number; inputClass: TokenClass; maxTokens: number },
): WorstCase {
  const input = costOfTokens(inputTokens, rateInLane(card, inputClass, lane));
  const outputRate = rateInLane(card, 'output', lane);
  return { input, outputRate, hold: mostDebited(picoUsd(input + costOfTokens(maxTokens, outputRate))) };
}

/** The largest max_tokens whose worst case fits an amount; 0 where none does. */
export function maxTokensThatFit({ input, outputRate }: WorstCase, left: MicroUsd): bigint {
  const forOutput = left * 1_000_000n - input;
  return forOutput <= 0n || outputRate === 0n ? 0n : forOutput / outputRate;
}
