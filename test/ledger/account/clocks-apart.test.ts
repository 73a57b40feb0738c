import { describe, expect, it } from 'vitest';
import type { AccountEvent } from '../../../contracts/events.ts';
import { attemptId, paymentId } from '../../../contracts/ids.ts';
import { isGivenUp, unansweredUntil } from '../../../ledger/account/after-decline.ts';
import type { AccountCommand } from '../../../ledger/account/commands.ts';
import { openAttempts } from '../../../ledger/account/payments.ts';
import { isBegunForAnother } from '../../../ledger/account/plans.ts';
import { wasInForce, wasPaidInTime } from '../../../ledger/account/unpaid-plan.ts';
import { ms, usd } from '../../fixtures/ledger/example-account.ts';
import { faultsOf } from '../audit/account-faults.ts';
import { AT, asks, catalog, DAY, END, type Life, life, looks, online } from './plan-life.ts';

const T = ms(END);
/** By how much the clock of the second writer is behind that of the first. */
const SKEWS = [0, 6_000];
const iso = (atMs: number): string => new Date(atMs).toISOString();
const onTeam = (): Life => life().does(asks('team')).pays(AT);
/** Whoever asks pays online. */
const ask = (plan: string, nowMs: number): AccountCommand => ({
  ...{ type: 'ChangePlan', plan, provider: 'stripe', catalog, reason: 'as asked for', by: 'owner@example.com', nowMs },
});
const save = (paymentMethodId: string, consentedAtMs: number): AccountCommand => ({
  ...{ type: 'SavePaymentMethod', provider: 'stripe', customerId: 'c', paymentMethodId, brand: 'visa' },
  ...{ last4: '4242', consentedAtMs, by: 'owner@example.com' },
});
const planOfNewest = ({ claims }: Life): unknown => [claims.length, claims.at(-1)?.plan];

describe.each(SKEWS)('a renewal that is asked for again after a decline, by a clock that is %i ms behind', (skew) => {
  it('for the same plan, and is answered by nobody, is begun again by itself within its grace', () => {
    const one = onTeam()
      .does(online(T + 10_000))
      .declined(T + 10_500)
      .does(ask('team', T + 13_000 - skew))
      .givenUp(T + 2 * DAY);
    expect(planOfNewest(one)).toEqual([3, 'team']);
    // The wait after the second of its period.
    expect(unansweredUntil(one.state.billing)).toBe(T + 13_000 - skew + 2 * DAY);
    expect(isGivenUp(one.state.billing)).toBe(false);
    one.does(online(T + 3 * DAY));
    expect(planOfNewest(one)).toEqual([4, 'team']);
    expect(one.faults).toEqual([]);
  });

  it('for another plan, and is declined for good, is not charged once more by itself', () => {
    const one = onTeam()
      .does(online(T + 10_000))
      .declined(T + 10_500)
      .does(ask('starter', T + 13_000 - skew));
    expect(isBegunForAnother(one.state.billing)).toBe(false);
    one.declined(T + 14_000, true).does(online(T + 60_000), online(T + 61_000));
    expect(planOfNewest(one)).toEqual([3, 'starter']);
    expect(one.faults).toEqual([]);
  });

  it('behind a period that went by unpaid, with other plans tried, has no grace by that, either', () => {
    const one = onTeam()
      .does(online(T + 10_000))
      .declined(T + 10_500)
      .does(ask('starter', T + 20_000))
      .givenUp(T + 20_500);
    const next = ms('2027-01-30T10:00:00.000Z');
    one.does(ask('team', next + 10_000)).givenUp(next + 10_500);
    const graceUntil = iso(next + 10_000);
    expect(one.claims.at(-1)).toMatchObject({ periodStart: iso(next), graceUntil });
    one.does(ask('starter', next + 13_000 - skew)).givenUp(next + 13_500);
    expect(one.claims.at(-1)).toMatchObject({ plan: 'starter', graceUntil });
    one.does(ask('team', next + 14_000)).givenUp(next + 14_500);
    expect(one.claims.at(-1)).toMatchObject({ plan: 'team', graceUntil });
    one.does(ask('team', next + 15_000)).givenUp(next + 15_500);
    // The fourth that nobody has answered, whichever plan each was of.
    expect(isGivenUp(one.state.billing)).toBe(true);
    one.does(online(next + 16_000));
    expect(one.events.at(-1)).toMatchObject({ type: 'PlanEnded', data: { reason: 'unpaid' } });
    expect(one.faults).toEqual([]);
  });

  it('in turns with another plan, has its grace from its own first attempt on', () => {
    const one = onTeam()
      .does(online(T + 10_000))
      .declined(T + 10_500)
      .does(ask('starter', T + 11_000))
      .declined(T + 11_500)
      .does(ask('team', T + 13_000 - skew));
    expect(one.claims.at(-1)).toMatchObject({ plan: 'team', graceUntil: one.claims[1]?.graceUntil });
    expect(one.faults).toEqual([]);
  });

  it('is one of eight in a row of which another card was declined, or ends that row', () => {
    const one = onTeam().does(save('pm_new', T - DAY));
    const declines = (atMs: number, of: { readonly declinedMethodId?: string }): void => {
      const [open] = openAttempts(one.state.billing.payments);
      if (open === undefined) throw new Error('nothing is open');
      const said = { code: 'lost_card', isTerminal: false, nowMs: atMs, ...of };
      one.does({ type: 'RecordPaymentFailure', attemptId: open.attemptId, ...said });
    };
    one.does(online(T + 10_000));
    declines(T + 10_000, {});
    for (let time = 1; time <= 8; time++) {
      one.does(ask('team', T + 13_000 + time - skew));
      declines(T + 13_000 + time, { declinedMethodId: 'pm_once' });
      expect(one.events.at(-1)?.type).toBe('PaymentFailed');
    }
    one.does(ask('team', T + 14_000 - skew));
    const ninth = one.events.findLast(({ type }) => type === 'PaymentFailed');
    const { attemptId: id } = one.claims.at(-1) ?? {};
    expect(
      faultsOf([...one.events, { ...ninth, data: { ...ninth?.data, attemptId: id } } as AccountEvent]),
    ).toContainEqual(`${id}: declined of another method than it was begun with is 9 times, should be 8`);
    declines(T + 14_000, { declinedMethodId: 'pm_once' });
    expect(one.events.at(-1)?.type).toBe('PaymentAbandoned');
    expect(one.faults).toEqual([]);
  });
});

