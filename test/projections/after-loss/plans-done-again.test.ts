import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { accountId } from '../../../contracts/ids.ts';
import type { OpenAccount } from '../../../ledger/account/account-state.ts';
import { loadAccount } from '../../../ledger/account/load-account.ts';
import { allAttempts, openAttempts } from '../../../ledger/account/payments.ts';
import { isReturned } from '../../../ledger/account/returned-plan.ts';
import { findToDoAgain } from '../../../projections/after-loss/to-do-again.ts';
import { catalogEntry } from '../../fixtures/catalog-entry.ts';
import { endedLater } from '../../fixtures/ended-later.ts';
import { type ProgramInProcess, programInProcess } from '../../fixtures/processes/program-in-process.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';
import { copyOf, toldOf, viewsOf } from '../put-back.ts';

/** A command, of the account where it names one, as it is typed at a time of the year 2026 or 2027. */
type Typed = readonly [at: string, command: string];

const STARTER = { id: 'starter', label: 'Starter', price: '20.00', credits: '25.00' };
const TEAM = { id: 'team', label: 'Team', price: '200.00', credits: '260.00', overdraft: '20.00', grace_days: 14 };
const FREE = { id: 'free', label: 'Free', price: '0', credits: '1.00' };
const ACCOUNT = accountId('acct_a');
const begin = (plan: string, at: string, payment: string): Typed[] => [
  [at, `account plan acct_a ${plan}`],
  [at, `payment confirm acct_a --payment ${payment}`],
];
const END: Typed = ['2026-11-20T10:00Z', 'account plan acct_a none --now'];
const REFUND: Typed = ['2026-11-20T10:00Z', 'payment refund acct_a P1 --usd 200 --id back --reason x'];
const ANEW = '2026-11-20T10:01Z';
const NOW = '2026-11-22T10:00Z';
const TEAM_PAID = begin('team', '2026-11-05T10:00Z', 'P1');

async function typedOn(program: ProgramInProcess, lines: readonly Typed[]): Promise<void> {
  for (const [at, line] of lines) {
    program.clock = () => Date.parse(at);
    await program.run(...line.split(' '));
  }
}

async function accountOf(program: ProgramInProcess): Promise<OpenAccount> {
  const { state } = await loadAccount(program.log, ACCOUNT);
  if (state.type !== 'open') throw new Error('the account is lost');
  return state;
}

/** A ledger that was put back to what was kept, and what the views know of what came behind that. */
async function putBack(kept: readonly Typed[], lost: readonly Typed[], now = NOW) {
  const whole = endedLater(await programInProcess());
  const catalog = join(temporaryFolder(), 'catalog.json');
  const models = [catalogEntry('opal', { upstreams: [{ provider: 'mock', model: 'opal' }] })];
  writeFileSync(catalog, JSON.stringify({ models, plans: [STARTER, TEAM, FREE] }));
  const opened = 'account open --email ada@example.com --id acct_a --trial-usd 0';
  await typedOn(whole, [
    ['2026-11-05T09:00Z', `catalog publish ${catalog}`],
    ['2026-11-05T09:00Z', opened],
  ]);
  await typedOn(whole, kept);
  const head = await whole.log.headPosition();
  await typedOn(whole, lost);
  const left = await copyOf(
    whole.log,
    join(temporaryFolder(), 'left.db'),
    ({ position }) => head !== null && position <= head,
  );
  const views = await viewsOf(whole.log, temporaryFolder());
  const program = endedLater(await programInProcess(left));
  const found = await findToDoAgain(left, views, Date.parse(now));
  const plan = found?.accounts[0]?.plan ?? null;
  const commands = plan?.commands.map((command) => command.slice(1).join(' ')) ?? null;
  const type = (lines: readonly string[], at = now) =>
    typedOn(
      program,
      lines.map((line) => [at, line]),
    );
  const [told] = toldOf(found)?.filter((line) => line.startsWith('plan ')) ?? [];
  return { commands, told: told?.replaceAll('gateway ', ''), plan, program, type, was: await accountOf(whole) };
}

/** What is asked for of a plan, without when. */
const askedOf = ({ billing: { plan } }: OpenAccount) =>
  plan && { plan: plan.plan, isPaid: plan.period !== null, next: plan.next?.plan ?? null, upgrade: plan.upgrade };

const paymentsOf = ({ billing: { payments } }: OpenAccount) =>
  allAttempts(payments).flatMap(({ state, paymentId }) => (state === 'paid' ? [paymentId] : []));

