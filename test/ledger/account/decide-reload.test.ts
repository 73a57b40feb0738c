import { describe, expect, test } from 'vitest';
import type { AccountEvent } from '../../../contracts/events.ts';
import { attemptId, paymentId } from '../../../contracts/ids.ts';
import type { AccountCommand, CommandOf } from '../../../ledger/account/commands.ts';
import { decide } from '../../../ledger/account/decide.ts';
import { isReloading } from '../../../ledger/account/decide-reload.ts';
import { methodFor } from '../../../ledger/account/method-for.ts';
import { attemptOf } from '../../../ledger/account/payments.ts';
import { given } from '../../fixtures/ledger/decider-specification.ts';
import {
  granted,
  keyIssued,
  lifeWith,
  ms,
  OPENED_AT,
  openAccount,
  opened,
  usageOf,
  usd,
} from '../../fixtures/ledger/example-account.ts';
import { catalogOf, STARTER, subscribed } from '../../fixtures/ledger/example-plan-events.ts';
import { faultsOf } from '../audit/account-faults.ts';

const NOW = ms('2026-11-20T10:00:00.000Z');
const HOUR = 3_600_000;
const at = (nowMs: number): string => new Date(nowMs).toISOString();
const configure = (change: Partial<CommandOf<'ConfigureAutoReload'>> = {}): AccountCommand => ({
  ...{ type: 'ConfigureAutoReload', threshold: usd(5_000_000), target: usd(20_000_000), monthlyCap: usd(50_000_000) },
  ...{ consentedAtMs: NOW, by: 'owner@example.com', ...change },
});
const save = (id: string): AccountCommand => ({
  ...{ type: 'SavePaymentMethod', provider: 'stripe', customerId: 'cus_1', paymentMethodId: id, brand: 'visa' },
  ...{ last4: '4242', consentedAtMs: ms(OPENED_AT), by: 'owner@example.com' },
});
const reload = (id: string, nowMs = NOW, provider = 'stripe'): AccountCommand => ({
  ...{ type: 'StartAutoReload', attemptId: attemptId(id), provider, nowMs },
});
const pay = (id: string, amount: number): AccountCommand => ({
  ...{ type: 'RecordPayment', attemptId: attemptId(id), provider: 'stripe', paymentId: paymentId(`pi_${id}`) },
  ...{ amount: usd(amount), paidAtMs: NOW, nowMs: NOW },
});
const fail = (id: string, nowMs = NOW, isTerminal = false): AccountCommand => ({
  ...{ type: 'RecordPaymentFailure', attemptId: attemptId(id), code: 'card_declined', isTerminal, nowMs },
});
const giveUp = (id: string, nowMs: number, by: { readonly endedBy?: 'operator' } = {}): AccountCommand => ({
  ...{ type: 'AbandonPayment', attemptId: attemptId(id), reason: 'declined by hand', nowMs, ...by },
});
const skipped = (reason: string, nowMs = NOW) =>
  ({ type: 'AutoReloadSkipped', data: { reason, at: at(nowMs) } }) as AccountEvent;
function lived(life: readonly AccountEvent[], ...commands: readonly AccountCommand[]): AccountEvent[] {
  const events = [...life];
  for (const command of commands) events.push(...given(...events).decided(command));
  return events;
}
/** Level with the threshold, ready to reload. */
const low = lived([opened, keyIssued(), granted('g', 5_000_000)], configure(), save('pm_1'));
const started = (life: readonly AccountEvent[], id: string, nowMs = NOW) => {
  const [event, ...more] = given(...life).decided(reload(id, nowMs));
  expect(more).toEqual([]);
  return event?.type === 'AutoReloadStarted' ? event.data : event;
};

const methodOf = (life: readonly AccountEvent[], id: string) => {
  const state = openAccount(life);
  const attempt = attemptOf(state.billing.payments, id);
  if (attempt === undefined) throw new Error(`${id} was not begun`);
  return methodFor(state, attempt);
};

/** Attempts that were given up at once: when each was begun, and from when on another may be. */
const GIVEN_UP = [
  ['r1', 0, HOUR],
  ['r2', HOUR, 3 * HOUR],
  ['r3', 3 * HOUR, 7 * HOUR],
] as const;

