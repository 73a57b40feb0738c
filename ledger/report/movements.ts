import type { MicroUsd } from '../../contracts/money.ts';
import {
  BREAKAGE,
  CORRECTIONS,
  type GrantSource,
  PREMIUM,
  REFUNDS,
  USAGE_FREE,
  USAGE_OWED,
  USAGE_PAID,
} from '../postings/chart-of-accounts.ts';
import type { Posting } from '../postings/posting-rules.ts';

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
  /** Of the amount that of grants for which something was paid: nobody has bought the others, as of a plan that costs nothing. */
  sold: bigint;
  /** What was paid for it. */
  paid: bigint;
}

/** What events have booked as income, in micro-USD. */
interface Income {
  /** What usage took of credit that was paid for, of credit that was given, and of neither. */
  fromPaid: bigint;
  fromGiven: bigint;
  owed: bigint;
  /** Credit that was paid for and expired, less what of it was reinstated. */
  breakage: bigint;
  /** What was paid for grants beyond the credit that they gave. */
  premium: bigint;
  /** Paid credit that operators took without paying it back, and what their corrections made owed, less what they undid of it. */
  corrections: bigint;
  /** Credit that was paid for and revoked for money that went back, less that money. */
  refunds: bigint;
}

const INCOME: { readonly [F in keyof Income]: string } = {
  fromPaid: USAGE_PAID,
  fromGiven: USAGE_FREE,
  owed: USAGE_OWED,
  breakage: BREAKAGE,
  premium: PREMIUM,
  corrections: CORRECTIONS,
  refunds: REFUNDS,
};
const INCOME_FIELDS = Object.keys(INCOME) as (keyof Income)[];
const noIncome = (): Income => ({
  fromPaid: 0n,
  fromGiven: 0n,
  owed: 0n,
  breakage: 0n,
  premium: 0n,
  corrections: 0n,
  refunds: 0n,
});

export function incomeOf(postings: readonly Posting[]): Income {
  const income = noIncome();
  for (const { account, microUsd } of postings)
    for (const field of INCOME_FIELDS) if (INCOME[field] === account) income[field] -= microUsd;
  return income;
}

export function addIncome(moved: Movements, income: Income): void {
  for (const field of INCOME_FIELDS) moved[field] += income[field];
}

/** What of it is earned: all but what was given away. */
export const earnedOf = ({ fromPaid, owed, breakage, premium, corrections, refunds }: Income): bigint =>
  fromPaid + owed + breakage + premium + corrections + refunds;

/** What moved the books in a time; everything in micro-USD. */
export interface Movements extends Income {
  readonly granted: Record<GrantSource, Granted>;
  reinstated: bigint;
  expired: bigint;
  /** By requests. */
  debited: bigint;
  /** By exceptions that an operator approved. */
  approved: bigint;
  revoked: bigint;
  restored: bigint;
  /** Of what was debited. */
  reversed: bigint;
  adjustedUp: bigint;
  adjustedDown: bigint;
  /** Of what was paid for grants, what went back, or is disputed. */
  paidBack: bigint;
  /** Of credit that was paid for, what corrections took, less what came back by them. */
  taken: bigint;
  /** Of credit that was paid for, what went to what had been owed before it came: that was income when it was debited. */
  settled: bigint;
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
  revoked: 0n,
  restored: 0n,
  reversed: 0n,
  adjustedUp: 0n,
  adjustedDown: 0n,
  paidBack: 0n,
  taken: 0n,
  settled: 0n,
  ...noIncome(),
});

const noGrants = (): Granted => ({ count: 0, amount: 0n, sold: 0n, paid: 0n });

/** What the movements have added to the credits that customers have. */
export const netCredits = (moved: Movements): bigint =>
  sumGranted(moved, 'amount') + moved.reinstated + correctedBy(moved) - moved.expired - spentBy(moved);

/** Credits that were paid for, of plans or not. */
export const soldIn = (moved: Movements): bigint => sumGranted(moved, 'sold');

/** Those for which nobody has paid. */
export const givenIn = (moved: Movements): bigint => sumGranted(moved, 'amount') - soldIn(moved);

/** By requests, less what was undone of them. */
export const spentBy = ({ debited, approved, reversed }: Movements): bigint => debited + approved - reversed;

/** By what operators, refunds and disputes have taken and given, beside what was undone of requests. */
export const correctedBy = ({ restored, revoked, adjustedUp, adjustedDown }: Movements): bigint =>
  restored - revoked + adjustedUp - adjustedDown;

/** What they have added to the credit that was paid for and can still be spent. */
export const netDeferred = (moved: Movements): bigint =>
  sumGranted(moved, 'paid') - moved.premium - moved.fromPaid - moved.settled - moved.breakage - moved.taken;

const sumGranted = ({ granted }: Movements, what: 'amount' | 'sold' | 'paid'): bigint =>
  GRANT_SOURCES.reduce((sum, source) => sum + granted[source][what], 0n);

export function addGranted(
  { granted }: Movements,
  { source, amount, costBasis }: { source: GrantSource; amount: MicroUsd; costBasis: MicroUsd },
): void {
  const sums = granted[source];
  sums.count += 1;
  sums.amount += amount;
  if (costBasis > 0n) sums.sold += amount;
  sums.paid += costBasis;
}
