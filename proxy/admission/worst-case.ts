import type { CatalogModel } from '../../contracts/catalog.ts';
import {
  costOfTokens,
  type MicroUsd,
  mostDebited,
  PICO_PER_MICRO,
  type PicoUsd,
  picoUsd,
  type Rate,
} from '../../contracts/money.ts';
import { FREE_USES, IMAGE_TOKENS_BOUND, USES_MAX } from '../../contracts/outside-input.ts';
import { type RateCard, rateInLane, rateOfUse } from '../../contracts/rate-card.ts';
import type { Lane, TokenClass } from '../../contracts/usage.ts';
import type { AskedUse, RequestSize } from '../request-body/request-size.ts';

/** Tokens that a provider may add around a request: tool instructions and the frame of each message. */
const FRAME_TOKENS = 2_048;
/** A count was seen to be 4% below what was then billed: it is held with this much more, and a few tokens. */
const COUNT_MARGIN_PERCENT = 10;
const COUNT_MARGIN_TOKENS = 64;

/** The most that it can be billed: a token has a byte or more, and the window bounds each round of sampling. */
export function inputTokensBound(size: BoundedSize, contextWindow: number): number {
  const { bodyBytes, images, instructionTokens, fillsWindow, rounds } = size;
  // Catalogs from before windows had a bound are in ledgers.
  if (fillsWindow || rounds > 1) return Math.min(Number.MAX_SAFE_INTEGER, contextWindow * rounds);
  return Math.min(contextWindow, bodyBytes + FRAME_TOKENS + instructionTokens + images * IMAGE_TOKENS_BOUND);
}

type BoundedSize = Pick<RequestSize, 'bodyBytes' | 'images' | 'instructionTokens' | 'fillsWindow' | 'rounds'>;

/** The most that a counted request can be billed; never more than its size says, and never a reason to hold less than it. */
export const inputTokensByCount = (counted: number, bound: number): number =>
  Math.min(bound, Math.ceil((counted * (100 + COUNT_MARGIN_PERCENT)) / 100) + COUNT_MARGIN_TOKENS);

/** Input's likely least (a token has 4 or 5 bytes): taken of minute limits until metered; decides on a count. */
export const inputTokensGuess = ({ bodyBytes }: Pick<RequestSize, 'bodyBytes'>, contextWindow: number): number =>
  Math.min(contextWindow, Math.ceil(bodyBytes / 5));

/** The dearest class that the request's input can be billed as: cache writes cost more, where there are any. */
export function dearestInputClass(size: Pick<RequestSize, 'cache'>, caching: CatalogModel['caching']): TokenClass {
  if (size.cache === '1h') return 'cacheWrite1h';
  return size.cache === '5m' || caching === 'automatic' ? 'cacheWrite5m' : 'input';
}

/**
 * What the most uses cost of what is billed by the use; several tools of one use add up. Where anything may be used, each
 * priced use is held at its bound, or at what was asked for where that is more. A use without a price is refused before this.
 */
export function costOfUses(
  { uses, usesAnything }: Pick<RequestSize, 'uses' | 'usesAnything'>,
  card: RateCard,
): PicoUsd {
  let cost = 0n;
  for (const { name, most } of uses) cost += BigInt(most) * (rateOfUse(card, name) ?? 0n);
  if (usesAnything)
    for (const [name, price] of Object.entries(card.uses)) {
      const asked = uses.reduce((sum, use) => (use.name === name ? sum + use.most : sum), 0);
      cost += BigInt(Math.max(0, USES_MAX - asked)) * price;
    }
  return picoUsd(cost);
}

/** The names that have no price, with the fields that would use them; what the provider gives for nothing needs none. */
export const usesWithoutPrice = ({ uses }: Pick<RequestSize, 'uses'>, card: RateCard): readonly AskedUse[] =>
  uses.filter(({ name }) => !FREE_USES.has(name) && rateOfUse(card, name) === null);

export interface WorstCase {
  /** Of the input and of what is billed by the use. */
  readonly input: PicoUsd;
  readonly outputRate: Rate;
  readonly hold: MicroUsd;
}

interface MostUsed {
  readonly inputTokens: number;
  readonly inputClass: TokenClass;
  readonly maxTokens: number;
  readonly uses: PicoUsd;
}

/**
 * The most that a request can be debited: every input token in the dearest class that it can be, every token of
 * max_tokens as output, in the fast lane where it asks for it and the model has it, and what is billed by the use.
 */
export function worstCase(card: RateCard, lane: Lane, most: MostUsed): WorstCase {
  const { inputTokens, inputClass, maxTokens, uses } = most;
  const input = picoUsd(costOfTokens(inputTokens, rateInLane(card, inputClass, lane)) + uses);
  const outputRate = rateInLane(card, 'output', lane);
  return { input, outputRate, hold: mostDebited(picoUsd(input + costOfTokens(maxTokens, outputRate))) };
}

/** The largest max_tokens whose worst case fits an amount; 0 where none does. */
export function maxTokensThatFit({ input, outputRate }: WorstCase, left: MicroUsd): bigint {
  const forOutput = left * PICO_PER_MICRO - input;
  return forOutput <= 0n || outputRate === 0n ? 0n : forOutput / outputRate;
}
