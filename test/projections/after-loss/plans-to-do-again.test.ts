import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import type { AccountEvent } from '../../../contracts/events.ts';
import { paymentId } from '../../../contracts/ids.ts';
import type { CommandOf } from '../../../ledger/account/commands.ts';
import { findAllToDoAgain } from '../../../projections/after-loss/all-to-do-again.ts';
import { given } from '../../fixtures/ledger/decider-specification.ts';
import { granted, ms, opened, usd } from '../../fixtures/ledger/example-account.ts';
import { BIG, catalogOf, OPEN_SOURCE, STARTER, subscribed, TEAM } from '../../fixtures/ledger/example-plan-events.ts';
import { toVersion6, toVersion18 } from '../../fixtures/ledger/older-views.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';
import { ledgerOf, lostOf, toldOf, viewsOf } from '../put-back.ts';

const FROM = '2026-11-05T10:00:00.000Z';
const UNTIL = '2026-12-05T10:00:00.000Z';
const NOW = ms('2026-11-20T00:00:00.000Z');
const catalog = catalogOf(STARTER, TEAM, BIG, OPEN_SOURCE);
const by = { reason: 'as asked for', by: 'operator', nowMs: NOW };
const ask = (plan: string): CommandOf<'ChangePlan'> => ({
  ...{ type: 'ChangePlan', plan, catalog, provider: 'manual' },
  ...by,
});

const TRIAL: readonly AccountEvent[] = [opened];
/** A plan that is paid. */
const on = (plan: string, provider = 'manual'): AccountEvent[] => [
  opened,
  ...subscribed(plan, FROM, { catalog, provider }),
];
const asking = (life: readonly AccountEvent[], ...plans: readonly string[]): AccountEvent[] => {
  const events = [...life];
  for (const plan of plans) events.push(...given(...events).decided(ask(plan)));
  return events;
};
const endedNow = (life: readonly AccountEvent[]): AccountEvent[] => [
  ...life,
  ...given(...life).decided({ type: 'EndPlan', ...by }),
];

type Put = Omit<Parameters<typeof lostOf>[0], 'nowMs'>;
const found = (put: Put) => lostOf({ ...put, nowMs: NOW });
const planOf = async (put: Put) => (await found(put))?.accounts[0]?.plan ?? null;
const told = async (put: Put) => toldOf(await found(put))?.filter((line) => line.startsWith('plan '));
/** @param rest of the line */
const line = (rest: string): string[] => [`plan of acme: ${rest}`];
const PLAN = 'gateway account plan acme';
const ANEW = '(what that begins is charged anew)';
const CONFIRM = `gateway payment confirm acme --payment pi_${FROM}`;
const CONFIRMED = 'what is confirmed is charged no more, and brings its credits';

