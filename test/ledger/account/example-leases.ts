import type { AccountEvent, EventData } from '../../../contracts/events.ts';
import { type LeaseId, leaseId, proxyId } from '../../../contracts/ids.ts';
import { microUsd } from '../../../contracts/money.ts';
import type { AccountCommand } from '../../../ledger/account/commands.ts';
import { ms } from '../../fixtures/ledger/example-account.ts';

/** Leases of two proxies in an account's life, each with plain defaults and what a test wants to be different. */

export const NOW = ms('2026-11-06T12:00:00.000Z');
export const MINUTE_MS = 60_000;
export const P1 = proxyId('proxy_1');
export const P2 = proxyId('proxy_2');
export const L1 = leaseId('lease_1');
export const L2 = leaseId('lease_2');
/** The terms of requests of any key at any time. */
export const ANY = { keyId: null, requestsBeforeMs: null, proxy: P1, epoch: 1, othersAheadMs: MINUTE_MS };

export const leaseCommand = (
  upTo: number,
  more: Partial<Extract<AccountCommand, { type: 'LeaseCredits' }>> = {},
): AccountCommand => ({
  type: 'LeaseCredits',
  proxy: P1,
  leaseId: L1,
  epoch: 1,
  keyId: null,
  upTo: microUsd(BigInt(upTo)),
  requestsBeforeMs: null,
  othersAheadMs: MINUTE_MS,
  expiresAtMs: NOW + MINUTE_MS,
  nowMs: NOW,
  ...more,
});

export const leased = (
  amount: number,
  { untilMs = NOW + MINUTE_MS, ...change }: Partial<EventData<'CreditsLeased'>> & { readonly untilMs?: number } = {},
): AccountEvent => ({
  type: 'CreditsLeased',
  data: {
    proxy: P1,
    leaseId: L1,
    epoch: 1,
    amount: microUsd(BigInt(amount)),
    expiresAt: new Date(untilMs).toISOString(),
    requestsFrom: new Date(NOW).toISOString(),
    requestsBefore: null,
    ...change,
  },
});

export const released = (amount: number, id: LeaseId = L1, proxy = P1): AccountEvent => ({
  type: 'LeaseReleased',
  data: { proxy, leaseId: id, amount: microUsd(BigInt(amount)) },
});
