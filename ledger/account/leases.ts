import type { EventData } from '../../contracts/events.ts';
import type { KeyId, LeaseId, ProxyId } from '../../contracts/ids.ts';
import { type MicroUsd, microUsd } from '../../contracts/money.ts';
import { type Lease, NOTHING, type OpenAccount } from './account-state.ts';
import { usableCredits } from './grants.ts';
import { monthOf } from './month.ts';
import { monthOfSpend, spentByKey } from './spend.ts';

export type Leases = OpenAccount['leases'];

/** A lease is for one key where that key has a monthly limit, and for all other keys together. */
export const leaseScope = ({ spend }: OpenAccount, keyId: KeyId): KeyId | null =>
  spend.keyLimits[keyId] === undefined ? null : keyId;

/** Leases that the clock has not ended (rule 11). */
export const activeLeases = (account: OpenAccount, nowMs: number): Lease[] =>
  Object.values(account.leases).filter(({ expiresAtMs }) => expiresAtMs > nowMs);

/** What can be spent now, whoever has it leased: usable credits less what debits left uncovered. May be below zero. */
export const spendable = (account: OpenAccount, nowMs: number): MicroUsd =>
  microUsd(usableCredits(account.grants, nowMs) - account.uncovered);

/**
 * What no proxy has leased, of the credits, of the account's monthly limit and, for a key's scope, of the key's. Never
 * below zero.
 */
export function freeCredit(account: OpenAccount, scope: KeyId | null, nowMs: number): MicroUsd {
  const { spend } = account;
  const leases = activeLeases(account, nowMs);
  const month = monthOfSpend(spend, monthOf(nowMs));
  const leased = sumOfLeases(leases);
  let free = spendable(account, nowMs) - leased;
  if (spend.accountLimit !== null) free = smaller(free, spend.accountLimit - month.account - leased);
  const keyLimit = scope === null ? undefined : spend.keyLimits[scope];
  if (scope !== null && keyLimit !== undefined)
    free = smaller(
      free,
      keyLimit - spentByKey(month, scope) - sumOfLeases(leases.filter(({ keyId }) => keyId === scope)),
    );
  return microUsd(free < 0n ? 0n : free);
}

/** What other proxies than this one have leased of the account's credit. */
export const leasedToOthers = (account: OpenAccount, proxy: ProxyId, nowMs: number): MicroUsd =>
  sumOfLeases(activeLeases(account, nowMs).filter((lease) => lease.proxy !== proxy));

/** A lease that is there grows and has the new expiry. */
export function withLease(leases: Leases, data: EventData<'CreditsLeased'>): Leases {
  const { leaseId, proxy, keyId, amount, expiresAt } = data;
  const before = leases[leaseId]?.amount ?? NOTHING;
  const lease: Lease = {
    leaseId,
    proxy,
    keyId: keyId ?? null,
    amount: microUsd(before + amount),
    expiresAtMs: Date.parse(expiresAt),
  };
  return { ...leases, [leaseId]: lease };
}

/**
 * A lease after part of it was spent or given back; one that is used up is gone. A debit may name a lease that has
 * ended: its credit was free already.
 */
export function withLessLeased(leases: Leases, leaseId: LeaseId | undefined, amount: MicroUsd): Leases {
  const lease = leaseId === undefined ? undefined : leases[leaseId];
  if (lease === undefined) return leases;
  const { [lease.leaseId]: _changed, ...others } = leases;
  const left = lease.amount - amount;
  return left > 0n ? { ...others, [lease.leaseId]: { ...lease, amount: microUsd(left) } } : others;
}

export const sumOfLeases = (leases: readonly Lease[]): MicroUsd =>
  microUsd(leases.reduce((sum, { amount }) => sum + amount, 0n));

const smaller = (a: bigint, b: bigint): bigint => (a < b ? a : b);
