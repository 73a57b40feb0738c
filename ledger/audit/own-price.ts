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
  const lines = TOKEN_CLASSES.filter((name) => tokens[name] > 0).map((tokenClass) => {
    const rate = prices[tokenClass] * factor;
    return { tokenClass, tokens: tokens[tokenClass], rate, cost: rate * BigInt(tokens[tokenClass]) };
  });
  const ownUses = Object.keys(uses)
    .toSorted()
    .flatMap((use) => useLine(use, uses[use] ?? 0, prices));
  const ofTokens = lines.reduce((sum, line) => sum + line.cost, 0n);
  return { cost: ownUses.reduce((sum, { cost }) => sum + BigInt(cost), ofTokens), lines, uses: ownUses };
}

type PricedUsage = Pick<UsageData, 'tokens' | 'lane' | 'uses'>;

/** A use that the catalog has no price for costs nothing; that is an exception. Uses cost the same in both lanes. */
function useLine(use: string, count: number, { uses }: OwnCard): OwnUse[] {
  const rate = uses.get(use);
  if (rate === undefined) return [];
  return [{ use, count, rate: String(rate), cost: String(rate * BigInt(count)) }];
}
