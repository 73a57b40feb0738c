import { type MicroUsd, microUsd } from '../../contracts/money.ts';

/** What is taken to have been paid for a grant by hand of which nothing else is said. */
export const usualCost = (source: string, amount: MicroUsd): MicroUsd =>
  source === 'purchase' ? amount : microUsd(0n);
