import type { CreditsDebited } from '../contracts/events.ts';
import { costOfTokens, type PicoUsd, picoUsd } from '../contracts/money.ts';
import { type RateCard, rateInLane } from '../contracts/rate-card.ts';
import { type Lane, TOKEN_CLASSES, type TokenCounts } from '../contracts/usage.ts';

export interface RatedUsage {
  /** Exact; the sum of the lines. */
  readonly cost: PicoUsd;
  /** A line for each token class that has tokens, in the order of TOKEN_CLASSES. */
  readonly lines: CreditsDebited['lines'];
}

/** What a usage costs by a rate card. Exact, pure; the lane multiplies each rate once (rules 3 and 6). */
export function rateUsage(tokens: TokenCounts, lane: Lane, card: RateCard): RatedUsage {
  const lines: CreditsDebited['lines'] = [];
  let cost = 0n;
  for (const tokenClass of TOKEN_CLASSES) {
    const count = tokens[tokenClass];
    if (count === 0) continue;
    const rate = rateInLane(card, tokenClass, lane);
    const line = { tokenClass, tokens: count, rate, cost: costOfTokens(count, rate) };
    lines.push(line);
    cost += line.cost;
  }
  return { cost: picoUsd(cost), lines };
}
