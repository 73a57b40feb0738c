import { describe, expect, test } from 'vitest';
import type { AccountEvent } from '../../../contracts/events.ts';
import { grantId } from '../../../contracts/ids.ts';
import { LIMITS } from '../../../contracts/limits.ts';
import type { AccountCommand } from '../../../ledger/account/commands.ts';
import { usableCredits } from '../../../ledger/account/grants.ts';
import { fold, given } from '../../fixtures/ledger/decider-specification.ts';
import {
  debitIn,
  granted,
  ms,
  openAccount,
  opened,
  record,
  usageOf,
  usd,
} from '../../fixtures/ledger/example-account.ts';
import { leased } from './example-leases.ts';

const END = '2026-12-01T00:00:00.000Z';
const LATE_MS = LIMITS.expiryLateMs;
const expire = (nowMs: number, lateMs = LATE_MS): AccountCommand => ({ type: 'ExpireCredits', lateMs, nowMs });
const expired = (amount: number): AccountEvent => ({
  type: 'CreditsExpired',
  data: { grantId: grantId('soon'), amount: usd(amount), expiredAt: END },
});
describe('credits are not written down as expired', () => {
  const account = [opened, granted('soon', 10, { expiresAt: END })];
  const due = ms(END) + LATE_MS;

  test('before the stated lateness is over, which is the command’s own', () => {
    given(...account).decides(expire(due - 1));
    given(...account).decides(expire(due), expired(10));
    given(...account).decides(expire(ms(END) + LIMITS.expiryLateMsMin, LIMITS.expiryLateMsMin), expired(10));
  });

  test('while a lease runs, or has ended less than that long ago: requests may be under way under it', () => {
    given(...account, leased(1, { untilMs: due + 1 })).decides(expire(due));
    given(...account, leased(1, { untilMs: ms(END) + 1 })).decides(expire(due));
    given(...account, leased(1, { untilMs: ms(END) })).decides(expire(due), expired(10));
  });

  test('but under a lease of after their end, as a busy account always has one, no request burns them', () => {
    const from = (at: number): AccountEvent =>
      leased(1, { untilMs: due + 1, requestsFrom: new Date(at).toISOString() });
    given(...account, from(ms(END) - 1)).decides(expire(due));
    given(...account, from(ms(END))).decides(expire(due), expired(10));
    given(...account, leased(1, { untilMs: due + 1, requestsFrom: null })).decides(expire(due));
  });

  test('more than once, or where they are used up', () => {
    const used = given(...account).decided(record(usageOf(1, 4)));
    given(...account, ...used).decides(expire(due), expired(6));
    given(...account, ...used, expired(6)).decides(expire(due));
    given(...account, ...given(...account).decided(record(usageOf(1, 10)))).decides(expire(due));
  });
});

describe('credits that were written down as expired', () => {
  /** Ten were granted, four spent, six destroyed by a clock that was 40 days ahead. */
  const spent = given(opened, granted('soon', 10, { expiresAt: END }), granted('other', 5)).decided(
    record(usageOf(1, 4)),
  );
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
    given(...destroyed).decides(reinstate(), reinstated(6));
    const account = openAccount([...destroyed, reinstated(6)]);
    expect(account.balance).toBe(11n);
    expect(usableCredits(account.grants, NOW)).toBe(11n);
    expect(usableCredits(account.grants, ms(END))).toBe(5n);
    given(...destroyed, reinstated(6)).decides(expire(ms(END) + LATE_MS), expired(6));
  });

  test('come back in part, and never more than had expired', () => {
    given(...destroyed).decides(reinstate({ amount: usd(2) }), reinstated(2));
    const half = given(...destroyed, reinstated(2));
    half.decides(reinstate(), reinstated(4));
    half.refuses(
      reinstate({ amount: usd(5) }),
      'invalid_amount',
      /^amount: of grant soon only 0\.000004 USD have expired, not 0\.000005$/,
    );
    half.refuses(reinstate({ amount: usd(0) }), 'invalid_amount');
    given(...destroyed, reinstated(6)).refuses(reinstate(), 'nothing_expired');
  });

  test('are not of a grant that is over and not written down yet: it says when that is, and what can be done', () => {
    const over = given(opened, granted('soon', 2_500_000, { expiresAt: END }), granted('other', 5));
    for (const nowMs of [ms(END), ms(END) + LATE_MS])
      over.refuses(
        reinstate({ nowMs }),
        'not_written_off',
        new RegExp(
          `^grant soon is over since ${END}: its 2\\.500000 USD cannot be spent, and are written down as expired at ` +
            `${new Date(ms(END) + LATE_MS).toISOString()} at the earliest;.*gateway credits grant \\S+ --usd 2\\.50 `,
        ),
      );
    over.refuses(reinstate({ nowMs: ms(END) - 1 }), 'nothing_expired');
  });

  test('are of a grant that there is, and that has expired', () => {
    given(...destroyed).refuses(reinstate({ grantId: grantId('none') }), 'grant_not_found', /no grant none/);
    given(...destroyed).refuses(reinstate({ grantId: grantId('other') }), 'nothing_expired');
  });

  test('of a grant whose end has passed come back with a later end only, and the grant burns in its new place', () => {
    const late = { nowMs: ms(END) };
    given(...destroyed).refuses(reinstate(late), 'invalid_period', /has ended at 2026-12-01/);
    given(...destroyed).refuses(reinstate({ expiresAtMs: ms(END) - 1 }), 'invalid_period', /has until 2026-12-01/);
    const later = '2027-03-01T00:00:00.000Z';
    given(...destroyed, granted('middle', 3, { expiresAt: '2027-02-01T00:00:00.000Z' })).decides(
      reinstate({ ...late, expiresAtMs: ms(later) }),
      reinstated(6, later),
    );
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
    const debt = given(...destroyed).decided(record(usageOf(2, 8)));
    expect(debitIn(debt)).toMatchObject({ amount: 8n, uncovered: 3n });
    const account = openAccount([...destroyed, ...debt, reinstated(6)]);
    expect(account).toMatchObject({ uncovered: 0n, balance: 3n });
    expect(usableCredits(account.grants, NOW)).toBe(3n);
    // What filled the debt is not left to be reinstated or to expire again.
    given(...destroyed, ...debt, reinstated(6)).decides(expire(ms(END) + LATE_MS), expired(3));
  });

  test('of which more is given back than had expired are a broken stream', () => {
    expect(() => fold([...destroyed, reinstated(7)])).toThrow(/not 7|would hold/);
    expect(() => fold([...destroyed, granted('x', 9), reinstated(6), reinstated(1)])).toThrow(/have expired, not 1/);
  });
});
