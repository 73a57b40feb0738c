import type { DebitData, LeasedData, ReleasedData } from './stored-event.ts';

/** What a proxy has set aside and has neither given back nor debited; its end is exclusive. */
interface OwnLease {
  left: bigint;
  readonly untilMs: number;
}

export type OwnLeases = Map<string, OwnLease>;

export function takeLeased(leases: OwnLeases, { leaseId, amount, expiresAt }: LeasedData): void {
  leases.set(leaseId, { left: BigInt(amount), untilMs: Date.parse(expiresAt) });
}

/** By what is given back, and by what is debited under it. */
export function takeFromLease(leases: OwnLeases, { leaseId, amount }: ReleasedData | DebitData): void {
  const lease = leaseId === undefined ? undefined : leases.get(leaseId);
  if (lease !== undefined) lease.left -= BigInt(amount);
}