describe('a plan that is lost', () => {
  const kept = on('team');

  it('is to be ended again where that it ends is lost: its card is charged otherwise', async () => {
    const put = { kept, known: asking(kept, 'none') };
    const words = `team until ${UNTIL}, then it ends; the ledger has team until ${UNTIL}, then renewed: ${PLAN} none`;
    expect(await told(put)).toEqual(line(words));
    const period = { anchorMs: ms(FROM), untilMs: ms(UNTIL), isPaidBack: false };
    const team = { plan: 'team', ...period, isInForce: true, upgrade: null };
    expect(await planOf(put)).toEqual({
      ...{ was: { ...team, next: 'none' }, is: { ...team, next: null }, ended: null, isBegunAnew: false },
      ...{ commands: [['gateway', 'account', 'plan', 'acme', 'none']], toBePaid: [], isConfirmed: false },
      ...{ isChargedAnew: false, paidBy: [] },
    });
  });

  it('is to be ended at once where its money, which the ledger has back, was here again before it was ended, also later on', async () => {
    const of = { paymentId: paymentId(`pi_${FROM}`), disputeId: 'dp_1', actor: 'operator', ...by };
    const amount = usd(200_000_000);
    const disputed = [...kept, ...given(...kept).decided({ type: 'RecordDispute', amount, openedAtMs: NOW, ...of })];
    const won = given(...disputed).decided({ type: 'CloseDispute', outcome: 'won', closedAtMs: NOW, ...of });
    const known = endedNow([...disputed, ...won]);
    for (const nowMs of [NOW, ms(UNTIL) + 86_400_000]) {
      const plan = (await lostOf({ kept: disputed, known, nowMs }))?.accounts[0]?.plan;
      expect(plan?.commands).toEqual([[...PLAN.split(' '), 'none', '--now']]);
    }
  });

  it('is to be ended at once where it has ended, with why', async () => {
    const ended = `; the ledger has team until ${UNTIL}, then renewed: ${PLAN} none --now`;
    expect(await told({ kept, known: endedNow(kept) })).toEqual(line(`none (team has ended: cancelled)${ended}`));
    const unpaid: AccountEvent = { type: 'PlanEnded', data: { plan: 'team', reason: 'unpaid', at: UNTIL } };
    const known = [...kept, unpaid];
    expect(await told({ kept, known })).toEqual(line(`none (team has ended: not paid in time)${ended}`));
  });

  it('is asked for anew where its account is left without it, with what has paid it, or that it is charged anew', async () => {
    const words = `team until ${UNTIL}, then renewed; the ledger has none: ${PLAN} team`;
    expect(await told({ kept: TRIAL, known: kept })).toEqual(line(`${words}, then ${CONFIRM} (${CONFIRMED})`));
    const anew = `though it is paid until ${UNTIL} by pi_${FROM} at stripe: ask for it then, or pay that back`;
    const known = on('team', 'stripe');
    expect(await told({ kept: TRIAL, known })).toEqual(line(`${words} (what that begins is charged anew, ${anew})`));
    const ends = asking(known, 'none');
    expect((await told({ kept: TRIAL, known: ends }))?.[0]).toContain(
      `: ${PLAN} team, then, once that is paid, ${PLAN} none (`,
    );
  });

  it('is told with what waits for its end and for a payment, also of an account that is lost', async () => {
    const known = asking(on('starter'), 'none', 'team');
    const words =
      `starter until ${UNTIL}, then it ends, team once it is paid; the ledger has none: ` +
      `${PLAN} starter, then ${CONFIRM}, then ${PLAN} none, then ${PLAN} team ` +
      `(${CONFIRMED}; what that begins is charged anew)`;
    for (const left of [TRIAL, []]) expect(await told({ kept: left, known })).toEqual(line(words));
  });

  it('is told of that is not paid yet', async () => {
    const known = asking(TRIAL, 'team');
    const words = `team once it is paid; the ledger has none: ${PLAN} team ${ANEW}`;
    expect(await told({ kept: TRIAL, known })).toEqual(line(words));
  });

  it('is told of that was set by hand, before there were periods', async () => {
    const known: AccountEvent[] = [opened, { type: 'PlanChanged', data: { plan: 'pro', terms: null } }];
    expect(await told({ kept: TRIAL, known })).toEqual(line(`pro; the ledger has none: ${PLAN} pro ${ANEW}`));
    // It has nothing that could be ended, and is no plan that is paid.
    const byHand: AccountEvent = { type: 'PlanChanged', data: { plan: 'team', terms: null } };
    const [account, ...asked] = on('team');
    const left = [account as AccountEvent, byHand];
    const { is, commands } = (await planOf({ kept: left, known: [...left, ...asked] })) ?? {};
    expect([is?.anchorMs, commands?.[0]?.at(-1)]).toEqual([null, 'team']);
  });
});

describe('what was asked for of a plan', () => {
  const asks = async (kept: readonly AccountEvent[], known: readonly AccountEvent[]) => {
    const { commands, isChargedAnew } = (await planOf({ kept, known })) ?? {};
    return [commands?.map((command) => command.join(' ').replace(`${PLAN} `, '')), isChargedAnew];
  };
  const team = on('team');
  const starter = on('starter');

  it.each([
    ['another one at its end', team, asking(team, 'starter'), ['starter'], false],
    ['none, after another one', asking(team, 'starter'), asking(team, 'starter', 'none'), ['none'], false],
    ['itself, after its end', asking(team, 'none'), asking(team, 'none', 'team'), ['team'], false],
    ['a dearer one', starter, asking(starter, 'team'), ['team'], true],
    ['a dearer one, after its end', asking(starter, 'none'), asking(starter, 'none', 'team'), ['team'], true],
    ['its end, and a dearer one', starter, asking(starter, 'none', 'team'), ['none', 'team'], true],
    ['itself, after a dearer one', asking(starter, 'team'), asking(starter, 'team', 'starter'), ['starter'], false],
    ['its end, after a dearer one', asking(starter, 'team'), asking(starter, 'team', 'none'), ['none'], false],
  ])('is asked for again: %s', async (_what, kept, known, ...expected) => {
    expect(await asks(kept, known)).toEqual(expected);
    // What is asked for so makes it as it was.
    const again = asking(kept, ...expected[0]);
    const [is, was] = [again, known].map((life) => given(...life).state);
    expect(is).toMatchObject(was?.type === 'open' ? { billing: { plan: was.billing.plan } } : {});
  });
});

