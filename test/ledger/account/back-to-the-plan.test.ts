import { describe, expect, it } from 'vitest';
import type { AccountEvent } from '../../../contracts/events.ts';
import type { AccountCommand } from '../../../ledger/account/commands.ts';
import { isWithdrawn } from '../../../ledger/account/method-for.ts';
import { openAttempts } from '../../../ledger/account/payments.ts';
import { unpaidPlan } from '../../../ledger/account/unpaid-plan.ts';
import { given } from '../../fixtures/ledger/decider-specification.ts';
import { ms } from '../../fixtures/ledger/example-account.ts';
import { faultsOf } from '../audit/account-faults.ts';
import { AT, asks, DAY, END, type Life, life, looks, online, onStarter } from './plan-life.ts';

const LATER = '2026-12-30T11:00:00.000Z';
const MID = '2026-12-15T10:00:00.000Z';

/** On a plan, with the renewal of another one open as the period has ended. */
const onTeamAwaiting = (other: string): Life => life().does(asks('team')).pays(AT).does(asks(other, MID), looks(END));
/** Nobody pays for it, and what it would cost to be on the other for the last minutes is less than may be charged. */
const onFreeAwaiting = (at: AccountCommand = looks(END)): Life =>
  life().does(asks('open-source'), asks('starter', '2026-12-30T09:00:00.000Z'), at);
const withdrawn = ({ state }: Life): boolean[] =>
  openAttempts(state.billing.payments).map((attempt) => isWithdrawn(state.billing, attempt));

