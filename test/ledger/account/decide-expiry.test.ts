import { describe, expect, test } from 'vitest';
import type { AccountEvent } from '../../../contracts/events.ts';
import { grantId, leaseId, proxyId } from '../../../contracts/ids.ts';
import { LIMITS } from '../../../contracts/limits.ts';
import { microUsd } from '../../../contracts/money.ts';
import type { AccountCommand } from '../../../ledger/account/commands.ts';
import { usableCredits } from '../../../ledger/account/grants.ts';
import { fold, given } from '../../fixtures/ledger/decider-specification.ts';
import { debitIn, granted, ms, openAccount, opened, record, usageOf } from '../../fixtures/ledger/example-account.ts';

const usd = (amount: number) => microUsd(BigInt(amount));
const END = '2026-12-01T00:00:00.000Z';
const LATE_MS = LIMITS.expiryLateMs;
const expire = (nowMs: number, lateMs = LATE_MS): AccountCommand => ({ type: 'ExpireCredits', lateMs, nowMs });
const expired = (amount: number): AccountEvent => ({
  type: 'CreditsExpired',
  data: { grantId: grantId('soon'), amount: usd(amount), expiredAt: END },
});
const leased = (expiresAt: string): AccountEvent => ({
  type: 'CreditsLeased',
  data: {
    epoch: 0,
    proxy: proxyId('gw-1'),
    leaseId: leaseId('lease_gw-1'),
    amount: usd(1),
    expiresAt,
    requestsFrom: null,
    requestsBefore: null,
  },
});

describe('credits are not written down as expired', () => {
  const account = [opened, granted('soon', 10, { expiresAt: END })];
  const due = ms(END) + LATE_MS;

  test('before the stated lateness is over, which is the command’s own', () => {
    given(...account)
      .when(expire(due - 1))
      .thenEvents();
    given(...account)
      .when(expire(due))
      .thenEvents(expired(10));
    given(...account)
      .when(expire(ms(END) + LIMITS.expiryLateMsMin, LIMITS.expiryLateMsMin))
      .thenEvents(expired(10));
  });

  test('while a lease runs, or has ended less than that long ago: requests may be under way under it', () => {
    given(...account, leased(new Date(due + 1).toISOString()))
      .when(expire(due))
      .thenEvents();
    given(...account, leased('2026-12-01T00:00:00.001Z'))
      .when(expire(due))
      .thenEvents();
    given(...account, leased(END))
      .when(expire(due))
      .thenEvents(expired(10));
  });
});

