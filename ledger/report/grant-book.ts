import type { EventData } from '../../contracts/events.ts';

export type GrantSource = EventData<'CreditsGranted'>['source'];

/** What of one grant is outstanding, and how much of what was paid for it is earned. All amounts are micro-USD. */
export interface GrantBook {
  readonly source: GrantSource;
  readonly amount: bigint;
  /** What was paid for all of it. */
  readonly paid: bigint;
  readonly effectiveAtMs: number;
  expiresAtMs: number | null;
  remaining: bigint;
  /** Something of it was written off, and may come back. */
  hasExpired: boolean;
}

export const grantBook = (data: EventData<'CreditsGranted'>): GrantBook => ({
  source: data.source,
  amount: data.amount,
  paid: data.costBasis,
  effectiveAtMs: Date.parse(data.effectiveAt),
  expiresAtMs: data.expiresAt === null ? null : Date.parse(data.expiresAt),
  remaining: data.amount,
  hasExpired: false,
});

/**
 * Takes an amount from a grant (a negative one gives it back). Returns what of its price that earns: the price in proportion to
 * what is consumed, rounded down over the whole grant, so that a grant that is consumed has earned its price exactly.
 */
export function consume(grant: GrantBook, amount: bigint): bigint {
  const before = earned(grant);
  grant.remaining -= amount;
  return earned(grant) - before;
}

/** What was paid for what is left. */
export const deferred = (grant: GrantBook): bigint => grant.paid - earned(grant);

const earned = ({ paid, amount, remaining }: GrantBook): bigint =>
  amount === 0n ? 0n : (paid * (amount - remaining)) / amount;
