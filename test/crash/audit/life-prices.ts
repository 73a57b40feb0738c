import { PRICE } from '../../fixtures/ledger/random-life.ts';
import type { ModelPrices } from '../crash-catalog.ts';

/** What a random life is billed by. */
export const LIFE_PRICES: ReadonlyMap<string, ModelPrices> = new Map([
  [
    'opal-medium',
    {
      input: PRICE.input,
      output: PRICE.output,
      cacheRead: PRICE.input / 10n,
      cacheWrite5m: (PRICE.input * 5n) / 4n,
      cacheWrite1h: PRICE.input * 2n,
      hasFastLane: PRICE.hasFast,
      uses: new Map(),
      hasLongWindow: false,
      isCancelled: false,
    },
  ],
]);
