import { describe, expect, it } from 'vitest';
import type { AccountEvent, EventData } from '../../../contracts/events.ts';
import { attemptId, paymentId } from '../../../contracts/ids.ts';
import type { AccountCommand, CommandOf } from '../../../ledger/account/commands.ts';
import { attemptOf, openAttempts } from '../../../ledger/account/payments.ts';
import { unpaidPlan } from '../../../ledger/account/unpaid-plan.ts';
import { given } from '../../fixtures/ledger/decider-specification.ts';
import { ms, usd } from '../../fixtures/ledger/example-account.ts';
import { stripeAttempt } from '../../fixtures/stripe/stripe-example.ts';
import { faultsOf } from '../audit/account-faults.ts';
import { asks, DAY, END, type Life, online, onStarter } from './plan-life.ts';

const on = (days: number): number => ms(END) + days * DAY;
const at = (nowMs: number): string => new Date(nowMs).toISOString();
const BY = { by: 'owner@example.com' } as const;
const save = (paymentMethodId: string, consentedAtMs = ms(END)): AccountCommand => ({
  ...{ type: 'SavePaymentMethod', provider: 'stripe', customerId: 'c', paymentMethodId, brand: 'visa' },
  ...{ last4: '4242', consentedAtMs, ...BY },
});

/** The plan, once more, of which a period is to be paid. */
const asksAgain = (nowMs: number): AccountCommand =>
  ({ ...asks('starter', at(nowMs)), provider: 'stripe' }) as AccountCommand;

type Declined = Partial<CommandOf<'RecordPaymentFailure'>>;

/** What is open was declined: of a card that was saved once. */
function declines(one: Life, nowMs: number, of: Declined = { declinedMethodId: 'pm_once' }): Life {
  const [open] = openAttempts(one.state.billing.payments);
  if (open === undefined) throw new Error('nothing is open');
  return one.does({
    ...{ type: 'RecordPaymentFailure', attemptId: open.attemptId, code: 'lost_card', isTerminal: true, nowMs, ...of },
  });
}
/** The renewal of a plan, begun with a card, as often: each was declined with another, of before. */
function renewed(times: number, one = onStarter().does(save('pm_new'))): Life {
  for (let time = 0; time < times; time++) declines(one.does(online(on(0) + time)), on(0) + time);
  return one;
}
const failuresOf = ({ events }: Life): EventData<'PaymentFailed'>[] =>
  events.flatMap((event) => (event.type === 'PaymentFailed' ? [event.data] : []));
/** The last failure says something else. */
const saying = ({ events }: Life, change: object): AccountEvent[] => {
  const last = events.findLastIndex(({ type }) => type === 'PaymentFailed');
  return events.map((one, index) =>
    index === last ? ({ ...one, data: { ...one.data, ...change } } as AccountEvent) : one,
  );
};