const plan = (...plans: readonly string[]) => plans.map((one) => `account plan acct_a ${one}`);
const confirm = (payment: string) => `payment confirm acct_a --payment ${payment}`;

const [FIRST_ASKED, FIRST_PAID] = TEAM_PAID as [Typed, Typed];
const NONE_LATER: Typed = ['2026-11-21T10:00Z', 'account plan acct_a none'];
const STARTER_PAID = begin('starter', '2026-11-05T10:00Z', 'P1');
const RENEWED = begin('team', '2026-12-05T10:00Z', 'P2');
const RENEWED_NOW = '2026-12-10T10:00Z';
const refund = (at: string, payment: string, price: number): Typed => [
  at,
  `payment refund acct_a ${payment} --usd ${price} --id of_${payment} --reason x`,
];

/** A period from a day on, of which a first attempt was declined by hand, what was asked for then, and the first turns out to be paid. */
const paidTwice = (day: string, first: string, then: readonly Typed[]): Typed[] => [
  [`${day}T10:00Z`, `account plan acct_a ${first}`],
  [`${day}T11:00Z`, `payment decline acct_a renewal_${day}T10:00:00.000Z --reason x`],
  ...then,
  [`${day}T13:00Z`, `payment confirm acct_a renewal_${day}T10:00:00.000Z --payment LATE`],
];
const TWICE = paidTwice('2026-11-05', 'team', begin('team', '2026-11-05T12:00Z', 'P2'));
const ANOTHERS = paidTwice('2026-12-05', 'team', begin('starter', '2026-12-05T12:00Z', 'P2'));

describe('what is told of a plan, typed as it is told, makes it so again with no payment but those that were made', () => {
  it.each<[string, readonly Typed[], readonly Typed[], readonly string[], string?]>([
    [
      'ended, and begun anew',
      TEAM_PAID,
      [END, ...begin('team', ANEW, 'P2')],
      [...plan('none --now', 'team'), confirm('P2')],
    ],
    [
      'paid back, and begun anew',
      TEAM_PAID,
      [REFUND, ...begin('team', ANEW, 'P2')],
      [...plan('none --now', 'team'), confirm('P2')],
    ],
    ['begun anew, and not paid yet', TEAM_PAID, [END, [ANEW, 'account plan acct_a team']], plan('none --now', 'team')],
    [
      'another one begun anew',
      TEAM_PAID,
      [END, ...begin('starter', ANEW, 'P2')],
      [...plan('none --now', 'starter'), confirm('P2')],
    ],
    [
      'a cheaper one ended, and a dearer one begun anew, that ends',
      STARTER_PAID,
      [END, ...begin('team', ANEW, 'P2'), NONE_LATER],
      [...plan('none --now', 'team'), confirm('P2'), ...plan('none')],
    ],
    [
      'all of it, with its end and a dearer one',
      [],
      [...STARTER_PAID, NONE_LATER, ['2026-11-21T10:00Z', 'account plan acct_a team']],
      [...plan('starter'), confirm('P1'), ...plan('none', 'team')],
    ],
    [
      'all of it, with another one to follow',
      [],
      [...TEAM_PAID, ['2026-11-21T10:00Z', 'account plan acct_a starter']],
      [...plan('team'), confirm('P1'), ...plan('starter')],
    ],
    [
      'its first payment, and its end',
      [FIRST_ASKED],
      [FIRST_PAID, NONE_LATER],
      [...plan('team'), confirm('P1'), ...plan('none')],
    ],
    [
      'its renewal, and its end',
      TEAM_PAID,
      [...RENEWED, ['2026-12-06T10:00Z', 'account plan acct_a none']],
      [...plan('team'), confirm('P2'), ...plan('none')],
      RENEWED_NOW,
    ],
    [
      'its renewal, and a dearer one that is to be paid',
      STARTER_PAID,
      [...begin('starter', '2026-12-05T10:00Z', 'P2'), ['2026-12-06T10:00Z', 'account plan acct_a team']],
      [...plan('starter'), confirm('P2'), ...plan('team')],
      RENEWED_NOW,
    ],
    [
      'paid twice, of which the first is back',
      [],
      [...TWICE, refund(ANEW, 'LATE', 200)],
      [...plan('team'), confirm('P2')],
    ],
    [
      'paid twice, of which the last is back',
      [],
      [...TWICE, refund(ANEW, 'P2', 200)],
      [...plan('team'), confirm('LATE')],
    ],
    [
      'paid, with a dispute that was won',
      [],
      [
        ...TEAM_PAID,
        [ANEW, 'payment dispute acct_a P1 --usd 200 --id one --reason x'],
        [ANEW, 'payment close-dispute acct_a P1 --id one --outcome won --reason x'],
      ],
      [...plan('team'), confirm('P1')],
    ],
    [
      'another one in its next period, for which the first turned out to be paid, too',
      TEAM_PAID,
      ANOTHERS,
      [...plan('starter'), confirm('P2')],
      RENEWED_NOW,
    ],
  ])('%s', async (_what, kept, lost, expected, now) => {
    const { commands, type, program, was } = await putBack(kept, lost, now);
    expect(commands).toEqual(expected);
    await type(commands ?? []);
    const is = await accountOf(program);
    expect(askedOf(is)).toEqual(askedOf(was));
    expect(paymentsOf(was)).toEqual(expect.arrayContaining(paymentsOf(is)));
    expect(openAttempts(is.billing.payments).length).toBe(openAttempts(was.billing.payments).length);
    expect(await program.run('ledger', 'verify', 'acct_a')).toMatch(/no fault/);
  });
});

