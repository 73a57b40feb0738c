import { type OwnCard, type OwnUse, TOKEN_CLASSES, type UsageData } from './stored-event.ts';

interface OwnLine {
  readonly tokenClass: string;
  readonly tokens: number;
  readonly rate: bigint;
  readonly cost: bigint;
}

export interface OwnPrice {
  readonly cost: bigint;
  readonly lines: readonly OwnLine[];
  readonly uses: readonly OwnUse[];
}

/** What a usage costs by its card, in pico-USD, line by line. */
export function ownPrice({ tokens, lane, uses = {} }: PricedUsage, prices: OwnCard): OwnPrice {
  const factor = lane === 'fast' && prices.hasFastLane ? 2n : 1n;
  const lines: OwnLine[] = [];
  let cost = 0n;
  for (const tokenClass of TOKEN_CLASSES) {
    const count = tokens[tokenClass];
    if (count === 0) continue;
    const rate = prices[tokenClass] * factor;
    lines.push({ tokenClass, tokens: count, rate, cost: rate * BigInt(count) });
    cost += rate * BigInt(count);
  }
  const names = Object.keys(uses);
  if (names.length === 0) return { cost, lines, uses: [] };
  const ownUses = names.toSorted().flatMap((use) => useLine(use, uses[use] ?? 0, prices));
  return { cost: ownUses.reduce((sum, use) => sum + BigInt(use.cost), cost), lines, uses: ownUses };
}

type PricedUsage = Pick<UsageData, 'tokens' | 'lane' | 'uses'>;

/** A use that the catalog has no price for costs nothing; that is an exception. Uses cost the same in both lanes. */
function useLine(use: string, count: number, { uses }: OwnCard): OwnUse[] {
  const rate = uses.get(use);
  if (rate === undefined) return [];
  return [{ use, count, rate: String(rate), cost: String(rate * BigInt(count)) }];
}
