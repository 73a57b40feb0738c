import type { MicroUsd } from '../../contracts/money.ts';
import type { GrantSource } from './grant-book.ts';

export const GRANT_SOURCES = [
  'purchase',
  'plan',
  'trial',
  'promotion',
  'adjustment',
] as const satisfies readonly GrantSource[];

export interface Granted {
  count: number;
  amount: bigint;
  /** What was paid for it. */
  paid: bigint;
}

/** What moved the books in a time; everything in micro-USD. */
export interface Movements {
  readonly granted: Record<GrantSource, Granted>;
  reinstated: bigint;
  expired: bigint;
  /** By requests. */
  debited: bigint;
  /** By exceptions that an operator approved. */
  approved: bigint;
  /** Of what was paid for credits: consumed by usage, by what had been owed before they came, and by expiry. */
  earned: bigint;
  settled: bigint;
  breakage: bigint;
}

export const noMovements = (): Movements => ({
  granted: {
    purchase: noGrants(),
    plan: noGrants(),
    trial: noGrants(),
    promotion: noGrants(),
    adjustment: noGrants(),
  },
  reinstated: 0n,
  expired: 0n,
  debited: 0n,
  approved: 0n,
  earned: 0n,
  settled: 0n,
  breakage: 0n,
});

const noGrants = (): Granted => ({ count: 0, amount: 0n, paid: 0n });

/** What the movements have added to the credits that customers have. */
export const netCredits = (moved: Movements): bigint =>
  sumGranted(moved, 'amount') + moved.reinstated - moved.expired - moved.debited - moved.approved;

/** What they have added to what was paid for and is not earned. */
export const netDeferred = (moved: Movements): bigint =>
  sumGranted(moved, 'paid') - moved.earned - moved.settled - moved.breakage;

const sumGranted = ({ granted }: Movements, what: 'amount' | 'paid'): bigint =>
  GRANT_SOURCES.reduce((sum, source) => sum + granted[source][what], 0n);

export function addGranted(
  { granted }: Movements,
  { source, amount, costBasis }: { source: GrantSource; amount: MicroUsd; costBasis: MicroUsd },
): void {
  const sums = granted[source];
  sums.count += 1;
  sums.amount += amount;
  sums.paid += costBasis;
}