describe('a plan that was begun anew', () => {
  it('is told with what the ledger has of before, what is confirmed, and until when it was paid', async () => {
    const { told, plan } = await putBack(TEAM_PAID, [END, ...begin('team', ANEW, 'P2')]);
    expect(told).toBe(
      'plan of acct_a: team until 2026-12-20T10:01:00.000Z, then renewed; the ledger has team until ' +
        '2026-12-05T10:00:00.000Z, then renewed, which had ended before that was begun: account plan acct_a none --now, ' +
        'then account plan acct_a team, then payment confirm acct_a --payment P2 ' +
        '(what is confirmed is charged no more, and brings its credits)',
    );
    expect(plan).toMatchObject({ isBegunAnew: true, isConfirmed: true, isChargedAnew: false, paidBy: [] });
  });

  it('is renewed no more as the period ends that the ledger has of before, in time that is paid', async () => {
    const { commands, type, program } = await putBack(TEAM_PAID, [END, ...begin('team', ANEW, 'P2')]);
    await type(commands ?? []);
    await type(plan('team'), '2026-12-06T10:00Z');
    expect(openAttempts((await accountOf(program)).billing.payments)).toEqual([]);
  });

  it.each([{ isRefundFirst: true }, { isRefundFirst: false }])(
    'stands, and is not taken for paid back, whenever the refund of before is written again: $isRefundFirst',
    async ({ isRefundFirst }) => {
      const { commands, type, program } = await putBack(TEAM_PAID, [REFUND, ...begin('team', ANEW, 'P2')]);
      const [, refund] = REFUND;
      await type(isRefundFirst ? [refund, ...(commands ?? [])] : [...(commands ?? []), refund]);
      const is = await accountOf(program);
      expect([askedOf(is)?.isPaid, isReturned(is), paymentsOf(is)]).toEqual([true, false, ['P1', 'P2']]);
    },
  );

  it('and is paid back, too, is ended, and not bought again', async () => {
    const back: Typed = [ANEW, 'payment refund acct_a P2 --usd 200 --id again --reason x'];
    const lost = [REFUND, ...begin('team', ANEW, 'P2'), back];
    const { commands, told } = await putBack(TEAM_PAID, lost);
    expect(commands).toEqual(plan('none --now'));
    expect(told).toContain('team until 2026-12-20T10:01:00.000Z, paid back, then it ends; the ledger has team');
    expect((await putBack([], [...TEAM_PAID, REFUND])).commands).toBe(null);
    const left = await putBack([...TEAM_PAID, REFUND], begin('team', ANEW, 'P2'));
    expect(left.told).toContain('; the ledger has team until 2026-12-05T10:00:00.000Z, paid back, then it ends, which');
    const part: Typed = [ANEW, 'payment refund acct_a P1 --usd 199 --id part --reason x'];
    expect((await putBack([], [...TEAM_PAID, part])).commands).toEqual([...plan('team'), confirm('P1')]);
  });

  it('where it is begun anew since is not told', async () => {
    const { commands, type, program } = await putBack(TEAM_PAID, [END, ...begin('team', ANEW, 'P2')]);
    await type(commands ?? []);
    const whole = [...TEAM_PAID, END, ...begin('team', ANEW, 'P2')];
    const views = await viewsOf((await putBack(whole, [])).program.log, temporaryFolder());
    const found = await findToDoAgain(program.log, views, Date.parse(NOW));
    expect(found?.accounts.map((one) => one.plan)).toEqual([null]);
  });
});

