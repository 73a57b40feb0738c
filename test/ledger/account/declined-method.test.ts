import { describe, expect, it } from 'vitest';
import { attemptId, grantId, paymentId } from '../../../contracts/ids.ts';
import type { AccountCommand, CommandOf } from '../../../ledger/account/commands.ts';
import { methodFor } from '../../../ledger/account/method-for.ts';
import { attemptOf } from '../../../ledger/account/payments.ts';
import { given } from '../../fixtures/ledger/decider-specification.ts';
import { granted, ms, usd } from '../../fixtures/ledger/example-account.ts';
import { AT, asks, DAY, END, Life, life, online, onStarter } from './plan-life.ts';

const instant = (atMs: number): string => new Date(atMs).toISOString();
const save = (paymentMethodId: string): AccountCommand => ({
  ...{ type: 'SavePaymentMethod', provider: 'stripe', customerId: 'c', paymentMethodId, brand: 'visa', last4: '4242' },
  ...{ consentedAtMs: ms(END), by: 'owner@example.com' },
});
const charged = (at: number, plan = 'starter'): AccountCommand => ({
  ...(asks(plan, instant(at)) as CommandOf<'ChangePlan'>),
  provider: 'stripe',
});
const MID = ms(AT) + 10 * DAY;
const HOUR = DAY / 24;
const dearer = (at: number): AccountCommand => charged(at, 'team');
const reload = (consentedAtMs: number | null, cap = 50_000_000): CommandOf<'ConfigureAutoReload'> => ({
  ...{ type: 'ConfigureAutoReload', threshold: usd(5_000_000), target: usd(20_000_000), by: 'owner@example.com' },
  ...{ monthlyCap: usd(cap), consentedAtMs },
});
function methodNow(one: Life): string | undefined {
  const attempt = attemptOf(one.state.billing.payments, one.claims.at(-1)?.attemptId ?? '');
  return attempt === undefined ? undefined : methodFor(one.state, attempt)?.paymentMethodId;
}

