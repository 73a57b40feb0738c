import { describe, expect, test } from 'vitest';
import type { AccountEvent } from '../../../contracts/events.ts';
import { grantId } from '../../../contracts/ids.ts';
import { LIMITS } from '../../../contracts/limits.ts';
import type { AccountCommand } from '../../../ledger/account/commands.ts';
import { usableCredits } from '../../../ledger/account/grants.ts';
import { given } from '../../fixtures/ledger/decider-specification.ts';
import {
  granted,
  keyIssued,
  lifeWith,
  ms,
  openAccount,
  opened,
  usageOf,
  usd,
} from '../../fixtures/ledger/example-account.ts';
import {
  adjust,
  END,
  grant,
  LATER,
  lived,
  NOW,
  restore,
  reverse,
  revoke,
  spent,
} from '../../fixtures/ledger/owed-and-back.ts';
import { faultsOf } from '../audit/account-faults.ts';

/** What is owed, and credits that the account has, gets or gets back: there are never both. */

/** What is owed, the balance, and what of which grant is left; nothing in it is amiss. */
function stands(life: readonly AccountEvent[]): unknown[] {
  expect(faultsOf(life)).toEqual([]);
  const { uncovered, balance, grants } = openAccount(life);
  return [uncovered, balance, grants.flatMap((one) => (one.remaining > 0n ? [[one.grantId, one.remaining]] : []))];
}

describe('what a revocation makes owed', () => {
  test('is paid at once by the account’s other credits in burn order, those that begin later last, and only the rest is owed', () => {
    const others = lived(
      spent,
      grant('late', 1, { effectiveAtMs: ms(LATER) }),
      grant('forever', 2),
      grant('ends', 3, { expiresAtMs: ms(END) }),
      grant('over', 4, { effectiveAtMs: NOW - 9, expiresAtMs: NOW }),
    );
    const revoked = given(...others).decided(revoke('a', 10));
    expect(revoked).toMatchObject([
      {
        data: {
          ...{ amount: 10n, taken: 3n, uncovered: 7n, balanceAfter: 3n },
          setOff: [
            { grantId: 'ends', amount: 3n },
            { grantId: 'forever', amount: 2n },
            { grantId: 'late', amount: 1n },
          ],
        },
      },
    ]);
    expect(stands([...others, ...revoked])).toEqual([1n, 3n, [['over', 4n]]]);
    expect(usableCredits(openAccount(others).grants, NOW)).toBe(8n);
  });

  test('comes to the same whether the credits are there before it or after', () => {
    const ends = { expiresAtMs: ms(END) };
    const [before, behind] = [
      lived(spent, revoke('a', 10), grant('plan', 9, ends)),
      lived(spent, grant('plan', 9, ends), revoke('a', 10)),
    ];
    expect(stands(before)).toEqual([0n, 2n, [['plan', 2n]]]);
    expect(stands(behind)).toEqual(stands(before));
  });

  test('comes back to those who paid it, the last of them first, and to their grants', () => {
    const before = lived(spent, grant('b', 2), grant('c', 9));
    const revoked = lived(before, revoke('a', 10));
    expect(stands(revoked)).toEqual([0n, 4n, [['c', 4n]]]);
    expect(stands(lived(revoked, restore('a', 6)))).toEqual([
      0n,
      10n,
      [
        ['b', 1n],
        ['c', 9n],
      ],
    ]);
    expect(openAccount(lived(revoked, restore('a'))).grants).toEqual(openAccount(before).grants);
    expect(stands(lived(revoked, restore('a', 6), restore('a', 4)))).toEqual(stands(before));
  });

  test('comes back to who paid it though others burn later, and had as much spent of them', () => {
    const before = lived(spent, grant('plan', 9, { expiresAtMs: ms(END) }));
    const revoked = lived(before, revoke('a', 10));
    expect(stands(revoked)).toEqual([0n, 2n, [['plan', 2n]]]);
    expect(openAccount(lived(revoked, restore('a'))).grants).toEqual(openAccount(before).grants);
    expect(stands(lived(revoked, restore('a')))).toEqual(stands(before));
  });

  test('is paid as far as one event can name who does, and the rest by the next credits', () => {
    const name = 'g'.repeat(100);
    const others = Array.from({ length: 3_000 }, (_, number) => granted(`${name}${number}`, 1));
    const life = lifeWith([opened, keyIssued(), granted('a', 2_900)], usageOf(1, 2_900));
    const revoked = lived([...life, ...others], revoke('a', 2_900));
    const named = Buffer.byteLength(
      JSON.stringify(revoked.at(-1)?.data, (_, of) => (typeof of === 'bigint' ? `${of}` : of)),
    );
    expect(named).toBeLessThan(LIMITS.debitGrantsBytesMax + 1_000);
    const { uncovered, grants, balance } = openAccount(revoked);
    expect([uncovered > 0n, balance]).toEqual([true, 100n]);
    expect(usableCredits(grants, NOW)).toBe(uncovered + 100n);
    expect(openAccount(lived(revoked, grant('more', 2_900)))).toMatchObject({ uncovered: 0n, balance: 3_000n });
  });
});