describe('a renewal of which another card was declined than it was begun with', () => {
  it('is begun again at once, and blames the saved card for nothing', () => {
    const one = renewed(1);
    expect(failuresOf(one)).toMatchObject([
      { declinedMethodId: 'pm_once', failedAt: at(on(0)), nextAttemptAt: at(on(0)) },
    ]);
    expect(unpaidPlan(one.state, on(0))?.says).toMatch(/is not paid yet/);
    expect(one.does({ ...asks('starter', END), provider: 'stripe' } as AccountCommand).claims).toHaveLength(3);
    expect(one.faults).toEqual([]);
  });

  it('counts towards no end of the plan, also past its grace, and is none of the four declines', () => {
    const one = renewed(4).does(online(on(7)));
    expect(one.claims).toHaveLength(6);
    declines(one, on(7), { isTerminal: false });
    expect(failuresOf(one).at(-1)).toMatchObject({ nextAttemptAt: at(on(11)) });
    expect(one.does(online(on(12))).events.at(-1)).toMatchObject({ type: 'PlanEnded' });
    expect(one.faults).toEqual([]);
  });

  it('waits as any other where that card is the saved one by then, which is blamed', () => {
    const one = onStarter().does(save('pm_new'), online(on(0)), save('pm_once', on(0)));
    declines(one, on(0), { declinedMethodId: 'pm_once', isTerminal: false });
    expect(failuresOf(one)).toMatchObject([{ declinedMethodId: 'pm_once', nextAttemptAt: at(on(1)) }]);
    const { billing } = one.state;
    expect(attemptOf(billing.payments, one.claims.at(-1)?.attemptId ?? '')?.decline).toBe('this time');
    expect(billing.plan?.due?.declined).toBe('lost_card');
    expect(one.faults).toEqual([]);
  });

  it('is a decline of its own card where it names that', () => {
    const one = onStarter().does(save('pm_new'), online(on(0)));
    declines(one, on(0), { declinedMethodId: 'pm_new', isTerminal: false });
    expect(failuresOf(one)[0]).not.toHaveProperty('declinedMethodId');
    expect(failuresOf(one)).toMatchObject([{ nextAttemptAt: at(on(1)) }]);
  });

  it('is begun again at once eight times in a row, and then given up, in days each', () => {
    const one = renewed(8);
    expect(failuresOf(one)).toHaveLength(8);
    for (const days of [1, 5, 9, 13]) {
      if (days > 1) given(...one.events).decides(online(on(days) - 1));
      declines(one.does(online(on(days))), on(days));
      expect(one.events.at(-1)).toMatchObject({ type: 'PaymentAbandoned', data: { endedBy: null } });
    }
    // Four were given up, and its grace is over.
    expect(one.does(online(on(13))).events.at(-1)).toMatchObject({ type: 'PlanEnded' });
    expect(one.faults).toEqual([]);
  });

  it('is begun again at once eight times also behind eight that were declined with the card that they were begun with', () => {
    const one = onStarter().does(save('pm_before'));
    for (let time = 0; time < 8; time++)
      declines(one.does(asksAgain(on(0) + time)), on(0) + time, { isTerminal: false });
    one.does(save('pm_new', on(1)));
    for (let time = 0; time < 8; time++) declines(one.does(online(on(1) + time)), on(1) + time);
    expect(failuresOf(one)).toHaveLength(16);
    declines(one.does(online(on(2))), on(2));
    expect(one.events.at(-1)).toMatchObject({ type: 'PaymentAbandoned', data: { endedBy: null } });
    expect(one.faults).toEqual([]);
  });

  it('counts none of the eight that was given up between them', () => {
    const one = renewed(7)
      .does(online(on(0) + 7))
      .givenUp(on(0) + 7);
    declines(one.does(online(on(9))), on(9));
    expect(failuresOf(one)).toHaveLength(8);
    declines(one.does(online(on(9) + 1)), on(9) + 1);
    expect(failuresOf(one)).toHaveLength(8);
    expect(one.faults).toEqual([]);
  });

  it('begins its row anew with the next period', () => {
    const one = renewed(8);
    declines(one.does(online(on(31))), on(31));
    expect(one.claims.map(({ periodStart }) => periodStart).slice(-2)).toEqual([END, at(on(31))]);
    expect(failuresOf(one)).toHaveLength(9);
    expect(one.faults).toEqual([]);
  });

  it('begins its row anew behind what the saved card has said', () => {
    const one = renewed(7);
    declines(one.does(online(on(0) + 7)), on(0) + 7, { isTerminal: false });
    for (const hours of [0, 1]) declines(one.does(online(on(5) + hours)), on(5) + hours);
    expect(failuresOf(one)).toHaveLength(10);
    expect(one.faults).toEqual([]);
  });
});