describe('a plan', () => {
  it('is charged to a saved method no more by who asks for it once that was declined for good, or too often in 30 days', () => {
    const lost = life()
      .does(save('pm_lost'), charged(ms(END)))
      .declined(ms(END), true);
    given(...lost.events).refuses(
      charged(ms(END) + 1),
      'payment_method_declined',
      /visa ending in 4242, was declined, .*save another one/,
    );
    const anew = new Life(...lost.events).does({ type: 'EndPlan', reason: 'x', by: 'x', nowMs: ms(END) + 2 });
    given(...anew.events).refuses(charged(ms(END) + 3, 'team'), 'payment_method_declined', /save another/);
    // What an operator is told of, and another method, is none of it.
    expect(new Life(...anew.events).does(asks('team', instant(ms(END) + 3))).claims.length).toBe(2);
    expect(anew.does(save('pm_new'), charged(ms(END) + 3, 'team')).claims.length).toBe(2);
    const often = life().does(save('pm'));
    for (let time = 0; time < 15; time++) often.does(charged(ms(END) + time)).declined(ms(END) + time);
    given(...often.events).refuses(
      charged(ms(END) + 15),
      'payment_method_declined',
      /was declined 15 times in 30 days/,
    );
    expect([often.claims.length, often.faults]).toEqual([15, []]);
    // A month later it may be again.
    const later = often.does({ type: 'EndPlan', reason: 'x', by: 'x', nowMs: ms(END) + 16 });
    const month = ms(END) + 30 * DAY;
    given(...later.events).refuses(charged(month - 1), 'payment_method_declined', /15 times/);
    expect(later.does(charged(month)).claims.length).toBe(16);
    expect(later.faults).toEqual([]);
  });

  it('that begins by itself is charged once to a method that was declined for good, and no more until another is saved', () => {
    const one = onStarter()
      .does(save('pm_lost'), dearer(MID))
      .declined(MID, true)
      .does(online(ms(END)));
    expect([one.claims.length, methodNow(one)]).toEqual([3, 'pm_lost']);
    one.declined(ms(END), true);
    for (let days = 1; days < 7; days++) one.does(online(ms(END) + days * DAY));
    expect(one.claims.length).toBe(3);
    const anew = new Life(...one.events).does(save('pm_new'), online(ms(END) + 6 * DAY));
    expect([anew.claims.length, methodNow(anew), anew.faults]).toEqual([4, 'pm_new', []]);
    one.does(online(ms(END) + 7 * DAY));
    expect([one.claims.length, one.events.at(-1)?.type, one.faults]).toEqual([3, 'PlanEnded', []]);
  });

  it('is charged again to a method that has paid for what was begun since it was declined for good', () => {
    const one = onStarter().does(save('pm'), dearer(MID)).declined(MID, true);
    given(...one.events).refuses(dearer(MID + 1), 'payment_method_declined', /and would be again/);
    one.does(online(ms(END))).pays(END);
    const dayAfter = ms(END) + DAY;
    one.does(dearer(dayAfter));
    expect([one.claims.at(-1), methodNow(one)]).toMatchObject([{ kind: 'upgrade', plan: 'team' }, 'pm']);
    one.declined(dayAfter, true);
    given(...one.events).refuses(dearer(dayAfter + 1), 'payment_method_declined', /and would be again/);
    expect(one.faults).toEqual([]);
  });

  it('is tried again by itself no more after the fifteenth decline of a card in 30 days', () => {
    for (const [asked, again] of [
      [13, true],
      [14, false],
    ] as const) {
      const one = onStarter().does(save('pm'));
      for (let time = 0; time < asked; time++) one.does(dearer(MID + time)).declined(MID + time);
      one.does(online(ms(END))).declined(ms(END));
      const nextAttemptAt = again ? instant(ms(END) + DAY) : null;
      expect([one.events.at(-1), one.faults]).toMatchObject([{ type: 'PaymentFailed', data: { nextAttemptAt } }, []]);
    }
  });

  it('is charged to a method that was replaced while it, or the other one, was declined for good: which of them is not known', () => {
    const one = life()
      .does(save('pm_good'), charged(ms(END)), save('pm_lost'))
      .declined(ms(END), true);
    one.does(save('pm_good'), charged(ms(END) + 1));
    expect([one.claims.length, methodNow(one), one.faults]).toEqual([2, 'pm_good', []]);
  });

  it.each([
    ['that card saved again', save('pm_1')],
    ['no card saved', { type: 'RemovePaymentMethod', by: 'owner@example.com', nowMs: ms(END) + 1 }],
    ['the account suspended', { type: 'SuspendAccount', reason: 'x' }],
  ] as const)('that was declined while its card was replaced ends past its grace with %s', (_what, since) => {
    const one = onStarter()
      .does(save('pm_1'), online(ms(END)), save('pm_2'))
      .declined(ms(END))
      .does(since, online(ms(END) + 8 * DAY));
    expect([one.events.at(-1), one.faults]).toMatchObject([{ type: 'PlanEnded', data: { reason: 'unpaid' } }, []]);
    // Otherwise the other one is tried.
    const other = onStarter()
      .does(save('pm_1'), online(ms(END)), save('pm_2'))
      .declined(ms(END));
    expect(other.does(online(ms(END) + 8 * DAY)).claims.length).toBe(3);
  });

  it('is charged no more than 15 times in 30 days to a method that is declined each time, also where cards are saved in turns while one is charged', () => {
    const one = life();
    for (let time = 0; time < 30; time++) {
      const [own, other] = time % 2 === 0 ? ['pm_1', 'pm_2'] : ['pm_2', 'pm_1'];
      one.does(save(own), charged(ms(END) + time), save(other)).declined(ms(END) + time);
    }
    for (const id of ['pm_1', 'pm_2']) {
      const saved = new Life(...one.events).does(save(id));
      given(...saved.events).refuses(charged(ms(END) + 30), 'payment_method_declined', /declined 15 times in 30 days/);
    }
    expect([one.claims.length, one.faults]).toEqual([30, []]);
  });

  it.each([
    ['', []],
    [', also where an operator of before has granted under its id', [granted('payment_pi_r1', 1)]],
  ])(
    'is charged again to a method that has paid since it was declined for good, whenever that was begun%s',
    (_what, byHand) => {
      const id = attemptId('r1');
      const { events } = onStarter().does(
        save('pm'),
        { ...reload(MID - 1), threshold: usd(30_000_000), target: usd(40_000_000) },
        { type: 'StartAutoReload', provider: 'stripe', nowMs: MID - 1, attemptId: id },
      );
      const one = new Life(...events, ...byHand).does(dearer(MID)).declined(MID, true);
      given(...one.events).refuses(dearer(MID + 2), 'payment_method_declined', /and would be again/);
      const price = attemptOf(one.state.billing.payments, id)?.price ?? usd(0);
      const paid = { paymentId: paymentId('pi_r1'), amount: price, paidAtMs: MID + 1, nowMs: MID + 1 };
      one.does({ type: 'RecordPayment', attemptId: id, provider: 'stripe', ...paid }, dearer(MID + 2));
      expect([one.claims.at(-1)?.kind, methodNow(one), one.faults]).toEqual(['upgrade', 'pm', []]);
    },
  );

  it('is charged again, or not, by when a payment was made, whenever that is told', () => {
    const id = attemptId('r1');
    const one = onStarter().does(
      save('pm'),
      { ...reload(MID - 2 * HOUR), threshold: usd(30_000_000), target: usd(40_000_000) },
      { type: 'StartAutoReload', provider: 'stripe', nowMs: MID - 2 * HOUR, attemptId: id },
      dearer(MID),
    );
    one.declined(MID, true);
    const amount = attemptOf(one.state.billing.payments, id)?.price ?? usd(0);
    const told = (madeMs: number, nowMs: number): Life => {
      const paid = { paymentId: paymentId('pi_r1'), amount, paidAtMs: madeMs, nowMs };
      return new Life(...one.events).does({ type: 'RecordPayment', attemptId: id, provider: 'stripe', ...paid });
    };
    const before = told(MID - HOUR, MID + HOUR);
    given(...before.events).refuses(dearer(MID + 2 * HOUR), 'payment_method_declined', /and would be again/);
    const since = told(MID + HOUR, MID + DAY).does(dearer(MID + DAY));
    expect([since.claims.at(-1)?.kind, methodNow(since), before.faults, since.faults]).toEqual([
      'upgrade',
      'pm',
      [],
      [],
    ]);
  });
});