describe('what comes back', () => {
  test('pays whatever is owed before anything of it can be spent', () => {
    const owed = lived(spent, revoke('a', 10));
    expect(stands(owed)).toEqual([7n, -7n, []]);
    expect(given(...owed).decided(reverse(owed, 1))).toMatchObject([
      { data: { amount: 7n, uncovered: 0n, owedLess: 7n, setOff: [{ grantId: 'a', amount: 7n }], reinstated: [] } },
    ]);
    expect(stands(lived(owed, reverse(owed, 1)))).toEqual([0n, 0n, []]);
    const restored = lived(owed, reverse(owed, 1), restore('a'));
    expect(stands(restored)).toEqual([0n, 10n, [['a', 10n]]]);
  });

  test('pays with what was taken first, and the rest is in its grants', () => {
    const two = lifeWith(
      [opened, keyIssued(), granted('a', 4), granted('b', 9, { priority: 101 }), granted('c', 5, { priority: 102 })],
      usageOf(1, 11),
      usageOf(2, 4),
    );
    const owed = lived(two, revoke('c', 5));
    expect(stands(owed)).toEqual([2n, -2n, []]);
    expect(given(...owed).decided(reverse(owed, 1))).toMatchObject([
      {
        data: {
          ...{ amount: 11n, owedLess: 2n, setOff: [{ grantId: 'a', amount: 2n }] },
          reinstated: [
            { grantId: 'b', amount: 7n },
            { grantId: 'a', amount: 2n },
          ],
        },
      },
    ]);
  });

  test('of a revocation that is undone pays, too', () => {
    const owed = lived(spent, revoke('a', 3, { cause: 'fraud' }), adjust(5));
    expect(stands(owed)).toEqual([5n, -5n, []]);
    expect(given(...owed).decided(restore('a'))).toMatchObject([
      { data: { amount: 3n, uncovered: 0n, owedLess: 3n, setOff: [{ grantId: 'a', amount: 3n }], reinstated: [] } },
    ]);
    expect(stands(lived(owed, restore('a')))).toEqual([2n, -2n, []]);
    expect(stands(lived(owed, adjust(1, 'up'), restore('a'), adjust(4, 'up')))).toEqual([0n, 3n, [['up 4', 3n]]]);
  });

  test('of what had expired and was refunded, reinstated, is not revoked once more', () => {
    const late = { nowMs: ms(END) + LIMITS.expiryLateMs };
    const over = lived(
      [opened, granted('a', 10, { expiresAt: END })],
      { type: 'ExpireCredits', lateMs: LIMITS.expiryLateMs, ...late },
      revoke('a', 10, late),
      grant('b', 10),
      {
        ...{ type: 'ReinstateCredits', grantId: grantId('a'), amount: null, expiresAtMs: late.nowMs + 1_000 },
        ...{ lateMs: LIMITS.expiryLateMs, reason: 'x', actor: 'operator', ...late },
      },
    );
    expect(openAccount(over)).toMatchObject({ uncovered: 0n, balance: 10n });
    for (const amount of [null, usd(1)])
      given(...over).refuses(revoke('a', 1, { cause: 'fraud', revocationId: 'f', amount, ...late }), 'invalid_amount');
  });

  test('what is over again is written down before anything is reinstated, and neither lies beside what is owed', () => {
    const lateMs = LIMITS.expiryLateMs;
    const [first, again] = [ms(END) + lateMs, ms(END) + lateMs + 100_000_000];
    const life = lived(
      [opened, granted('a', 10, { expiresAt: END })],
      { type: 'ExpireCredits', lateMs, nowMs: first },
      ...[{ grantId: grantId('a'), amount: usd(6), expiresAtMs: first + 1_000, lateMs, nowMs: first }].map(
        (given): AccountCommand => ({ type: 'ReinstateCredits', reason: 'x', actor: 'operator', ...given }),
      ),
    );
    const reinstate = (amount: number | null, nowMs: number): AccountCommand => ({
      ...{ type: 'ReinstateCredits', grantId: grantId('a'), amount: amount === null ? null : usd(amount) },
      ...{ expiresAtMs: again + 1_000, lateMs, reason: 'x', actor: 'operator', nowMs },
    });
    const owed = lived(life, { ...adjust(5), nowMs: again } as AccountCommand);
    expect(openAccount(owed)).toMatchObject({ uncovered: 5n, grants: [{ remaining: 6n, expired: 4n }] });
    expect(given(...owed).decided(reinstate(2, again))).toMatchObject([
      { type: 'CreditsExpired', data: { grantId: 'a', amount: 6n } },
      { type: 'CreditsReinstated', data: { amount: 2n } },
    ]);
    expect(openAccount(lived(owed, reinstate(2, again)))).toMatchObject({ uncovered: 3n, grants: [{ remaining: 0n }] });
    expect(openAccount(lived(owed, reinstate(null, again)))).toMatchObject({ uncovered: 0n, balance: 5n });
    given(...owed).refuses(reinstate(11, again), 'invalid_amount');
    given(...life).refuses(reinstate(2, first + 2_000), 'not_written_off');
  });

  test('does not come back to what was revoked, and no more of a grant is revoked than it gave', () => {
    const filled = lived(spent, revoke('a', 5), grant('b', 2));
    const back = lived(filled, reverse(filled, 1));
    expect(stands(back)).toEqual([
      0n,
      7n,
      [
        ['a', 5n],
        ['b', 2n],
      ],
    ]);
    given(...back).refuses(revoke('a', 6, { cause: 'fraud', revocationId: 'f' }), 'invalid_amount');
    const gone = lived(back, revoke('a', 5, { cause: 'fraud', revocationId: 'f', amount: null }));
    expect(stands(gone)).toEqual([0n, 2n, [['b', 2n]]]);
    given(...gone).refuses(revoke('a', 1, { revocationId: 're' }), 'invalid_amount');
  });
});