describe('an auto-reload of which another card was declined than it was begun with', () => {
  const reload = (one: Life, nowMs: number): Life =>
    one.does({ type: 'StartAutoReload', attemptId: attemptId(`reload_${nowMs}`), provider: 'stripe', nowMs });
  const reloading = (): Life =>
    onStarter().does(save('pm_new'), {
      ...{ type: 'ConfigureAutoReload', threshold: usd(90_000_000), target: usd(99_000_000) },
      ...{ monthlyCap: usd(900_000_000), consentedAtMs: ms(END) - 1_000, ...BY },
    });

  it('is begun again at once eight times in a row, and neither waits nor pauses by that', () => {
    const one = reloading();
    const from = ms(END) - 1_000;
    for (let time = 0; time < 9; time++) declines(reload(one, from + time), from + time);
    expect(failuresOf(one)).toHaveLength(8);
    expect(one.events.at(-1)).toMatchObject({ type: 'PaymentAbandoned' });
    expect(one.state.billing.payments.reload).toMatchObject({ declines: 0, unanswered: 1, paused: null });
    reload(one, from + 9);
    expect(one.events.at(-1)).toMatchObject({ type: 'AutoReloadSkipped', data: { reason: 'backoff' } });
    expect(one.faults).toEqual([]);
  });

  it('begins its row anew behind one that was paid', () => {
    const one = reloading();
    const from = ms(END) - 1_000;
    for (let time = 0; time < 7; time++) declines(reload(one, from + time), from + time);
    const [open] = openAttempts(reload(one, from + 7).state.billing.payments);
    const { attemptId: id, price: amount } = open ?? stripeAttempt();
    const paid = { paymentId: paymentId('pi_reload'), amount, paidAtMs: from + 7, nowMs: from + 7 };
    one.does({ type: 'RecordPayment', attemptId: id, provider: 'stripe', ...paid });
    one.does({
      ...{ type: 'ConfigureAutoReload', threshold: usd(190_000_000), target: usd(199_000_000) },
      ...{ monthlyCap: usd(900_000_000), consentedAtMs: from + 8, ...BY },
    });
    for (let time = 9; time < 17; time++) declines(reload(one, from + time), from + time);
    expect(failuresOf(one)).toHaveLength(15);
    declines(reload(one, from + 17), from + 17);
    expect(failuresOf(one)).toHaveLength(15);
    expect(one.faults).toEqual([]);
  });

  it('pauses where it is the fifteenth decline of that card, which is saved again by then', () => {
    const from = ms(END) - 10 * DAY;
    const atMs = (time: number): number => from + time * 6 * 3_600_000;
    const one = onStarter().does({
      ...{ type: 'ConfigureAutoReload', threshold: usd(90_000_000), target: usd(99_000_000) },
      ...{ monthlyCap: usd(900_000_000), consentedAtMs: from - 1_000, ...BY },
    });
    for (let time = 0; time < 14; time++) {
      if (time % 3 === 0) one.does(save('pm_new', atMs(time) - 2), save('pm_once', atMs(time) - 1));
      declines(reload(one, atMs(time)), atMs(time), { isTerminal: false });
    }
    expect(failuresOf(one).filter(({ nextAttemptAt }) => nextAttemptAt === null)).toEqual([]);
    reload(one.does(save('pm_new', atMs(14) - 2)), atMs(14) - 1).does(save('pm_once', atMs(14)));
    declines(one, atMs(14), { declinedMethodId: 'pm_once', isTerminal: false });
    expect(failuresOf(one).at(-1)).toMatchObject({ declinedMethodId: 'pm_once', nextAttemptAt: null });
    expect(one.events.at(-1)).toMatchObject({ type: 'AutoReloadPaused' });
    expect(one.faults).toEqual([]);
  });
});

it.each([
  ['waits', { nextAttemptAt: at(on(1)) }, /^renewal_.*: when another may be begun is .*, should be /],
  ['waits for ever', { nextAttemptAt: null }, /^renewal_.*: when another may be begun is never, should be /],
  ['is of its own', { declinedMethodId: 'pm_new' }, /^renewal_.*: is said to be of another method/],
])('the auditor tells of one that %s', (_, change, fault) => {
  expect(faultsOf(saying(renewed(2), change))).toContainEqual(expect.stringMatching(fault));
});

it('the auditor tells of none that is told once nothing is saved any more, which waits as any other', () => {
  const one = renewed(8).does(online(on(1)), { type: 'RemovePaymentMethod', ...BY, nowMs: on(1) });
  declines(one, on(1), { declinedMethodId: 'pm_once', isTerminal: false });
  expect(failuresOf(one)).toHaveLength(9);
  expect(failuresOf(one).at(-1)).toMatchObject({ nextAttemptAt: null });
  expect(one.faults).toEqual([]);
});

it('the auditor tells of the ninth in a row', () => {
  const one = renewed(8).does(online(on(1)));
  const { attemptId: id = '' } = one.claims.at(-1) ?? {};
  const [failed] = failuresOf(one);
  if (failed === undefined) throw new Error('none has failed');
  const ninth = { ...failed, attemptId: attemptId(id), failedAt: at(on(1)), nextAttemptAt: at(on(1)) };
  expect(faultsOf([...one.events, { type: 'PaymentFailed', data: ninth }])).toContainEqual(
    `${id}: declined of another method than it was begun with is 9 times, should be 8`,
  );
});