describe('back to the plan while the renewal of another is open', () => {
  it('that one is withdrawn, and once it is over the plan is renewed at once, by whoever is paid', () => {
    for (const looked of [looks, online]) {
      const one = life()
        .does(asks('team'))
        .pays(AT)
        .does(asks('starter', MID), looked(ms(END)));
      expect(one.claims.at(-1)).toMatchObject({ plan: 'starter', kind: 'renewal' });
      expect(withdrawn(one)).toEqual([false]);
      const says = () => unpaidPlan(one.state, ms(END))?.says;
      expect(says()).toContain('the renewal of the plan starter is not paid yet');
      one.does(asks('team', LATER));
      expect(says()).toBe('the renewal of the plan team is due, and not begun yet');
      expect(withdrawn(one)).toEqual([true]);
      one.does(looked(ms(LATER)));
      expect(one.claims.length).toBe(2);
      one.givenUp(ms(LATER), { endedBy: 'operator' });
      expect(unpaidPlan(one.state, ms(LATER))).toEqual({
        says: 'the renewal of the plan team is due, and not begun yet',
        next: 'ask for the plan again, or buy credits',
      });
      one.does(looked(ms(LATER)));
      expect(one.claims.at(-1)).toMatchObject({ plan: 'team', price: 200_000_000n, periodStart: END });
      expect(withdrawn(one)).toEqual([false]);
      one.pays(LATER, 'again');
      expect([one.state.plan, one.plan?.due, one.faults]).toEqual(['team', null, []]);
    }
  });

  it('what an operator has ended is to be asked for again: there is nothing that could be paid', () => {
    const one = onStarter().does(looks(END));
    const told = (at: string) => unpaidPlan(one.state, ms(at));
    expect(told(END)).toMatchObject({ next: 'pay for it, or buy credits' });
    one.givenUp(ms(LATER));
    expect(told(LATER)).toMatchObject({
      says: expect.stringMatching(/^the renewal of the plan starter was not paid, the plan ends unless it is paid by /),
      next: 'ask for the plan again, or buy credits',
    });
    one.does(asks('starter', LATER));
    expect([told(LATER)?.next, one.faults]).toEqual(['pay for it, or buy credits', []]);
  });

  it('a plan that nobody pays for begins again, and does not end for want of a payment', () => {
    for (const looked of [looks, online]) {
      const one = onFreeAwaiting(looked(ms(END)));
      expect(one.claims.at(-1)).toMatchObject({ plan: 'starter', price: 20_000_000n });
      one.does(asks('open-source', LATER), looked(ms(END) + 30 * DAY));
      expect(one.plan?.plan).toBe('open-source');
      one.givenUp(ms(END) + 30 * DAY).does(looked(ms(END) + 30 * DAY));
      expect(one.events.at(-1)).toMatchObject({ type: 'CreditsGranted', data: { source: 'plan', costBasis: 0n } });
      expect([one.state.plan, one.plan?.due, one.faults]).toEqual(['open-source', null, []]);
    }
  });

  it('where it was declined the plan is renewed at once, however long that one would have waited', () => {
    for (const isTerminal of [false, true]) {
      const one = onFreeAwaiting().declined(ms(LATER), isTerminal).does(asks('open-source', LATER));
      expect(one.events.at(-1)).toMatchObject({ type: 'CreditsGranted', data: { source: 'plan', costBasis: 0n } });
      expect([one.state.plan, one.plan?.due, one.faults]).toEqual(['open-source', null, []]);
    }
  });

  it('what is withdrawn and declined is no decline of the plan', () => {
    const one = onTeamAwaiting('starter').does(asks('team', LATER)).declined(ms(LATER));
    expect(one.events.at(-1)).toMatchObject({ type: 'PaymentFailed', data: { nextAttemptAt: null } });
    one.does(looks(LATER));
    expect(one.claims.at(-1)).toMatchObject({ plan: 'team', kind: 'renewal' });
    expect(one.faults).toEqual([]);
  });

  it('what is paid of it all the same is credit as bought, and the plan is renewed', () => {
    const one = onTeamAwaiting('starter').does(asks('team', LATER)).pays(LATER, 'after all');
    expect(one.events.at(-1)).toMatchObject({ type: 'CreditsGranted', data: { source: 'purchase', expiresAt: null } });
    expect(one.state.plan).toBe('team');
    one.does(looks(LATER));
    expect(one.claims.at(-1)).toMatchObject({ plan: 'team', kind: 'renewal' });
    expect(one.faults).toEqual([]);
  });

  it('and to the other one after all, which was paid meanwhile as credit: it is begun anew, however late', () => {
    const late = ms(END) + 20 * DAY;
    const one = onTeamAwaiting('starter').does(asks('team', LATER)).pays(new Date(late).toISOString());
    one.does(asks('starter', new Date(late).toISOString()));
    expect(one.claims.at(-1)).toMatchObject({ plan: 'starter', attemptId: expect.stringMatching(/_2$/) });
    expect(one.faults).toEqual([]);
  });

  it('another one than the plan’s own is asked for only once it is over', () => {
    const one = onTeamAwaiting('starter').does(asks('team', LATER));
    expect(() => one.does(asks('big', LATER))).toThrow(/is open: another plan .*gateway payment ask/);
  });
});

