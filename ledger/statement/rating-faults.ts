import { groupedUsd } from '../../contracts/money.ts';
import { rateInLane, rateOfUse } from '../../contracts/rate-card.ts';
import { rateUsage } from '../rating.ts';
import type { Explanation } from './explanation.ts';
import type { NamedRateCard } from './named-rate-card.ts';
import { TOKEN_CLASS_WORDS } from './sentences.ts';

/** Why a request without a debit has none; null where it should have one. */
export function whyNoDebit({ usage: { data: usage } }: Explanation, named: NamedRateCard | string): string | null {
  if (!usage.billable) return 'an ending of its kind is not charged';
  if (typeof named === 'string') return null;
  if (rateUsage(usage, named.card).cost > 0n) return null;
  const isNothing = Object.values(usage.tokens).every((count) => count === 0);
  return isNothing ? 'nothing was used' : 'by its rate card it costs nothing';
}

/** Where a debit is not what its usage and the rate card of its time make, as far as an explanation shows it. */
export function ratingFaults(explanation: Explanation, named: NamedRateCard | string): string[] {
  const { usage, debit } = explanation;
  if (typeof named === 'string') return [named];
  if (debit === null) return whyNoDebit(explanation, named) === null ? ['it is to be charged, and has no debit'] : [];
  const { lane } = usage.data;
  const perMillion = (rate: bigint): string => `${groupedUsd(rate)} USD a million`;
  const ofTokens = debit.data.lines.flatMap(({ tokenClass, rate, tokens }) => {
    const [due, name] = [rateInLane(named.card, tokenClass, lane), TOKEN_CLASS_WORDS[tokenClass]];
    const counted = usage.data.tokens[tokenClass];
    return [
      ...(rate === due ? [] : [`${name} is billed at ${perMillion(rate)}; the rate card has ${perMillion(due)}`]),
      ...(tokens === counted ? [] : [`${tokens} ${name} tokens are billed; its usage has ${counted}`]),
    ];
  });
  const ofUses = debit.data.uses.flatMap(({ use, rate }) =>
    rate === rateOfUse(named.card, use) ? [] : [`${use} is billed at another price than the rate card's`],
  );
  const { cost } = rateUsage(usage.data, named.card);
  const isSum = cost === debit.data.cost;
  return [...ofTokens, ...ofUses, ...(isSum ? [] : ['the cost is another than its usage and its rate card make'])];
}
