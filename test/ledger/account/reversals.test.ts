import { describe, expect, test } from 'vitest';
import type { AccountEvent } from '../../../contracts/events.ts';
import { grantId } from '../../../contracts/ids.ts';
import { LIMITS } from '../../../contracts/limits.ts';
import type { CommandOf, MoneyOfRequest } from '../../../ledger/account/commands.ts';
import { fold, given } from '../../fixtures/ledger/decider-specification.ts';
import {
  granted,
  lifeWith,
  ms,
  openAccount,
  opened,
  requestOf,
  usageOf,
  usd,
} from '../../fixtures/ledger/example-account.ts';

const END = '2026-12-01T00:00:00.000Z';
const NOW = ms('2026-11-20T10:00:00.000Z');
const SAID = { reason: 'an operator says so', actor: 'ada' };

const debitsIn = (life: readonly AccountEvent[], number = 1): MoneyOfRequest[] =>
  life.flatMap((event) =>
    (event.type === 'CreditsDebited' || event.type === 'ExceptionApproved' || event.type === 'DebitReversed') &&
    event.data.requestId === requestOf(number)
      ? [event]
      : [],
  );
const reverse = (
  life: readonly AccountEvent[],
  change: Partial<CommandOf<'ReverseDebit'>> = {},
  number = 1,
): CommandOf<'ReverseDebit'> => ({
  ...{ type: 'ReverseDebit', reversalId: 'x1', requestId: requestOf(number), amount: null },
  ...{ debits: debitsIn(life, number), ...SAID, nowMs: NOW },
  ...change,
});
const adjust = (change: Partial<CommandOf<'AdjustBalance'>> = {}): CommandOf<'AdjustBalance'> => ({
  ...{ type: 'AdjustBalance', adjustmentId: grantId('a1'), direction: 'down', amount: usd(5), ...SAID, nowMs: NOW },
  ...change,
});
const reversed = (life: readonly AccountEvent[], change: Partial<CommandOf<'ReverseDebit'>> = {}, number = 1) =>
  given(...life).decided(reverse(life, change, number));
const backIn = (events: readonly AccountEvent[]) =>
  events.flatMap((event) =>
    event.type === 'DebitReversed'
      ? [[event.data.owedLess, ...event.data.reinstated.map(({ grantId, amount }) => `${grantId} ${amount}`)]]
      : [],
  );

/** Seven of a, three of b, and two that nothing covers. */
const TWO = [opened, granted('a', 7, { priority: 1 }), granted('b', 3)];
const spent = lifeWith(TWO, usageOf(1, 12));