describe('the grace of a plan that is asked for after another', () => {
  const on = (day: number): string => new Date(ms(END) + day * DAY).toISOString();
  const backTo = (one: Life, plan: string, day: number): Life =>
    one
      .does(asks(plan, on(day)))
      .givenUp(ms(on(day)))
      .does(asks(plan, on(day)));
  /** On team, with starter's renewal begun as the period ended, by hand or at Stripe. */
  const withStarter = (looked: (at: number) => AccountCommand): Life =>
    life()
      .does(asks('team'))
      .pays(AT)
      .does(asks('starter', MID), looked(ms(END)));

  it('is its own, from its own first attempt of the period on, which no further one lengthens', () => {
    const one = withStarter(looks);
    expect(one.claims.at(-1)).toMatchObject({ plan: 'starter', graceUntil: on(7) });
    backTo(one, 'team', 6);
    expect(one.claims.at(-1)).toMatchObject({ plan: 'team', graceUntil: on(20) });
    one.givenUp(ms(on(7)), { endedBy: 'operator' }).does(asks('team', on(8)));
    expect(one.claims.at(-1)).toMatchObject({ plan: 'team', graceUntil: on(20) });
    given(...one.events).decides(looks(ms(on(20)) - 1));
    one.does(looks(on(20)));
    expect(one.events.at(-1)).toMatchObject({ type: 'PlanEnded', data: { plan: 'team', reason: 'unpaid' } });
    expect(one.faults).toEqual([]);
  });

  it('is what is left of its own where it was begun before, also a shorter one, and is over where that is', () => {
    const one = withStarter(online)
      .declined(ms(END) + 1)
      .does(asks('team', on(3)));
    const asksOnline = (plan: string, day: number): Life =>
      one.does({ ...asks(plan, on(day)), provider: 'stripe' } as AccountCommand);
    const again = (plan: string, day: number): Life => {
      one.declined(ms(on(day)) - 1);
      return asksOnline(plan, day);
    };
    expect(one.claims.at(-1)).toMatchObject({ plan: 'team', graceUntil: on(17) });
    one.givenUp(ms(on(4)), { endedBy: 'operator' });
    asksOnline('starter', 4);
    expect(one.claims.at(-1)).toMatchObject({ plan: 'starter', graceUntil: on(7) });
    again('team', 6);
    expect(one.claims.at(-1)).toMatchObject({ plan: 'team', graceUntil: on(17) });
    again('starter', 16);
    expect(one.claims.at(-1)).toMatchObject({ plan: 'starter', graceUntil: on(7) });
    one.declined(ms(on(16))).does(online(ms(on(16)) + 1));
    expect(one.events.at(-1)).toMatchObject({ type: 'PlanEnded', data: { reason: 'unpaid' } });
    expect(one.faults).toEqual([]);
  });

  it('is over with the period, in whatever turns plans are asked for: none goes on into the next unpaid', () => {
    const one = withStarter(looks);
    for (const [day, plan, until] of [
      [6, 'team', 20],
      [19, 'starter', 26],
      [25, 'team', 31],
      [30, 'starter', 31],
    ] as const) {
      one.givenUp(ms(on(day)), { endedBy: 'operator' }).does(asks(plan, on(day)));
      expect(one.claims.at(-1)).toMatchObject({ plan, periodStart: END, graceUntil: on(until) });
    }
    one.does(looks(on(31)));
    expect(one.events.at(-1)).toMatchObject({ type: 'PlanEnded', data: { reason: 'unpaid' } });
    expect(one.faults).toEqual([]);
  });

  it('is over with a period that has gone by so, and was declined last: what is asked for seconds later begins anew, and is had once it is paid', () => {
    const one = withStarter(online);
    const asksFor = (plan: string, at: number): void => {
      const asked = { ...asks(plan, new Date(at).toISOString()), provider: 'stripe' } as AccountCommand;
      one.does(asked).declined(at + 1, true);
    };
    one.declined(ms(END) + 1, true);
    asksFor('team', ms(on(6)));
    const at = ms(one.claims.at(-1)?.periodEnd ?? '') + 5_000;
    asksFor('starter', at);
    expect(one.events.slice(-4)).toMatchObject([
      { type: 'PlanEnded', data: { reason: 'unpaid' } },
      { type: 'PlanChanged', data: { plan: 'starter', terms: { anchorAt: new Date(at).toISOString() } } },
      { type: 'RenewalStarted', data: { periodStart: new Date(at).toISOString() } },
      { type: 'PaymentFailed' },
    ]);
    expect([one.state.plan, one.plan?.period, one.faults]).toEqual(['trial', null, []]);
  });

  it('is none behind a period that has gone by so while nobody answered: no plan is had on beyond four tries, of whichever', () => {
    const one = withStarter(online).givenUp(ms(END) + 1);
    const asksFor = (plan: string, at: number): Life =>
      one.does({ ...asks(plan, new Date(at).toISOString()), provider: 'stripe' } as AccountCommand);
    asksFor('team', ms(on(20))).givenUp(ms(on(20)) + 1);
    const at = ms(one.claims.at(-1)?.periodEnd ?? '');
    one.does(online(at));
    const begun = one.claims.length;
    expect(one.claims.at(-1)).toMatchObject({ plan: 'team', periodStart: on(31), graceUntil: on(31) });
    one.givenUp(at + 1);
    for (const [later, plan] of [
      [1, 'starter'],
      [2, 'starter'],
      [4, 'big'],
    ] as const) {
      asksFor(plan, at + later);
      expect(one.claims.at(-1)).toMatchObject({ plan, graceUntil: on(31) });
      one.givenUp(at + later);
    }
    one.does(online(at + 4));
    expect(one.events.at(-1)).toMatchObject({ type: 'PlanEnded', data: { reason: 'unpaid' } });
    expect([one.claims.length - begun, one.faults]).toEqual([3, []]);
  });

  it('is over for want of an answer by attempts of its own alone, where it has one', () => {
    const one = withStarter(online);
    const asksFor = (plan: string, day: number): Life =>
      one.givenUp(ms(on(day))).does({ ...asks(plan, on(day)), provider: 'stripe' } as AccountCommand);
    for (const day of [1, 2]) asksFor('starter', day);
    asksFor('team', 6).givenUp(ms(on(7)));
    expect([one.claims.length, one.claims.at(-1)?.graceUntil]).toEqual([5, on(20)]);
    one.does(online(ms(on(20))));
    expect([one.claims.length, one.claims.at(-1)?.plan, one.faults]).toEqual([6, 'team', []]);
  });

  it('is whole behind a period in which only the plan itself was tried, and nobody answered', () => {
    const one = onStarter().does(online(ms(END)));
    const late = ms(one.claims.at(-1)?.periodEnd ?? '') + DAY;
    one.givenUp(late).does(online(late));
    expect(one.claims.at(-1)).toMatchObject({ graceUntil: new Date(late + 7 * DAY).toISOString() });
    expect(one.faults).toEqual([]);
  });

  it('the auditor takes as programs of before had it, of the plan before, and no other', () => {
    const one = backTo(withStarter(looks), 'team', 6);
    const faultsWith = (graceUntil: string): string[] => {
      const claim = one.events.at(-1);
      if (claim?.type !== 'RenewalStarted') throw new Error('nothing is begun');
      return faultsOf([...one.events.slice(0, -1), { ...claim, data: { ...claim.data, graceUntil } }]);
    };
    expect([faultsWith(on(7)), faultsWith(on(20))]).toEqual([[], []]);
    for (const other of [on(14), on(21), on(31)])
      expect(faultsWith(other)).toEqual([expect.stringMatching(/: the end of its grace is .* should be 2027-01-19/)]);
  });
});

