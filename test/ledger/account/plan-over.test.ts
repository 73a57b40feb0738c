import { expect, it } from 'vitest';
import { leftBeside } from '../../../ledger/account/leases.ts';
import { overdraftOf } from '../../../ledger/account/plan-over.ts';
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
