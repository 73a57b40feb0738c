import { describe, expect, it } from 'vitest';
import { leftBeside } from '../../../ledger/account/leases.ts';
import { overdraftOf } from '../../../ledger/account/plan-over.ts';
import { given } from '../../fixtures/ledger/decider-specification.ts';
import { ms } from '../../fixtures/ledger/example-account.ts';
import { AT, asks, DAY, END, type Life, life, looks, online } from './plan-life.ts';

const OVERDRAFT = 20_000_000n;
const onTeam = (): Life => life().does(asks('team')).pays(AT);
/** Also what a lease may be of. */
const lentAt = ({ state }: Life, nowMs: number): bigint[] => {
  const withoutPlan = { ...state, billing: { ...state.billing, plan: null } };
  const [left, leftWithout] = [state, withoutPlan].map((one) => leftBeside(one, null, { leases: [] }, nowMs).credit);
  return [overdraftOf(state, nowMs), (left ?? 0n) - (leftWithout ?? 0n)];
};
const [LENT, NOTHING] = [
  [OVERDRAFT, OVERDRAFT],
  [0n, 0n],
];

it('a plan that was to end lends nothing from its period’s end on, before anybody has looked', () => {
  const one = onTeam().does(asks('none', '2026-12-15T10:00:00.000Z'));
  expect(lentAt(one, ms(END) - 1)).toEqual(LENT);
  expect(lentAt(one, ms(END))).toEqual(NOTHING);
  one.does(looks(END));
  expect(one.events.at(-1)).toMatchObject({ type: 'PlanEnded', data: { reason: 'cancelled' } });
});

it('one that is not paid lends nothing from the end of its grace on, before anybody has looked', () => {
  const one = onTeam()
    .does(online(ms(END)))
    .declined(ms(END) + 1, true);
  const graceEnds = ms(END) + 14 * DAY;
  expect(lentAt(one, graceEnds - 1)).toEqual(LENT);
  expect(lentAt(one, graceEnds)).toEqual(NOTHING);
  one.does(online(graceEnds));
  expect(one.events.at(-1)).toMatchObject({ type: 'PlanEnded', data: { reason: 'unpaid' } });
});

it('one that nobody has looked at, or answered for, lends on: an outage ends none', () => {
  expect(lentAt(onTeam(), ms(END) + 60 * DAY)).toEqual(LENT);
  const open = onTeam().does(online(ms(END)));
  expect(lentAt(open, ms(END) + 15 * DAY)).toEqual(LENT);
  expect(lentAt(open.givenUp(ms(END) + 15 * DAY), ms(END) + 15 * DAY)).toEqual(LENT);
});

it('one behind whose period another is to be lends nothing from its end on, before that is paid, or begun', () => {
  const one = onTeam().does(asks('starter', '2026-12-15T10:00:00.000Z'));
  expect(lentAt(one, ms(END) - 1)).toEqual(LENT);
  expect(lentAt(one, ms(END))).toEqual(NOTHING);
  expect(lentAt(one.does(online(ms(END))), ms(END) + DAY)).toEqual(NOTHING);
  one.givenUp(ms(END) + DAY).does(asks('team', new Date(ms(END) + DAY).toISOString()));
  expect(lentAt(one, ms(END) + DAY)).toEqual(LENT);
});

describe('who asks for a plan when the one before is over, and nobody has looked', () => {
  const LATE = '2027-01-19T10:00:00.000Z';
  it.each(['team', 'starter'])('begins %s anew, whichever it was, and the end is written down first', (plan) => {
    const one = onTeam().does(asks('none', '2026-12-15T10:00:00.000Z'), asks(plan, LATE));
    expect(one.events.slice(-3)).toMatchObject([
      { type: 'PlanEnded', data: { plan: 'team', reason: 'cancelled', at: LATE } },
      { type: 'PlanChanged', data: { plan } },
      { type: 'RenewalStarted', data: { plan, periodStart: LATE } },
    ]);
    expect([one.state.plan, one.plan?.period, overdraftOf(one.state, ms(LATE)), one.faults]).toEqual([
      ...['trial', null, 0n, []],
    ]);
  });

  it('is told once that it is over who asks for none', () => {
    const one = onTeam().does(asks('none', '2026-12-15T10:00:00.000Z'), asks('none', LATE));
    expect(one.events.at(-1)).toMatchObject({ type: 'PlanEnded', data: { reason: 'cancelled' } });
    given(...one.events).refuses(asks('none', LATE), 'plan_not_found');
  });

  it('has its end written down alone where an attempt for it is open: once that is over it begins anew', () => {
    const one = onTeam().does(looks(END));
    const late = new Date(ms(END) + 14 * DAY).toISOString();
    one.does(asks('team', late));
    expect(one.events.at(-1)).toMatchObject({ type: 'PlanEnded', data: { plan: 'team', reason: 'unpaid' } });
    one.givenUp(ms(late)).does(asks('team', late));
    expect(one.claims.at(-1)).toMatchObject({ plan: 'team', periodStart: late });
    expect(one.faults).toEqual([]);
  });

  it('has its end written down alone where what is asked for is refused, as it is to who asks again', () => {
    const one = onTeam().does(asks('none', '2026-12-15T10:00:00.000Z'), asks('unheard', LATE));
    expect(one.events.at(-1)).toMatchObject({ type: 'PlanEnded', data: { reason: 'cancelled' } });
    given(...one.events).refuses(asks('unheard', LATE), 'plan_not_found');
  });
});