it('a dearer plan whose difference is not paid as the next period is begun is withdrawn, whatever becomes of that', () => {
  const one = onStarter().does(asks('team', MID), looks(END));
  expect(withdrawn(one)).toEqual([false, true]);
  const { attemptId, provider, price: amount } = one.claims[1] as (typeof one.claims)[number];
  const paid = { attemptId, provider, paymentId: 'pi_late' as never, amount, paidAtMs: ms(MID), nowMs: ms(LATER) };
  one.does({ type: 'RecordPayment', ...paid });
  expect(one.events.at(-1)).toMatchObject({ data: { source: 'purchase' } });
  one.pays(LATER);
  expect([one.state.plan, one.plan?.due, one.faults]).toEqual(['starter', null, []]);
});

it('the auditor tells of a plan that ended unpaid while only another one was asked for', () => {
  const one = onTeamAwaiting('starter').does(asks('team', LATER));
  const at = new Date(ms(END) + 30 * DAY).toISOString();
  const ended: AccountEvent = { type: 'PlanEnded', data: { plan: 'team', reason: 'unpaid', at } };
  expect(faultsOf([...one.events, ended])).toEqual([
    expect.stringMatching(/plan team: has ended unpaid, and renewal_.*, its newest attempt, is of plan starter$/),
  ]);
});