it('a plan that was simply renewed, also several times, or as the one that was to follow, is told by its payments alone', async () => {
  const { commands } = await putBack(TEAM_PAID, RENEWED, RENEWED_NOW);
  expect(commands).toBe(null);
  const twice = [...RENEWED, ...begin('team', '2027-01-05T10:00Z', 'P3')];
  expect((await putBack(TEAM_PAID, twice, '2027-01-06T10:00Z')).commands).toBe(null);
  const next: Typed = ['2026-11-21T10:00Z', 'account plan acct_a starter'];
  const other = begin('starter', '2026-12-05T10:00Z', 'P2');
  expect((await putBack([...TEAM_PAID, next], other, RENEWED_NOW)).commands).toBe(null);
});

it('a dearer plan that was paid in mid-period is charged anew, which is told with what has paid it, and what follows waits for that', async () => {
  const dearer = begin('team', '2026-11-20T10:00Z', 'P2');
  const { told, commands, type, program, was } = await putBack(STARTER_PAID, [...dearer, NONE_LATER]);
  expect(told).toMatch(
    /: account plan acct_a team, then, once that is paid, account plan acct_a none \(what that begins is charged anew, though it is paid until 2026-12-05T10:00:00\.000Z by P2 at manual: ask for it then, or pay that back\)$/,
  );
  const [ask = '', end = ''] = commands ?? [];
  await type([ask, confirm('P2'), end]);
  expect(askedOf(await accountOf(program))).toEqual(askedOf(was));
});

it('where a dearer plan was paid in mid-period what was paid before that goes back for nothing alone, and with it nothing is bought again', async () => {
  const paid = [...STARTER_PAID, ...begin('team', '2026-11-20T10:00Z', 'P2')];
  const one: Typed = ['2026-11-21T10:00Z', 'payment refund acct_a P1 --usd 20 --id one --reason x'];
  const other: Typed = ['2026-11-21T10:00Z', 'payment dispute acct_a P2 --usd 90 --id two --reason x'];
  expect((await putBack([], [...paid, one])).told).not.toContain('paid back');
  expect((await putBack([], [...paid, one, other])).commands).toBe(null);
});

it('of a dearer plan no payment is confirmed, but that of the period that it was asked for in', async () => {
  const dearer = begin('team', '2026-12-07T10:00Z', 'P3');
  const starter = begin('starter', '2026-12-05T10:00Z', 'P2');
  const free = (at: string): Typed => [at, 'account plan acct_a free'];
  const all = [...plan('starter'), confirm('P2'), ...plan('team')];
  const kept = [free('2026-11-05T10:00Z')];
  for (const begun of [STARTER_PAID, kept]) {
    const { commands, plan: found } = await putBack(begun, [...starter, ...dearer], RENEWED_NOW);
    expect([commands, found?.toBePaid, found?.isChargedAnew]).toEqual([all, ['team'], true]);
  }
  const behindFree = [free('2026-12-05T10:00Z'), ...dearer];
  expect((await putBack([], behindFree, RENEWED_NOW)).commands).toEqual(plan('team'));
  expect((await putBack(kept, behindFree, RENEWED_NOW)).commands).toEqual(plan('free', 'team'));
});

it('a plan that costs nothing is asked for alone, whatever was paid too late for the one before', async () => {
  const lost = paidTwice('2026-12-05', 'team', [['2026-12-05T12:00Z', 'account plan acct_a free']]);
  for (const more of [[], [refund('2026-12-07T10:00Z', 'LATE', 200)]]) {
    const { commands, type, program, was } = await putBack(TEAM_PAID, [...lost, ...more], RENEWED_NOW);
    expect(commands).toEqual(plan('free'));
    await type(commands ?? []);
    expect(askedOf(await accountOf(program))).toEqual(askedOf(was));
  }
});