describe('auto-reload', () => {
  const begin = (at: number) => ({ type: 'StartAutoReload', provider: 'stripe', nowMs: at }) as const;

  it('is not configured anew with a saved method that was declined for good: it is turned off, or another is saved', () => {
    const id = attemptId('r1');
    const one = life().does(save('pm_lost'), reload(ms(END)), { ...begin(ms(END)), attemptId: id });
    one.does({ type: 'RecordPaymentFailure', attemptId: id, code: 'lost_card', isTerminal: true, nowMs: ms(END) });
    given(...one.events).refuses(reload(ms(END) + 1), 'payment_method_declined', /was declined, .*save another one/);
    const [off, anew] = [new Life(...one.events), new Life(...one.events)];
    expect(off.does(reload(null)).events.at(-1)?.type).toBe('AutoReloadConfigured');
    anew.does(save('pm_new'), reload(ms(END) + 1), { ...begin(ms(END) + 1), attemptId: attemptId('r2') });
    expect([anew.events.at(-1)?.type, off.faults, anew.faults]).toEqual(['AutoReloadStarted', [], []]);
  });

  it('takes other terms with a method that was declined for good, is paused under them, and goes on with another method', () => {
    const [first, second] = [attemptId('r1'), attemptId('r2')];
    const failed = { attemptId: first, code: 'lost_card', isTerminal: true, nowMs: ms(END) };
    const one = life().does(save('pm_lost'), reload(ms(END)), { ...begin(ms(END)), attemptId: first });
    one.does({ type: 'RecordPaymentFailure', ...failed }).does(reload(ms(END) + 1, 30_000_000));
    const paused = (reason: string, at: number) => ({ type: 'AutoReloadPaused', data: { reason, at: instant(at) } });
    expect(one.events.slice(-2)).toMatchObject([
      { type: 'AutoReloadConfigured', data: { monthlyCap: 30_000_000n } },
      paused('lost_card', ms(END) + 1),
    ]);
    one.does({ ...begin(ms(END) + 2), attemptId: second });
    expect(one.events.at(-1)).toMatchObject({ type: 'AutoReloadSkipped', data: { reason: 'paused' } });
    given(...one.events).refuses(reload(ms(END) + 3, 30_000_000), 'payment_method_declined', /save another one/);
    const off = new Life(...one.events).does(reload(null, 20_000_000));
    given(...off.events).refuses(reload(ms(END) + 3, 30_000_000), 'payment_method_declined', /save another one/);
    one.does(save('pm_new'), { ...begin(ms(END) + 4), attemptId: second });
    expect([one.events.at(-1)?.type, one.faults, off.faults]).toEqual(['AutoReloadStarted', [], []]);
    // A plan’s decline has not paused it: other terms do, as it would be declined, too.
    const plan = life()
      .does(save('pm_lost'), reload(ms(END)), charged(ms(END)))
      .declined(ms(END), true)
      .does(reload(ms(END) + 1, 30_000_000));
    expect(plan.events.at(-1)).toMatchObject(paused('payment_method_declined', ms(END) + 1));
    expect(plan.faults).toEqual([]);
  });

  /** Each day three declines, and what they were for is paid then, and spent. */
  const days = (count: number, first = ms(END)): Life => {
    const one = life().does(save('pm'), reload(first, 900_000_000));
    for (let day = 0; day < count; day++) {
      const at = first + day * DAY;
      for (const hours of [0, 1, 3, 7]) {
        const id = attemptId(`r${day}_${hours}`);
        one.does({ ...begin(at + hours * HOUR), attemptId: id });
        if (one.events.at(-1)?.type !== 'AutoReloadStarted') return one;
        if (hours < 7) {
          one.does({ ...FAILED, attemptId: id, nowMs: at + hours * HOUR });
          continue;
        }
        const [nowMs, payment] = [at + hours * HOUR, paymentId(`pi_${id}`)];
        const amount = attemptOf(one.state.billing.payments, id)?.price ?? usd(0);
        const paid = { provider: 'stripe', paymentId: payment, amount, paidAtMs: nowMs, nowMs };
        const grant = grantId(`payment_${payment}`);
        one.does(
          { type: 'RecordPayment', attemptId: id, ...paid },
          { ...SPENT, revocationId: id, grantId: grant, nowMs },
        );
      }
    }
    return one;
  };
  const FAILED = { type: 'RecordPaymentFailure', code: 'insufficient_funds', isTerminal: false } as const;
  const SPENT = {
    type: 'RevokeGrant',
    amount: null,
    cause: 'administration',
    paymentId: null,
    reason: 'as if it were spent',
    actor: 'operator',
  } as const;
  const failures = ({ events }: Life) => events.flatMap(({ type, data }) => (type === 'PaymentFailed' ? [data] : []));

  it('is paused by the fifteenth decline of a card in 30 days, though what was declined is paid each time', () => {
    const one = days(30);
    expect(failures(one).length).toBe(15);
    expect(failures(one).at(-1)).toMatchObject({ nextAttemptAt: null });
    expect(one.events.slice(-2)).toMatchObject([
      { type: 'AutoReloadPaused', data: { reason: 'insufficient_funds' } },
      { type: 'AutoReloadSkipped', data: { reason: 'paused' } },
    ]);
    expect(one.faults).toEqual([]);
    const now = ms(END) + 5 * DAY;
    given(...one.events).refuses(reload(now, 900_000_000), 'payment_method_declined', /declined 15 times in 30 days/);
    one.does(save('pm_new'), { ...begin(now), attemptId: attemptId('anew') });
    expect([one.events.at(-1)?.type, one.faults]).toEqual(['AutoReloadStarted', []]);
  });

  it('is charged once more to a card that was declined fifteen times, as a renewal is, and then neither: seventeen in 30 days', () => {
    const low = { ...reload(MID - 1, 900_000_000), threshold: usd(30_000_000), target: usd(40_000_000) };
    const one = onStarter().does(save('pm'), low);
    for (let time = 0; time < 15; time++) one.does(dearer(MID + time)).declined(MID + time);
    given(...one.events).refuses(dearer(MID + 15), 'payment_method_declined', /15 times in 30 days/);
    let attempts = one.claims.length;
    for (let at = MID + HOUR; at < MID + 30 * DAY; at += 12 * HOUR) {
      const id = attemptId(`r${at}`);
      one.does({ ...begin(at), attemptId: id });
      if (one.events.at(-1)?.type === 'AutoReloadStarted') one.does({ ...FAILED, attemptId: id, nowMs: at });
      one.does(online(at));
      if (one.claims.length > attempts) one.declined(at);
      attempts = one.claims.length;
    }
    expect([failures(one).length, one.state.billing.plan, one.state.billing.payments.reload?.paused]).toEqual([
      ...[17, null, 'insufficient_funds'],
    ]);
    expect(one.faults).toEqual([]);
  });

  it('is audited as programs of before have gone on, and not where it was paused before the fifteenth', () => {
    const one = days(5);
    const at = one.events.findLastIndex(({ type }) => type === 'PaymentFailed');
    const last = one.events[at];
    if (last?.type !== 'PaymentFailed') throw new Error('nothing is declined');
    const goesOn = {
      ...last,
      data: { ...last.data, nextAttemptAt: instant(Date.parse(last.data.failedAt) + 4 * HOUR) },
    };
    expect(new Life(...one.events.slice(0, at), goesOn).faults).toEqual([]);
    const early = days(4);
    const before = early.events.findLastIndex(({ type }) => type === 'PaymentFailed');
    const failed = early.events[before];
    if (failed?.type !== 'PaymentFailed') throw new Error('nothing is declined');
    const never = { ...failed, data: { ...failed.data, nextAttemptAt: null } };
    expect(new Life(...early.events.slice(0, before), never).faults).toContainEqual(
      expect.stringMatching(/when another may be begun/),
    );
  });
});