it('a plan that the ledger has so, or that was asked for again or changed since, is not told', async () => {
  const kept = on('team');
  const known = asking(kept, 'none');
  expect(await planOf({ kept: known, known })).toBe(null);
  expect(await planOf({ kept, known, since: asking(kept, 'none').slice(kept.length) })).toBe(null);
  const later = asking([...kept, granted('other', 1)], 'none').slice(kept.length);
  expect(await planOf({ kept, known, since: later })).toBe(null);
  expect(await planOf({ kept: known, known, since: asking(known, 'team').slice(known.length) })).toBe(null);
  expect(await planOf({ kept: known, known, since: endedNow(known).slice(known.length) })).toBe(null);
});

it('that a plan was paid, or is over, alone is told by its payments', async () => {
  const known = on('team');
  const unpaid = known.slice(
    0,
    known.findIndex(({ type }) => type === 'PaymentSucceeded'),
  );
  const lost = await found({ kept: unpaid, known });
  expect(lost?.accounts[0]).toMatchObject({ plan: null, payments: { attempts: [{ state: 'paid', is: 'open' }] } });
  // Of a plan that was had and is over nothing is left to do.
  expect(await planOf({ kept: TRIAL, known: endedNow(known) })).toBe(null);
});

it('of views that several losses have left the newest that know an account know its plan', async () => {
  const dataFolder = temporaryFolder();
  renameSync(await viewsOf(await ledgerOf(on('team')), dataFolder), join(dataFolder, 'views.db.before-generation-2'));
  const find = async (left: readonly AccountEvent[]) =>
    findAllToDoAgain(await ledgerOf(left), { dataFolder, generation: 3, nowMs: NOW, settling: new Map() });
  expect(await find(TRIAL)).toMatchObject({ accounts: [{ plan: { was: { plan: 'team' } } }], earlier: [] });
  await viewsOf(await ledgerOf(TRIAL), dataFolder);
  expect(await find(TRIAL)).toMatchObject({ accounts: [], earlier: [{ accounts: [{ plan: null, grants: [{}] }] }] });
});

describe('views of earlier versions', () => {
  const kept = on('starter');

  it('that do not know which dearer plan was asked for have not lost it', async () => {
    const change = (views: string): void => {
      toVersion18(views);
      const database = new DatabaseSync(views);
      database.exec("UPDATE balance_v18 SET state = json_remove(state, '$.billing.plan.upgrade')");
      database.close();
    };
    const asked = asking(kept, 'team');
    expect(await planOf({ kept: asked, known: asked, change })).toBe(null);
    expect(await planOf({ kept, known: asking(kept, 'none'), change })).toMatchObject({ was: { next: 'none' } });
  });

  it('that were all paid for a period with this end are those of the plan, without what is back', async () => {
    const back = (amount: number): AccountEvent[] => {
      const of = { paymentId: paymentId(`pi_${FROM}`), refundId: 're_1', amount: usd(amount), refundedAtMs: NOW };
      return [...kept, ...given(...kept).decided({ type: 'RecordRefund', ...of, actor: 'operator', ...by })];
    };
    const [price, part] = [20_000_000, 19_000_000];
    const asked = [['gateway', 'account', 'plan', 'acme', 'starter'], CONFIRM.split(' ')];
    for (const change of [() => {}, toVersion18]) {
      expect((await planOf({ kept: TRIAL, known: back(part), change }))?.commands).toEqual(asked);
      expect(await planOf({ kept: TRIAL, known: back(price), change })).toBe(null);
    }
  });

  it('that know no periods know a plan by its name', async () => {
    const known: AccountEvent[] = [opened, { type: 'PlanChanged', data: { plan: 'pro', terms: null } }];
    expect(await planOf({ kept: known, known, change: toVersion6 })).toBe(null);
    expect(await planOf({ kept: TRIAL, known, change: toVersion6 })).toMatchObject({ was: { plan: 'pro' }, is: null });
  });
});
