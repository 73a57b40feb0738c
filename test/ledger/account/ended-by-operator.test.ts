import { describe, expect, it } from 'vitest';
import { attemptId } from '../../../contracts/ids.ts';
import type { AccountCommand } from '../../../ledger/account/commands.ts';
import { unpaidPlan } from '../../../ledger/account/unpaid-plan.ts';
import { given } from '../../fixtures/ledger/decider-specification.ts';
import { ms, usd } from '../../fixtures/ledger/example-account.ts';
import { AT, asks, DAY, END, Life, life, online, onStarter } from './plan-life.ts';

const on = (days: number): number => ms(END) + days * DAY;
const save = (paymentMethodId: string): AccountCommand => ({
  ...{ type: 'SavePaymentMethod', provider: 'stripe', customerId: 'c', paymentMethodId, brand: 'visa' },
  ...{ last4: '4242', consentedAtMs: ms(END), by: 'owner@example.com' },
});
const suspend: AccountCommand = { type: 'SuspendAccount', reason: 'x' };
/** A renewal of what a provider takes, which an operator has ended. */
const ended = (): Life =>
  onStarter()
    .does(online(on(0)))
    .givenUp(on(0), { endedBy: 'operator' });

describe('the renewal of a plan that an operator has ended, at whichever provider', () => {
  it('is begun again as the plan is asked for, or another card is saved, not by itself, and ends the plan past its grace', () => {
    const one = ended();
    given(...one.events).decides(online(on(7) - 1));
    expect(unpaidPlan(one.state, on(0))?.next).toBe('ask for the plan again, or buy credits');
    expect(new Life(...one.events).does(asks('starter', END)).claims.length).toBe(3);
    expect(new Life(...one.events).does(save('pm'), online(on(1))).claims.length).toBe(3);
    one.does(online(on(7)));
    expect([one.events.at(-1), one.faults]).toMatchObject([{ type: 'PlanEnded', data: { reason: 'unpaid' } }, []]);
    // Programs of before did not say who has ended it: then nobody has answered.
    const [unsaid] = ended().events.slice(-1);
    if (unsaid?.type !== 'PaymentAbandoned') throw new Error('it is not ended');
    const before = { ...unsaid, data: { ...unsaid.data, endedBy: null } };
    const { faults } = new Life(...ended().events.slice(0, -1), before, ...one.events.slice(-1));
    expect(faults).toContainEqual(expect.stringMatching(/has ended unpaid, and .* was never answered$/));
  });

  it('ends it past its grace also where another card was saved since, of which nothing is asked', () => {
    const one = onStarter()
      .does(save('pm_old'), online(on(0)))
      .givenUp(on(0), { endedBy: 'operator' })
      .does(save('pm_new'));
    expect(new Life(...one.events).does(online(on(0))).claims.length).toBe(3);
    one.does(suspend, online(on(7)));
    expect([one.events.at(-1), one.faults]).toMatchObject([{ type: 'PlanEnded' }, []]);
  });

  it('is none of the four declines of a card that was saved since', () => {
    const again = (days: number): AccountCommand =>
      ({ ...asks('team'), provider: 'stripe', nowMs: on(days) }) as AccountCommand;
    const one = life().does(asks('team')).pays(AT).does(save('pm_old'));
    for (const days of [0, 1, 2])
      one.does(days === 0 ? online(on(0)) : again(days)).givenUp(on(days), { endedBy: 'operator' });
    one.does(save('pm_new'), online(on(3))).declined(on(3));
    expect(one.events.at(-1)).toMatchObject({ data: { nextAttemptAt: new Date(on(7)).toISOString() } });
    expect(one.faults).toEqual([]);
  });

  it('is one of the four declines', () => {
    const one = life().does(asks('team')).pays(AT);
    const again = (days: number): AccountCommand =>
      ({ ...asks('team'), provider: 'stripe', nowMs: on(days) }) as AccountCommand;
    for (const days of [0, 1, 2])
      one.does(days === 0 ? online(on(0)) : again(days)).givenUp(on(days), { endedBy: 'operator' });
    one.does(again(3)).declined(on(3));
    expect([one.claims.length, one.events.at(-1)]).toMatchObject([5, { data: { nextAttemptAt: null } }]);
    expect(one.faults).toEqual([]);
    const [last] = one.events.slice(-1);
    if (last?.type !== 'PaymentFailed') throw new Error('it is not declined');
    const goesOn = { ...last, data: { ...last.data, nextAttemptAt: new Date(on(7)).toISOString() } };
    const { faults } = new Life(...one.events.slice(0, -1), goesOn);
    expect(faults).toContainEqual(expect.stringMatching(/when another may be begun/));
  });
});

describe('a reload that an operator has ended', () => {
  const CONFIGURED: AccountCommand = {
    ...{ type: 'ConfigureAutoReload', threshold: usd(5_000_000), target: usd(20_000_000), by: 'owner@example.com' },
    ...{ monthlyCap: usd(500_000_000), consentedAtMs: on(0) },
  };
  const begins = (number: number, nowMs: number): AccountCommand => ({
    ...{ type: 'StartAutoReload', provider: 'stripe', attemptId: attemptId(`reload_${number}`), nowMs },
  });
  const ends = (number: number, nowMs: number): AccountCommand => ({
    ...{ type: 'AbandonPayment', attemptId: attemptId(`reload_${number}`), reason: 'x', endedBy: 'operator', nowMs },
  });

  it('counts against the card that it was begun with alone, and is waited for all the same', () => {
    const one = life().does(save('pm_old'), CONFIGURED, begins(0, on(0)), save('pm_new'), ends(0, on(0)));
    expect(one.state.billing.payments.reload).toMatchObject({ declines: 0, nextAttemptAtMs: on(0) + DAY / 24 });
    for (const number of [1, 2, 3]) one.does(begins(number, on(number)), ends(number, on(number)));
    expect(one.state.billing.payments.reload).toMatchObject({ declines: 3, paused: null });
    one.does(begins(4, on(4)), ends(4, on(4)));
    expect([one.state.billing.payments.reload?.paused, one.faults]).toEqual(['given_up', []]);
  });

  it('does not pause as the fourth where another card was saved meanwhile', () => {
    const one = life().does(save('pm_old'), CONFIGURED, begins(0, on(0)), save('pm_new'));
    for (const number of [0, 1, 2, 3]) {
      if (number > 0) one.does(begins(number, on(number)));
      one.does(ends(number, on(number)));
    }
    expect([one.state.billing.payments.reload?.paused, one.faults]).toEqual([null, []]);
  });
});
