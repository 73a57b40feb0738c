import type { AccountEvent, CreditsDebited, EventData, UsageRecorded } from '../../../contracts/events.ts';
import { accountId, grantId, keyId, requestIdFromUuid } from '../../../contracts/ids.ts';
import { microUsd, rate } from '../../../contracts/money.ts';
import { type RateCard, rateCard } from '../../../contracts/rate-card.ts';
import { NO_TOKENS } from '../../../contracts/usage.ts';
import type { OpenAccount } from '../../../ledger/account/account-state.ts';
import type { AccountCommand } from '../../../ledger/account/commands.ts';
import { fold } from './decider-specification.ts';

/** Parts of an account's life, each with plain defaults and what a test wants to be different. */

export const ACCOUNT = accountId('acme');
export const KEY = keyId('key_a');
export const OTHER_KEY = keyId('key_b');
export const OPENED_AT = '2026-11-05T10:00:00.000Z';
export const ms = (instant: string): number => Date.parse(instant);

/** 1 token of output costs 1 micro-USD, one of input 0.00002: whole amounts where wanted, carries where wanted. */
export const CARD: RateCard = rateCard(
  'opal-medium',
  1,
  {
    input: rate(20n),
    output: rate(1_000_000n),
    cacheRead: rate(2n),
    cacheWrite5m: rate(25n),
    cacheWrite1h: rate(40n),
  },
  2,
);

export const opened: AccountEvent = {
  type: 'AccountOpened',
  data: { accountId: ACCOUNT, kind: 'personal', email: 'owner@example.com', openedAt: OPENED_AT },
};

export function granted(id: string, amount: number, change: Partial<EventData<'CreditsGranted'>> = {}): AccountEvent {
  return {
    type: 'CreditsGranted',
    data: {
      grantId: grantId(id),
      source: 'purchase',
      amount: microUsd(BigInt(amount)),
      costBasis: microUsd(BigInt(amount)),
      priority: 100,
      effectiveAt: OPENED_AT,
      expiresAt: null,
      ...change,
    },
  };
}

export function keyIssued(change: Partial<EventData<'ApiKeyIssued'>> = {}): AccountEvent {
  return {
    type: 'ApiKeyIssued',
    data: {
      keyId: KEY,
      name: 'ci',
      sha256: 'a3'.repeat(32),
      last4: 'wxyz',
      issuer: 'owner@example.com',
      expiresAt: null,
      models: null,
      monthlyLimit: null,
      ...change,
    },
  };
}

export const limitSet = (limit: number | null, key: EventData<'SpendLimitSet'>['keyId'] = null): AccountEvent => ({
  type: 'SpendLimitSet',
  data: { scope: key === null ? 'account' : 'key', keyId: key, limit: limit === null ? null : microUsd(BigInt(limit)) },
});

export const requestOf = (number: number): UsageRecorded['requestId'] =>
  requestIdFromUuid(`019a5b3c-0000-7000-8000-${number.toString(16).padStart(12, '0')}`);

/** A usage of so many tokens of output, and whatever else is given. */
export function usageOf(number: number, output: number, change: Partial<UsageRecorded> = {}): UsageRecorded {
  return {
    requestId: requestOf(number),
    keyId: KEY,
    model: 'opal-medium',
    upstream: { provider: 'mock', model: 'opal-medium', requestId: null },
    tokens: { ...NO_TOKENS, output },
    lane: 'standard',
    outcome: 'completed',
    source: 'reported',
    billable: true,
    startedAt: '2026-11-06T12:00:00.000Z',
    finishedAt: '2026-11-06T12:00:01.000Z',
    rateCard: { id: CARD.id, version: CARD.version, hash: CARD.hash },
    hold: null,
    uses: {},
    unpriced: [],
    ...change,
  };
}

export const record = (usage: UsageRecorded, card: RateCard = CARD): AccountCommand => ({
  type: 'RecordUsage',
  usage,
  card,
});

/** The debit among events. @throws Error when there is not exactly one. */
export function debitIn(events: readonly AccountEvent[]): CreditsDebited {
  const debits = events.filter((event) => event.type === 'CreditsDebited');
  const [debit] = debits;
  if (debit === undefined || debits.length > 1) throw new Error(`${debits.length} debits`);
  return debit.data;
}

export function openAccount(events: readonly AccountEvent[], from?: OpenAccount): OpenAccount {
  const state = fold(events, from);
  if (state.type === 'unopened') throw new Error('the account is not open');
  return state;
}