describe('a plan whose money is back is not bought again', () => {
  const [at, JANUARY] = ['2026-12-07T10:00Z', '2027-01-31T10:00Z'];
  const [back, first] = [refund(at, 'P2', 200), refund('2026-11-21T11:00Z', 'P1', 200)];
  const asks = (one: string, when = '2026-12-06T10:00Z'): Typed => [when, `account plan acct_a ${one}`];
  const starter = asks('starter', NONE_LATER[0]);

  it.each<[string, readonly Typed[], readonly Typed[], readonly string[], string]>([
    ['renewed', TEAM_PAID, [...RENEWED, back], plan('none --now'), RENEWED_NOW],
    ['renewed, and to end', TEAM_PAID, [...RENEWED, asks('none'), back], plan('none --now'), RENEWED_NOW],
    [
      'renewed, and another to follow',
      TEAM_PAID,
      [...RENEWED, asks('starter'), back],
      plan('none --now', 'starter'),
      RENEWED_NOW,
    ],
    ['not paid by the ledger', [FIRST_ASKED], [FIRST_PAID, first], plan('none --now'), NOW],
    [
      'in whose place another was paid too late',
      TEAM_PAID,
      [...ANOTHERS, refund(at, 'P2', 20)],
      plan('none --now'),
      RENEWED_NOW,
    ],
    [
      'begun anew, with the same end',
      begin('team', '2027-01-30T10:00Z', 'P1'),
      [[JANUARY, END[1]], ...begin('team', JANUARY, 'P2'), refund(JANUARY, 'P2', 200)],
      plan('none --now'),
      '2027-02-02T10:00Z',
    ],
    ['lost, and another to follow', [], [...TEAM_PAID, starter, first], plan('starter'), NOW],
  ])('%s: what is begun is what was to follow', async (_what, kept, lost, expected, now) => {
    const { commands, told, plan: found, type, program } = await putBack(kept, lost, now);
    expect(commands).toEqual(expected);
    expect(told).toMatch(/: (team|starter) until [^,]+, paid back, then/);
    const next = expected.includes('account plan acct_a starter') ? ['starter'] : [];
    expect([found?.toBePaid, found?.isConfirmed, found?.paidBy]).toEqual([next, false, []]);
    await type(commands ?? []);
    const { billing } = await accountOf(program);
    expect([billing.plan?.plan, openAttempts(billing.payments).length]).toEqual([next[0], next.length]);
  });

  it('where the ledger has the period its refund says so, and what was to follow is asked for', async () => {
    for (const now of [NOW, RENEWED_NOW]) expect((await putBack(TEAM_PAID, [first], now)).commands).toBe(null);
    expect((await putBack(TEAM_PAID, [starter, first])).commands).toEqual(plan('starter'));
    // `team` would begin it anew, behind that refund.
    expect((await putBack([...TEAM_PAID, starter], [asks('team', '2026-11-21T10:30Z'), first])).commands).toEqual(
      plan('none'),
    );
    const dearer = begin('team', '2026-11-20T10:00Z', 'P2');
    const back = [refund('2026-11-21T10:00Z', 'P1', 20), refund('2026-11-21T10:00Z', 'P2', 90)];
    expect((await putBack(STARTER_PAID, [...dearer, ...back])).commands).toBe(null);
  });
});

it('what turned out to be paid for another plan does not stand for one whose money is back', async () => {
  const at = '2026-12-05T10:00Z';
  const late: Typed[] = [
    [at, 'account plan acct_a starter'],
    [at, 'payment decline acct_a renewal_2026-12-05T10:00:00.000Z --reason x'],
    ['2026-12-05T11:00Z', 'account plan acct_a team'],
    ['2026-12-05T11:00Z', 'payment confirm acct_a --payment P2'],
    ['2026-12-05T12:00Z', 'payment confirm acct_a renewal_2026-12-05T10:00:00.000Z --payment P3'],
    ['2026-12-05T13:00Z', 'payment refund acct_a P2 --usd 200 --id one --reason x'],
  ];
  expect((await putBack([], [...STARTER_PAID, ...late], RENEWED_NOW)).commands).toBe(null);
});

describe('of a plan whose period is over by now', () => {
  const LATER = '2027-02-20T10:00Z';
  it('and that was to end, nothing is bought: it is ended, where the ledger has it', async () => {
    expect((await putBack([], [...TEAM_PAID, NONE_LATER], LATER)).commands).toBe(null);
    expect((await putBack(TEAM_PAID, [NONE_LATER], LATER)).commands).toEqual(plan('none --now'));
  });

  it('what was to follow is asked for, and no payment of before confirmed', async () => {
    const next: Typed = ['2026-11-21T10:00Z', 'account plan acct_a starter'];
    expect((await putBack([], [...TEAM_PAID, next], LATER)).commands).toEqual(plan('starter'));
    expect((await putBack([...TEAM_PAID, next], [NONE_LATER, next], LATER)).commands).toBe(null);
    expect((await putBack([], TEAM_PAID, LATER)).commands).toEqual(plan('team'));
    const renewed: Typed[] = [...RENEWED, ['2026-12-06T10:00Z', next[1]]];
    expect((await putBack(TEAM_PAID, renewed, LATER)).commands).toEqual(plan('starter'));
  });
});
