import { expect, it } from 'vitest';
import type { AccountCommand } from '../../../ledger/account/commands.ts';
import { given } from '../../fixtures/ledger/decider-specification.ts';
import { ms } from '../../fixtures/ledger/example-account.ts';
import { STARTER, TEAM } from '../../fixtures/ledger/example-plan-events.ts';
import { AT, asks, DAY, END, type Life, life, onStarter } from './plan-life.ts';

const MID = '2026-12-15T10:00:00.000Z';
/** Starter was listed in the first version and is not in the second. */
const catalog = {
  version: 2,
  plans: new Map([
    [1, [STARTER, TEAM]],
    [2, [TEAM]],
  ]),
};
const now = (command: AccountCommand): AccountCommand => ({ ...command, catalog }) as AccountCommand;
const looks = (at: number): AccountCommand => ({ type: 'StartRenewal', provider: 'manual', catalog, nowMs: at });
const asksNow = (plan: string, at: string): AccountCommand => now(asks(plan, at));
const refused = ({ events }: Life, command: AccountCommand, message?: RegExp): void =>
  given(...events).refuses(command, 'plan_not_found', message);

it('who has it asks for it again, where its renewal was declined', () => {
  const one = onStarter().does(looks(ms(END)));
  one.givenUp(ms(END) + DAY, { endedBy: 'operator' }).does(asksNow('starter', new Date(ms(END) + DAY).toISOString()));
  expect(one.claims.at(-1)).toMatchObject({ plan: 'starter', catalogVersion: 1, price: 20_000_000n });
  one.pays(new Date(ms(END) + 2 * DAY).toISOString());
  expect([one.state.plan, one.plan?.due, one.faults]).toEqual(['starter', null, []]);
});

it('who has it goes back to it from another one, from a dearer one that is open, and from its end', () => {
  const next = onStarter().does(asksNow('team', MID));
  expect(next.claims.at(-1)).toMatchObject({ plan: 'team', kind: 'upgrade' });
  next.does(asksNow('starter', MID));
  expect(next.plan).toMatchObject({ plan: 'starter', next: null, upgrade: null });
  const ending = onStarter().does(asks('none', MID), asksNow('starter', MID));
  expect(ending.plan).toMatchObject({ plan: 'starter', next: null });
  ending.does(looks(ms(END)));
  expect(ending.claims.at(-1)).toMatchObject({ plan: 'starter', catalogVersion: 1, periodStart: END });
  // The auditor of these lives knows the first version alone.
  expect([...next.faults, ...ending.faults].filter((fault) => !/catalog 2\b/.test(fault))).toEqual([]);
});

it('nobody else has it any more, nor who never paid for it, or had it before', () => {
  refused(life(), asksNow('starter', AT), /the catalog has no plan "starter" for the account; it has team/);
  refused(life().does(asks('team')).pays(AT), asksNow('starter', MID));
  const never = life().does(asks('starter')).givenUp(ms(AT)).does(asks('team', AT)).givenUp(ms(AT));
  refused(never, asksNow('starter', AT));
  const ended = onStarter().does(asks('none', MID), looks(ms(END)));
  refused(ended, asksNow('starter', END));
});