describe('credits that were written down as expired', () => {
  /** Ten were granted, four spent, six destroyed by a clock that was 40 days ahead. */
  const spent = given(opened, granted('soon', 10, { expiresAt: END }), granted('other', 5))
    .when(record(usageOf(1, 4)))
    .events();
  const destroyed = [opened, granted('soon', 10, { expiresAt: END }), granted('other', 5), ...spent, expired(6)];
  const NOW = ms('2026-11-10T00:00:00.000Z');
  const reinstate = (change: Partial<Extract<AccountCommand, { type: 'ReinstateCredits' }>> = {}): AccountCommand => ({
    type: 'ReinstateCredits',
    grantId: grantId('soon'),
    amount: null,
    expiresAtMs: null,
    lateMs: LATE_MS,
    reason: 'the clock of gw-2 was ahead',
    actor: 'operator',
    nowMs: NOW,
    ...change,
  });
  const reinstated = (amount: number, expiresAt = END): AccountEvent => ({
    type: 'CreditsReinstated',
    data: {
      grantId: grantId('soon'),
      amount: usd(amount),
      expiresAt,
      reason: 'the clock of gw-2 was ahead',
      actor: 'operator',
    },
  });

  test('come back whole, can be spent until the grant’s own end, and expire once more after it', () => {
    given(...destroyed)
      .when(reinstate())
      .thenEvents(reinstated(6));
    const account = openAccount([...destroyed, reinstated(6)]);
    expect(account.balance).toBe(11n);
    expect(usableCredits(account.grants, NOW)).toBe(11n);
    expect(usableCredits(account.grants, ms(END))).toBe(5n);
    given(...destroyed, reinstated(6))
      .when(expire(ms(END) + LATE_MS))
      .thenEvents(expired(6));
  });

  test('come back in part, and never more than had expired', () => {
    given(...destroyed)
      .when(reinstate({ amount: usd(2) }))
      .thenEvents(reinstated(2));
    const half = given(...destroyed, reinstated(2));
    half.when(reinstate()).thenEvents(reinstated(4));
    half
      .when(reinstate({ amount: usd(5) }))
      .thenRefused('invalid_amount', /^amount: of grant soon only 0\.000004 USD have expired, not 0\.000005$/);
    half.when(reinstate({ amount: usd(0) })).thenRefused('invalid_amount');
    given(...destroyed, reinstated(6))
      .when(reinstate())
      .thenRefused('nothing_expired');
  });

  test('are not of a grant that is over and not written down yet: it says when that is, and what can be done', () => {
    const over = given(opened, granted('soon', 2_500_000, { expiresAt: END }), granted('other', 5));
    for (const nowMs of [ms(END), ms(END) + LATE_MS])
      over
        .when(reinstate({ nowMs }))
        .thenRefused(
          'not_written_off',
          new RegExp(
            `^grant soon is over since ${END}: its 2\\.50 USD cannot be spent, and are written down as expired at ` +
              `${new Date(ms(END) + LATE_MS).toISOString()} at the earliest;.*gateway credits grant, --usd 2\\.50 `,
          ),
        );
    over.when(reinstate({ nowMs: ms(END) - 1 })).thenRefused('nothing_expired');
  });

  test('are of a grant that there is, and that has expired', () => {
    given(...destroyed)
      .when(reinstate({ grantId: grantId('none') }))
      .thenRefused('grant_not_found', /no grant none/);
    given(...destroyed)
      .when(reinstate({ grantId: grantId('other') }))
      .thenRefused('nothing_expired');
  });

  test('of a grant whose end has passed come back with a later end only, and the grant burns in its new place', () => {
    const late = { nowMs: ms(END) };
    given(...destroyed)
      .when(reinstate(late))
      .thenRefused('invalid_period', /has ended at 2026-12-01/);
    given(...destroyed)
      .when(reinstate({ expiresAtMs: ms(END) - 1 }))
      .thenRefused('invalid_period', /has until 2026-12-01/);
    const later = '2027-03-01T00:00:00.000Z';
    given(...destroyed, granted('middle', 3, { expiresAt: '2027-02-01T00:00:00.000Z' }))
      .when(reinstate({ ...late, expiresAtMs: ms(later) }))
      .thenEvents(reinstated(6, later));
    const account = openAccount([
      ...destroyed,
      granted('middle', 3, { expiresAt: '2027-02-01T00:00:00.000Z' }),
      reinstated(6, later),
    ]);
    expect(account.grants.map((grant) => [grant.grantId, grant.remaining])).toEqual([
      ['middle', 3n],
      ['soon', 6n],
      ['other', 5n],
    ]);
  });

  test('first fill what was debited beyond the grants while they were missing', () => {
    const debt = given(...destroyed)
      .when(record(usageOf(2, 8)))
      .events();
    expect(debitIn(debt)).toMatchObject({ amount: 8n, uncovered: 3n });
    const account = openAccount([...destroyed, ...debt, reinstated(6)]);
    expect(account).toMatchObject({ uncovered: 0n, balance: 3n });
    expect(usableCredits(account.grants, NOW)).toBe(3n);
    // What filled the debt is not left to be reinstated or to expire again.
    given(...destroyed, ...debt, reinstated(6))
      .when(expire(ms(END) + LATE_MS))
      .thenEvents(expired(3));
  });

  test('of which more is given back than had expired are a broken stream', () => {
    expect(() => fold([...destroyed, reinstated(7)])).toThrow(/not 7|would hold/);
    expect(() => fold([...destroyed, granted('x', 9), reinstated(6), reinstated(1)])).toThrow(/have expired, not 1/);
  });
});
