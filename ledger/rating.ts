import type { CreditsDebited, UsageRecorded } from '../contracts/events.ts';
import { costOfTokens, type PicoUsd, picoUsd } from '../contracts/money.ts';
import { type RateCard, rateInLane, rateOfUse } from '../contracts/rate-card.ts';
import { TOKEN_CLASSES } from '../contracts/usage.ts';

export interface RatedUsage {
  /** Exact; the sum of all lines. */
  readonly cost: PicoUsd;
  /** A line for each token class that has tokens, in the order of TOKEN_CLASSES. */
  readonly lines: CreditsDebited['lines'];
  /** A line for each use that has a price, in the order of their names. */
  readonly uses: CreditsDebited['uses'];
}

/** What is billed of a request. */
export type BilledUsage = Pick<UsageRecorded, 'tokens' | 'uses' | 'lane'>;

/** Exact, pure. The lane multiplies a token's rate once, a use's never; one without a price is `unpriced`. */
export function rateUsage({ tokens, uses, lane }: BilledUsage, card: RateCard): RatedUsage {
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
  const ofUses = rateUses(uses, card);
  for (const line of ofUses) cost += line.cost;
  return { cost: picoUsd(cost), lines, uses: ofUses };
}

function rateUses(uses: BilledUsage['uses'], card: RateCard): CreditsDebited['uses'] {
  const names = Object.keys(uses);
  if (names.length === 0) return [];
  return names.sort().flatMap((use) => {
    const count = uses[use] ?? 0;
    const rate = rateOfUse(card, use);
    return rate === null || count === 0 ? [] : [{ use, count, rate, cost: picoUsd(BigInt(count) * rate) }];
  });
}
