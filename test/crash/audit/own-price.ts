import type { ModelPrices } from '../crash-catalog.ts';
import { TOKEN_CLASSES, type Tokens } from './stored-event.ts';

export interface OwnLine {
  readonly tokenClass: string;
  readonly tokens: number;
  readonly rate: bigint;
  readonly cost: bigint;
}

/** What tokens cost by the prices that this test wrote down itself, in pico-USD, line by line. */
export function ownPrice(tokens: Tokens, lane: string, prices: ModelPrices): { cost: bigint; lines: OwnLine[] } {
  const factor = lane === 'fast' && prices.hasFastLane ? 2n : 1n;
  const lines = TOKEN_CLASSES.filter((name) => tokens[name] > 0).map((tokenClass) => {
    const rate = prices[tokenClass] * factor;
    return { tokenClass, tokens: tokens[tokenClass], rate, cost: rate * BigInt(tokens[tokenClass]) };
  });
  return { cost: lines.reduce((sum, line) => sum + line.cost, 0n), lines };
}
