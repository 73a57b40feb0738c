import { expect, it } from 'vitest';
import type { AccountEvent } from '../../../contracts/events.ts';
import { given } from '../../fixtures/ledger/decider-specification.ts';
import { ms } from '../../fixtures/ledger/example-account.ts';
import { DAY, END, Life, looks, online, onStarter } from './plan-life.ts';

const instant = (atMs: number): string => new Date(atMs).toISOString();
const unpaid = (at: string): AccountEvent => ({ type: 'PlanEnded', data: { plan: 'starter', reason: 'unpaid', at } });

it('a renewal that is begun by hand past its grace has one of its own, in which it may be confirmed', () => {
  const past = ms(END) + 8 * DAY;
  const late = onStarter()
    .does(online(ms(END)))
    .givenUp(ms(END) + 1)
    .does(looks(past));
  expect(late.claims[2]).toMatchObject({ provider: 'manual', graceUntil: instant(past + 7 * DAY) });
  given(...late.events).decides(looks(past + 7 * DAY - 1));
  const paid = new Life(...late.events).pays(instant(past + 6 * DAY));
  expect([paid.plan, paid.faults]).toMatchObject([{ period: { startMs: ms(END) }, due: null }, []]);
  // Programs of before gave it none: the next look ended the plan.
  const claim = late.events.at(-1);
  if (claim?.type !== 'RenewalStarted') throw new Error('nothing is begun');
  const graceUntil = instant(ms(END) + 7 * DAY);
  const before = new Life(...late.events.slice(0, -1), { ...claim, data: { ...claim.data, graceUntil } });
  expect(before.does(looks(past + 1)).events.at(-1)).toEqual(unpaid(instant(past + 1)));
  expect(before.faults).toEqual([]);
  const other = { ...claim, data: { ...claim.data, graceUntil: instant(past + 6 * DAY) } };
  expect(new Life(...late.events.slice(0, -1), other).faults).toContainEqual(
    expect.stringMatching(/the end of its grace/),
  );
  expect(late.does(looks(past + 7 * DAY)).events.at(-1)).toEqual(unpaid(instant(past + 7 * DAY)));
  expect(late.faults).toEqual([]);
});