describe('auto-reload', () => {
  test('is decided without a look at each attempt that there ever was', () => {
    const state = openAccount(low);
    const attempts = () => {
      throw new Error('all are looked at');
    };
    const payments = Object.defineProperty({ ...state.billing.payments }, 'attempts', { get: attempts });
    const unlooked = { ...state, billing: { ...state.billing, payments } };
    expect(decide(reload('r1'), unlooked)).toMatchObject([{ type: 'AutoReloadStarted' }]);
    expect(isReloading(unlooked, NOW)).toBe(true);
  });

  test('buys what brings the account to its target at once, where the level is at the threshold or below', () => {
    expect(started(low, 'r1')).toMatchObject({
      amount: 15_000_000n,
      price: 15_000_000n,
      balance: 5_000_000n,
      pending: 0n,
      monthTotal: 0n,
    });
    const above = lived([opened, granted('g', 5_000_001)], configure(), save('pm_1'));
    given(...above).decides(reload('r1'));
    const owing = lifeWith(lived([opened, keyIssued()], configure(), save('pm_1')), usageOf(1, 7));
    expect(started(owing, 'r1')).toMatchObject({ amount: 20_010_000n, balance: 0n });
    given(opened).decides(reload('r1'));
  });

  test('has one attempt open at a time, whose credits are counted', () => {
    const open = lived(low, reload('r1'));
    given(...open).decides(reload('r2'));
    const drained = lifeWith(open, usageOf(1, 25_000_000));
    const told = lived(drained, reload('r2'));
    expect(told.at(-1)).toEqual(skipped('pending'));
    given(...told).decides(reload('r3'));
    const settled = lived(told, pay('r1', 15_000_000));
    expect(openAccount(settled).balance).toBe(-5_000_000n);
    expect(started(settled, 'r4')).toMatchObject({ amount: 25_000_000n, monthTotal: 15_000_000n });
    expect(faultsOf(lived(settled, reload('r4')))).toEqual([]);
  });

  test('never goes over the cap of its month, with what is open, and begins anew with the next', () => {
    const capped = lifeWith(
      lived(low, configure({ monthlyCap: usd(20_000_000) }), reload('r1'), pay('r1', 15_000_000)),
      usageOf(1, 18_000_000),
    );
    given(...capped).decides(reload('r2'), skipped('cap'));
    const december = ms('2026-12-01T00:00:00.000Z');
    expect(started(capped, 'r2', december)).toMatchObject({ monthTotal: 0n });
  });

  test('waits 1, 2 and 4 hours after declines, and is paused by the fourth, until it is configured or has another card', () => {
    let life = low;
    let nowMs = NOW;
    for (const [index, hours] of [1, 2, 4].entries()) {
      life = lived(life, reload(`r${index}`, nowMs), fail(`r${index}`, nowMs));
      expect(life.at(-1)).toMatchObject({ type: 'PaymentFailed', data: { nextAttemptAt: at(nowMs + hours * HOUR) } });
      given(...life).decides(reload('x', nowMs + hours * HOUR - 1), skipped('backoff', nowMs + hours * HOUR - 1));
      nowMs += hours * HOUR;
    }
    life = lived(life, reload('r3', nowMs), fail('r3', nowMs));
    expect(life.slice(-2)).toMatchObject([{ data: { nextAttemptAt: null } }, { type: 'AutoReloadPaused' }]);
    given(...life).decides(reload('x', nowMs + 100 * HOUR), skipped('paused', nowMs + 100 * HOUR));
    for (const lift of [configure(), save('pm_2')])
      expect(started(lived(life, lift), 'y', nowMs)).toHaveProperty('amount');
    given(...lived(life, save('pm_1'))).decides(reload('x', nowMs), skipped('paused', nowMs));
  });

  test('is neither paused nor waits by a decline of the card that was replaced meanwhile: the one that is saved is charged at once', () => {
    for (const isTerminal of [true, false]) {
      let life = low;
      for (const [id, agoMs] of [...GIVEN_UP, ['r4', 7 * HOUR]] as const) {
        life = lived(life, reload(id, NOW + agoMs), save(`pm_after_${id}`), fail(id, NOW + agoMs, isTerminal));
        expect(life.at(-1)).toMatchObject({ type: 'PaymentFailed', data: { nextAttemptAt: at(NOW + agoMs) } });
        expect(openAccount(life).billing.payments.reload).toMatchObject({ declines: 0, paused: null });
      }
      const begun = lived(life, reload('r5', NOW + 7 * HOUR));
      expect(begun.at(-1)).toMatchObject({ type: 'AutoReloadStarted', data: { attemptId: 'r5' } });
      expect(faultsOf(begun)).toEqual([]);
      const declined = lived(begun, fail('r5', NOW + 7 * HOUR));
      expect(declined.at(-1)).toMatchObject({ data: { nextAttemptAt: at(NOW + 8 * HOUR) } });
      expect(faultsOf(declined)).toEqual([]);
    }
    // Programs of before took it for one of the card that is saved.
    const told = lived(low, reload('r1'), save('pm_2'), fail('r1'));
    const never = { ...told.at(-1), data: { ...told.at(-1)?.data, nextAttemptAt: at(NOW + HOUR) } } as AccountEvent;
    expect(faultsOf([...told.slice(0, -1), never])).toEqual([]);
    // Of the card that is saved still nobody may say so.
    const [failed] = given(...lived(low, reload('r1'))).decided(fail('r1'));
    const atOnce = { ...failed, data: { ...failed?.data, nextAttemptAt: at(NOW) } } as AccountEvent;
    expect(faultsOf([...lived(low, reload('r1')), atOnce])).toContainEqual(
      expect.stringMatching(/r1: when another may/),
    );
  });

  test.each([
    ['manual', {}],
    ['stripe', { endedBy: 'operator' }],
  ] as const)(
    'waits as long where nothing was charged and the attempt was given up, and is paused by the fourth time an operator says so: %s',
    (taker, by) => {
      let life = low;
      for (const [id, agoMs, next] of GIVEN_UP) {
        life = lived(life, reload(id, NOW + agoMs, taker), giveUp(id, NOW + agoMs, by));
        given(...life).decides(reload('early', NOW + next - 1), skipped('backoff', NOW + next - 1));
      }
      const begun = given(...low).decided(reload('early', NOW));
      expect(faultsOf([...lived(low, reload('r1'), giveUp('r1', NOW)), ...begun])).toEqual([
        'early: begun, and none may be: backoff',
      ]);
      life = lived(life, reload('r4', NOW + 7 * HOUR, taker));
      const [, paused] = given(...life).decided(giveUp('r4', NOW + 7 * HOUR, by));
      expect(paused).toEqual({ type: 'AutoReloadPaused', data: { reason: 'given_up', at: at(NOW + 7 * HOUR) } });
      life = lived(life, giveUp('r4', NOW + 7 * HOUR, by));
      given(...life).decides(reload('r5', NOW + 99 * HOUR), skipped('paused', NOW + 99 * HOUR));
      expect(faultsOf(life)).toEqual([]);
      expect(faultsOf(life.slice(0, -1))).toContainEqual(
        expect.stringMatching(/r4: given up once more, and auto-reload is/),
      );
    },
  );

  test('is paused by nobody where its provider is away, or refuses, however often: it waits four hours then, as by the books of before', () => {
    let life = low;
    for (const [id, agoMs] of [...GIVEN_UP, ['r4', 7 * HOUR], ['r5', 11 * HOUR]] as const) {
      life = lived(life, reload(id, NOW + agoMs));
      given(...life).decides(giveUp(id, NOW + agoMs), {
        type: 'PaymentAbandoned',
        data: { attemptId: attemptId(id), reason: 'declined by hand', at: at(NOW + agoMs), endedBy: null },
      });
      life = lived(life, giveUp(id, NOW + agoMs));
    }
    given(...life).decides(reload('early', NOW + 15 * HOUR - 1), skipped('backoff', NOW + 15 * HOUR - 1));
    expect(started(life, 'r6', NOW + 15 * HOUR)).toHaveProperty('amount');
    expect(faultsOf(lived(life, reload('r6', NOW + 15 * HOUR)))).toEqual([]);
    const early = given(...lived(low, reload('x', NOW))).decided(giveUp('x', NOW));
    const begun = given(...low).decided(reload('early', NOW + 1));
    expect(faultsOf([...lived(low, reload('x', NOW)), ...early, ...begun])).toEqual([
      'early: begun, and none may be: backoff',
    ]);
    // Programs of before have paused it.
    const paused: AccountEvent = { type: 'AutoReloadPaused', data: { reason: 'given_up', at: at(NOW + 11 * HOUR) } };
    expect(faultsOf([...life, paused])).toEqual([]);
  });

  test('is paused by the fourth decline, not by one behind three that nobody has answered: they make it wait longer alone', () => {
    let life = low;
    for (const [id, agoMs] of GIVEN_UP) life = lived(life, reload(id, NOW + agoMs), giveUp(id, NOW + agoMs));
    for (const [id, hours] of [
      ['r4', 7],
      ['r5', 11],
      ['r6', 15],
    ] as const) {
      const nowMs = NOW + hours * HOUR;
      life = lived(life, reload(id, nowMs));
      const [failed, ...more] = given(...life).decided(fail(id, nowMs));
      expect([failed?.data, more]).toMatchObject([{ nextAttemptAt: at(nowMs + 4 * HOUR) }, []]);
      // Programs of before took it for the fourth.
      const never = { ...failed, data: { ...failed?.data, nextAttemptAt: null } } as AccountEvent;
      const paused: AccountEvent = { type: 'AutoReloadPaused', data: { reason: 'card_declined', at: at(nowMs) } };
      expect(faultsOf([...life, never, paused])).toEqual([]);
      life = lived(life, fail(id, nowMs));
    }
    const givenUpNow = lived(life, reload('r7', NOW + 19 * HOUR), giveUp('r7', NOW + 19 * HOUR));
    expect(givenUpNow.at(-1)?.type).toBe('PaymentAbandoned');
    life = lived(givenUpNow, reload('r8', NOW + 23 * HOUR), fail('r8', NOW + 23 * HOUR));
    const [failed, paused] = life.slice(-2);
    expect([failed, paused?.type]).toMatchObject([{ data: { nextAttemptAt: null } }, 'AutoReloadPaused']);
    expect(faultsOf(life)).toEqual([]);
    const goesOn = { ...failed, data: { ...failed?.data, nextAttemptAt: at(NOW + 27 * HOUR) } } as AccountEvent;
    expect(faultsOf([...life.slice(0, -2), goesOn])).toContainEqual(expect.stringMatching(/r8: when another may be/));
    expect(faultsOf(life.slice(0, -1))).toContainEqual(
      expect.stringMatching(/r8: failed for good, and auto-reload is/),
    );
  });

  test('is ended as a purchase by nobody', () => {
    const end: AccountCommand = { type: 'EndPurchase', attemptId: attemptId('r1'), reason: 'x', nowMs: NOW };
    given(...lived(low, reload('r1'))).refuses(end, 'attempt_not_found', /^r1 is no purchase \(reload\): it ends with/);
    given(...low).refuses(end, 'attempt_not_found', /has no payment attempt r1/);
  });

  test('is, once other terms are consented to, of those alone: an attempt of before is not charged, nor counted', () => {
    const lower = configure({ target: usd(10_000_000), monthlyCap: usd(10_000_000), consentedAtMs: NOW + HOUR });
    const before = lived(low, reload('r1'), lower);
    expect(openAccount(before).billing.payments.method).not.toBeNull();
    expect(methodOf(before, 'r1')).toBeNull();
    expect(methodOf(lived(low, reload('r1')), 'r1')).not.toBeNull();
    const givenUp = lived(before, giveUp('r1', NOW + HOUR), reload('r2', NOW + HOUR));
    expect(givenUp.at(-1)).toMatchObject({ type: 'AutoReloadStarted', data: { attemptId: 'r2', price: 5_000_000n } });
    expect(faultsOf(givenUp)).toEqual([]);
    // By a clock that is behind that of whoever has consented.
    const early = lived(low, lower, reload('r2', NOW + HOUR - 1));
    expect(early.at(-1)).toEqual(skipped('disabled', NOW + HOUR - 1));
    expect(faultsOf(early)).toEqual([]);
  });

  test('is paused where what it has bought goes back, once: it would be bought again and again', () => {
    const bought = lived(low, reload('r1'), pay('r1', 15_000_000));
    const SAID = { paymentId: paymentId('pi_r1'), actor: 'payments', nowMs: NOW };
    const of = { ...SAID, amount: usd(15_000_000) };
    const refund: AccountCommand = { type: 'RecordRefund', refundId: 're_1', refundedAtMs: NOW, ...of };
    const dispute: AccountCommand = { type: 'RecordDispute', disputeId: 'dp_1', openedAtMs: NOW, ...of };
    for (const [command, reason] of [
      [refund, 'refunded'],
      [dispute, 'disputed'],
    ] as const) {
      const back = lived(bought, command);
      expect(back.at(-1)).toEqual({ type: 'AutoReloadPaused', data: { reason, at: at(NOW) } });
      expect(faultsOf(back)).toEqual([]);
      expect(faultsOf(back.slice(0, -1))).toContainEqual(
        expect.stringMatching(/paid back, and auto-reload is not paused$/),
      );
      given(...back).decides(reload('r2'), skipped('paused'));
      // Nor is what was begun before charged, until the pause is lifted.
      const open = lived(lifeWith(bought, usageOf(1, 15_000_000)), reload('r2'));
      const lives = [open, lived(open, command), lived(open, command, save('pm_2'))];
      expect(lives.map((life) => methodOf(life, 'r2')?.paymentMethodId)).toEqual(['pm_1', undefined, 'pm_2']);
    }
    const both = lived(bought, refund, dispute);
    expect(both.filter(({ type }) => type === 'AutoReloadPaused').length).toBe(1);
    expect(faultsOf(both)).toEqual([]);
    // Where all of it had gone before there is nothing to revoke; of one that is off there is nothing to pause.
    const again = lived(bought, dispute, configure({ consentedAtMs: NOW + 1 }), refund);
    expect(again.slice(-2).map(({ type }) => type)).toEqual(['PaymentRefunded', 'AutoReloadPaused']);
    const off = lived(bought, configure({ consentedAtMs: null }), refund);
    expect([off.at(-1)?.type, faultsOf(again), faultsOf(off)]).toEqual(['GrantRevoked', [], []]);
  });

  test('is paused once: what is declined, or given up for the last time, while a refund has paused it pauses it no more', () => {
    const bought = lifeWith(lived(low, reload('r0'), pay('r0', 15_000_000)), usageOf(1, 15_000_000));
    const [said, amount] = [{ paymentId: paymentId('pi_r0'), actor: 'operator', nowMs: NOW }, usd(1_000_000)];
    const refund: AccountCommand = { type: 'RecordRefund', refundId: 're_1', amount, refundedAtMs: NOW, ...said };
    const declined = lived(bought, reload('r1'), refund, fail('r1', NOW, true));
    let waited = bought;
    for (const [id, agoMs] of GIVEN_UP)
      waited = lived(waited, reload(id, NOW + agoMs, 'manual'), giveUp(id, NOW + agoMs));
    const last = NOW + 7 * HOUR;
    const givenUp = lived(waited, reload('r4', last, 'manual'), refund, giveUp('r4', last));
    for (const [life, type, reason] of [
      [declined, 'PaymentFailed', 'card_declined'],
      [givenUp, 'PaymentAbandoned', 'given_up'],
    ] as const) {
      expect([life.at(-1)?.type, openAccount(life).billing.payments.reload?.paused]).toEqual([type, 'refunded']);
      expect(faultsOf(life)).toEqual([]);
      // Programs of before have paused it again, by that and nothing else.
      const again: AccountEvent = { type: 'AutoReloadPaused', data: { reason, at: at(NOW) } };
      expect(faultsOf([...life, again])).toEqual([]);
      expect(faultsOf([...life, again, again])).toContainEqual('auto-reload: paused, and is paused already');
    }
  });

  test('is paused at once by a decline that no other try can mend, and a success makes the next decline the first', () => {
    expect(lived(low, reload('r1'), fail('r1', NOW, true)).at(-1)).toMatchObject({ type: 'AutoReloadPaused' });
    const once = lifeWith(
      lived(low, reload('r1'), fail('r1'), reload('r2', NOW + HOUR), pay('r2', 15_000_000)),
      usageOf(1, 18_000_000),
    );
    const again = lived(once, reload('r3', NOW + HOUR), fail('r3', NOW + HOUR));
    expect(again.at(-1)).toMatchObject({ data: { nextAttemptAt: at(NOW + 2 * HOUR) } });
  });

  test('tells anew why there is none after one that had failed was paid late', () => {
    const told = lived(low, reload('r1'), fail('r1'), { type: 'SuspendAccount', reason: 'x' }, reload('r2'));
    const drained = lifeWith(lived(told, pay('r1', 15_000_000)), usageOf(1, 18_000_000));
    given(...drained).decides(reload('r3'), skipped('suspended'));
    expect(faultsOf([...drained, skipped('suspended')])).toEqual([]);
  });

  test('tells once why there is none: off, suspended, without a card', () => {
    const off = lived(low, configure({ consentedAtMs: null }));
    given(...off).decides(reload('r1'), skipped('disabled'));
    given(...lived(off, reload('r1'))).decides(reload('r1'));
    given(...lived(low, { type: 'SuspendAccount', reason: 'x' })).decides(reload('r1'), skipped('suspended'));
    given(...lived(low, { type: 'RemovePaymentMethod', by: 'x', nowMs: NOW })).decides(
      reload('r1'),
      skipped('no_payment_method'),
    );
  });

  test('leaves it to a plan whose next credits are due or asked for, and buys where none come', () => {
    const end = ms('2026-12-20T10:00:00.000Z');
    const ofPlan = { plan: 'starter', provider: 'stripe', catalog: catalogOf(STARTER), nowMs: end };
    const planned = lived(
      [opened, ...subscribed('starter', at(NOW), { provider: 'stripe' })],
      configure(),
      save('pm_1'),
    );
    given(...planned).decides(reload('r1', end - 1));
    const renewing = lived(planned, { type: 'StartRenewal', ...ofPlan });
    const renewal = renewing.findLast((event) => event.type === 'RenewalStarted')?.data.attemptId ?? '';
    for (const life of [planned, renewing]) {
      given(...life).decides(reload('r1', end), skipped('pending', end));
      expect(faultsOf([...life, skipped('pending', end)])).toEqual([]);
      expect(isReloading(openAccount(life), end)).toBe(true);
    }
    given(...lived(renewing, pay(renewal, 20_000_000))).decides(reload('r1', end));
    const asked = { ...ofPlan, reason: 'x', by: 'x', nowMs: NOW };
    const cancelled = lived(planned, { type: 'ChangePlan', ...asked, plan: 'none' });
    for (const life of [lived(renewing, fail(renewal, end)), cancelled]) {
      const begun = lived(life, reload('r1', end));
      expect(begun.at(-1)).toMatchObject({ type: 'AutoReloadStarted', data: { amount: 20_000_000n } });
      expect(faultsOf(begun)).toEqual([]);
      for (const other of [planned, renewing])
        expect(faultsOf([...other, ...begun.slice(-1)])).toEqual([expect.stringMatching(/none may be.*pending/)]);
    }
  });

  test('is configured with a target above its threshold and a cap that holds one reload; the same again is nothing', () => {
    given(opened).refuses(configure({ target: usd(5_000_000) }), 'invalid_amount', /^target: /);
    given(opened).refuses(configure({ monthlyCap: usd(14_999_999) }), 'invalid_amount', /^monthlyCap: /);
    given(...low).decides(configure());
    expect(faultsOf(low)).toEqual([]);
  });
});