it('reloads, which have no numbers, stand in the order of their clocks, also to the auditor', () => {
  const atMs = T - DAY;
  const one = onTeam().does(save('pm_before', atMs), {
    ...{ type: 'ConfigureAutoReload', threshold: usd(900_000_000), target: usd(999_000_000) },
    ...{ monthlyCap: usd(9_000_000_000), consentedAtMs: atMs, by: 'owner@example.com' },
  });
  const declined = (number: number, startMs: number, of: object): void => {
    const id = attemptId(`reload_${number}`);
    one.does({ type: 'StartAutoReload', attemptId: id, provider: 'stripe', nowMs: startMs });
    const said = { code: 'lost_card', isTerminal: false, nowMs: atMs + 14_000, ...of };
    one.does({ type: 'RecordPaymentFailure', attemptId: id, ...said });
  };
  declined(0, atMs + 13_000, {});
  one.does(save('pm_new', atMs + 13_500));
  for (let time = 1; time <= 9; time++) declined(time, atMs + 7_000 + time, { declinedMethodId: 'pm_once' });
  expect(one.events.filter(({ type }) => type === 'PaymentFailed')).toHaveLength(10);
  expect(one.faults).toEqual([]);
});

describe('a plan that ended unpaid, and was paid in time, as its provider tells later', () => {
  /** The first attempt of the period, which was given up. */
  const paid = (one: Life, atMs: number): Life => {
    const { attemptId, provider, price: amount } = one.claims[1] ?? {};
    const told = { provider, paymentId: paymentId('pi_late'), amount, paidAtMs: T + 11_000, nowMs: atMs };
    return one.does({ type: 'RecordPayment', attemptId, ...told } as AccountCommand);
  };
  const lapsed = (): Life =>
    onTeam()
      .does(online(T + 10_000))
      .givenUp(T + 12_000)
      .does(online(T + 2 * DAY))
      .declined(T + 2 * DAY, true);
  const overMs = T + 10_000 + 14 * DAY;

  it('is told so', () => {
    const one = paid(lapsed().does(online(overMs)), overMs + 1);
    expect(one.state.billing.endedPlan).toMatchObject({ plan: 'team', reason: 'unpaid' });
    expect([wasPaidInTime(one.state), wasInForce(one.state)]).toEqual([true, true]);
  });

  it('also where it ended as another was asked for, or that was asked for by a clock behind that of the end', () => {
    const [atOnce, behind] = [
      lapsed().does(ask('starter', overMs)),
      lapsed().does(online(overMs), ask('starter', overMs - 3_000)),
    ];
    for (const one of [atOnce, behind]) {
      expect(planOfNewest(one)).toEqual([4, 'starter']);
      paid(one, overMs + 1);
      expect(one.state.billing.endedPlan).toMatchObject({ plan: 'team', reason: 'unpaid' });
      expect(wasPaidInTime(one.state)).toBe(true);
    }
  });

  it('also where another was asked for since, and a third instead of that', () => {
    const one = lapsed()
      .does(online(overMs), ask('starter', overMs + 1))
      .declined(overMs + 2)
      .does(ask('team', overMs + 3));
    expect(planOfNewest(one)).toEqual([5, 'team']);
    expect(wasPaidInTime(paid(one, overMs + 4).state)).toBe(true);
  });
});

it('by hand a renewal has its number, too', () => {
  const one = onTeam()
    .does(looks(T + 10_000))
    .givenUp(T + 10_500, { endedBy: 'operator' })
    .does(asks('team', iso(T + 7_000)));
  expect(one.claims.at(-1)?.attemptId).toBe(`renewal_${END}_2`);
  expect(unansweredUntil(one.state.billing)).toBeNull();
});