describe('a debit that is reversed', () => {
  test('goes back to where it was taken from, and out of the month of its request', () => {
    const [event] = reversed(spent);
    expect(event).toMatchObject({
      type: 'DebitReversed',
      data: {
        ...{ amount: 12n, uncovered: 2n, owedLess: 2n, balanceAfter: 10n, month: '2026-11', ...SAID },
        ...{ monthToDateAfter: 0n, keyMonthToDateAfter: 0n, model: 'opal-medium', lane: 'standard' },
      },
    });
    const [before, after] = [openAccount(TWO), openAccount([...spent, ...reversed(spent)])];
    expect([after.grants, after.uncovered, after.balance]).toEqual([before.grants, before.uncovered, before.balance]);
    expect(after.carry).toBe(openAccount(spent).carry);
  });

  test('in parts goes back from its end on: what was not covered, then its grants from the last', () => {
    let life: AccountEvent[] = spent;
    for (const [id, amount, back] of [
      ['x1', 1, [1n]],
      ['x2', 2, [1n, 'b 1']],
      ['x3', 4, [0n, 'b 2', 'a 2']],
      ['x4', null, [0n, 'a 5']],
    ] as const) {
      const events = reversed(life, { reversalId: id, amount: amount === null ? null : usd(amount) });
      expect(backIn(events), id).toEqual([back]);
      life = [...life, ...events];
    }
    given(...life).refuses(reverse(life, { reversalId: 'x5' }), 'invalid_amount', /^amount: 0\.000000 USD of request/);
    given(...life).decides(reverse(life, { reversalId: 'x3', amount: usd(4) }));
    given(...life).refuses(reverse(life, { reversalId: 'x3', amount: usd(5) }), 'id_reused', /an id of its own$/);
  });

  test('once under its id, and no more than it was', () => {
    const life = [...spent, ...reversed(spent)];
    given(...life).decides(reverse(life));
    given(...life).decides(reverse(spent));
    given(...spent).refuses(reverse(spent, { amount: usd(13) }), 'invalid_amount', /0\.000012 USD of request/);
    given(...spent).refuses(reverse(spent, { amount: usd(0) }), 'invalid_amount');
    given(...spent).refuses(reverse(spent, { debits: [] }), 'debit_not_found');
  });

  test('is told to be tried again where its request has changed since it was read', () => {
    const life = [...spent, ...reversed(spent, { amount: usd(1) })];
    given(...life).refuses(reverse(spent, { reversalId: 'x2' }), 'account_changed', /try again$/);
    given(...life).refuses(reverse(life, { reversalId: 'x2', requestId: requestOf(2) }), 'account_changed');
    const capped = lifeWith(TWO, usageOf(1, 10, { hold: usd(4) }));
    const ending = { requestId: requestOf(1), ...SAID };
    const approved = [...capped, ...given(...capped).decided({ type: 'ApproveException', ...ending })];
    given(...approved).refuses(reverse(capped), 'account_changed');
  });

  test('with what was approved of its request later: that first, also where the debit itself was reversed before it', () => {
    const capped = lifeWith(TWO, usageOf(1, 10, { hold: usd(8) }));
    const approve = { type: 'ApproveException', requestId: requestOf(1), ...SAID } as const;
    const approved = [...capped, ...given(...capped).decided(approve)];
    expect(backIn(reversed(approved))).toEqual([[0n, 'b 2', 'b 1', 'a 7']]);
    const early = [...capped, ...reversed(capped)];
    // The approval has taken of what was free again.
    const late = [...early, ...given(...early).decided(approve)];
    expect(backIn(reversed(late, { reversalId: 'x2' }))).toEqual([[0n, 'a 2']]);
  });

  test('gives what others have filled meanwhile to the grants that burn last, and a share that has no place any more, too', () => {
    // What request 1 owed was filled by c; request 2 has spent the rest of c.
    const life = lifeWith([...spent, granted('c', 10, { priority: 200 })], usageOf(2, 8));
    const first = [...life, ...reversed(life, { amount: usd(2) })];
    expect(backIn(first)).toEqual([[0n, 'c 2']]);
    // Of c only six can come back now, with what is reversed of request 2.
    const second = reversed(first, { reversalId: 'x2' }, 2);
    expect(backIn(second)).toEqual([[0n, 'c 8']]);
    const filled = lifeWith([...TWO, granted('c', 2, { priority: 200 })], usageOf(1, 12));
    const owing = lifeWith(filled, usageOf(2, 3));
    const later = [...owing, granted('d', 3, { priority: 50 })];
    const ofTwo = [...later, ...reversed(later, {}, 2)];
    // Three that d had filled have gone to c (two) and b (one): request 1 finds those places taken.
    expect(backIn(ofTwo)).toEqual([[0n, 'c 2', 'b 1']]);
    expect(backIn(reversed(ofTwo, { reversalId: 'x2' }))).toEqual([[0n, 'b 2', 'a 7', 'd 3']]);
    expect(openAccount([...ofTwo, ...reversed(ofTwo, { reversalId: 'x2' })])).toMatchObject({ balance: 15n });
  });

  test('comes back to a grant that has expired for thirty days from then on', () => {
    const ending = lifeWith([opened, granted('a', 10, { expiresAt: END })], usageOf(1, 4));
    const lateMs = LIMITS.expiryLateMs;
    const expire = { type: 'ExpireCredits', lateMs, nowMs: ms(END) + lateMs } as const;
    const expired = [...ending, ...given(...ending).decided(expire)];
    const nowMs = ms(END) + lateMs;
    for (const life of [ending, expired]) {
      const events = reversed(life, { nowMs });
      const account = openAccount([...life, ...events]);
      expect(account.grants).toMatchObject([{ remaining: 4n, expired: 6n, expiresAtMs: nowMs + 30 * 86_400_000 }]);
      expect([account.balance, events.length]).toEqual([4n, life === ending ? 2 : 1]);
    }
    given(...ending).refuses(reverse(ending, { nowMs: ms(END) }), 'not_written_off');
  });

  test('of a request that says more than the month has spent, or its key, is a broken stream', () => {
    const twice = [...spent, ...reversed(spent), ...reversed(spent)];
    expect(() => fold(twice)).toThrow(/^an amount would be -12, less than nothing$/);
  });
});

describe('an adjustment', () => {
  test('downwards takes from what can be spent, in burn order; what begins later pays the rest, or it is owed', () => {
    const life = [
      ...TWO,
      granted('over', 9, { expiresAt: '2026-11-10T00:00:00.000Z' }),
      granted('z', 9, { effectiveAt: END }),
    ];
    expect(given(...life).decided(adjust({ amount: usd(12) }))).toMatchObject([
      {
        type: 'BalanceAdjusted',
        data: {
          ...{ direction: 'down', uncovered: 2n, balanceAfter: 16n, ...SAID },
          shares: [
            { grantId: 'a', amount: 7n },
            { grantId: 'b', amount: 3n },
          ],
          setOff: [{ grantId: 'z', amount: 2n }],
        },
      },
    ]);
    expect(openAccount([...life, ...given(...life).decided(adjust({ amount: usd(12) }))])).toMatchObject({
      ...{ uncovered: 0n, balance: 16n },
    });
    expect(given(...TWO).decided(adjust({ amount: usd(12) }))).toMatchObject([{ data: { uncovered: 2n, setOff: [] } }]);
  });

  test('upwards is a grant that nobody paid for and that never ends, and fills first what is owed', () => {
    const events = given(...spent).decided(adjust({ direction: 'up' }));
    expect(events).toMatchObject([{ data: { shares: [], uncovered: 0n, balanceAfter: 3n } }]);
    const account = openAccount([...spent, ...events]);
    expect(account).toMatchObject({ balance: 3n, uncovered: 0n });
    expect(account.grants.find((one) => one.grantId === 'a1')).toMatchObject({
      ...{ source: 'adjustment', amount: 5n, remaining: 3n, costBasis: 0n, expiresAtMs: null, effectiveAtMs: NOW },
    });
    // What it gave is taken back as any grant is, or by another adjustment.
    given(...spent, ...events).refuses(adjust({ direction: 'up', amount: usd(1) }), 'id_reused');
    given(...spent, ...events).decides(adjust({ direction: 'up' }));
    given(...spent, ...events).refuses(adjust(), 'id_reused');
  });
});
