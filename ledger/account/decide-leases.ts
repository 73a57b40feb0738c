import type { AccountEvent } from '../../contracts/events.ts';
import { type MicroUsd, microUsd } from '../../contracts/money.ts';
import type { OpenAccount } from './account-state.ts';
import type { CommandOf } from './commands.ts';
import { freeCredit } from './leases.ts';

/** Leases what is free, at most what was asked, or nothing; writes down in passing what the clock has ended. */
export function leaseCredits(command: CommandOf<'LeaseCredits'>, state: OpenAccount): AccountEvent[] {
  const { proxy, leaseId, epoch, keyId, upTo, requestsBeforeMs, othersAheadMs, expiresAtMs, nowMs } = command;
  const free = freeCredit(state, { keyId, requestsBeforeMs, proxy, epoch, othersAheadMs }, nowMs);
  const amount: MicroUsd = upTo < free ? upTo : free;
  const renews = upTo === 0n && isActive(state, leaseId, nowMs);
  const ended = endedLeases(state, nowMs);
  if (amount === 0n && !renews) return ended;
  const instants = {
    expiresAt: new Date(expiresAtMs).toISOString(),
    requestsFrom: new Date(nowMs).toISOString(),
    requestsBefore: requestsBeforeMs === null ? null : new Date(requestsBeforeMs).toISOString(),
  };
  const leased = { proxy, leaseId, epoch, ...(keyId === null ? {} : { keyId }), amount, ...instants };
  return [...ended, { type: 'CreditsLeased', data: leased }];
}

export function releaseLease({ leaseId, amount }: CommandOf<'ReleaseLease'>, state: OpenAccount): AccountEvent[] {
  const lease = state.leases[leaseId];
  const released = lease === undefined || lease.amount < amount ? (lease?.amount ?? 0n) : amount;
  if (lease === undefined || released === 0n) return [];
  return [{ type: 'LeaseReleased', data: { proxy: lease.proxy, leaseId, amount: microUsd(released) } }];
}

/** Nothing where the key has no limit any more, or where so little is known already. */
export function narrowLease({ leaseId, keyId, atMost }: CommandOf<'NarrowLease'>, state: OpenAccount): AccountEvent[] {
  const lease = state.leases[leaseId];
  const before = lease?.beforeLimit[keyId];
  if (lease === undefined || before === undefined || before <= atMost) return [];
  return [{ type: 'LeaseNarrowed', data: { proxy: lease.proxy, leaseId, keyId, atMost } }];
}

const isActive = (state: OpenAccount, leaseId: string, nowMs: number): boolean =>
  (state.leases[leaseId]?.expiresAtMs ?? nowMs) > nowMs;

const endedLeases = (state: OpenAccount, nowMs: number): AccountEvent[] =>
  Object.values(state.leases)
    .filter(({ expiresAtMs }) => expiresAtMs <= nowMs)
    .map(({ proxy, leaseId, amount }) => ({ type: 'LeaseReleased', data: { proxy, leaseId, amount } }));
