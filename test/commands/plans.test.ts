import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { EXIT } from '../../proxy/program/command-context.ts';
import { catalogEntry } from '../fixtures/catalog-entry.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { type ProgramInProcess, programInProcess } from '../fixtures/processes/program-in-process.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const STARTER = { id: 'starter', label: 'Starter', price: '20.00', credits: '25.00' };
const TEAM = { id: 'team', label: 'Team', price: '200.00', credits: '260.00', overdraft: '20.00', grace_days: 14 };

let program: ProgramInProcess;
beforeEach(async () => {
  program = endedLater(await programInProcess());
});

function fileOf(...plans: readonly object[]): string {
  const file = join(temporaryFolder(), 'catalog.json');
  writeFileSync(
    file,
    JSON.stringify({ models: [catalogEntry('opal', { upstreams: [{ provider: 'mock', model: 'opal' }] })], plans }),
  );
  return file;
}

it('gateway plan list shows the plans of the catalog in force, and catalog show, diff and history what becomes of them', async () => {
  expect(await program.run('plan', 'list')).toMatch(/the catalog has no plans/);
  await program.run('catalog', 'publish', fileOf());
  const next = fileOf(STARTER, TEAM);
  expect(await program.json('catalog', 'diff', next)).toMatchObject({
    changes: [],
    plans: [
      { plan: 'starter', change: 'added' },
      { plan: 'team', change: 'added' },
    ],
  });
  expect(await program.run('catalog', 'diff', next)).toMatch(/plan starter.*price.*20\.00/);
  expect(await program.run('catalog', 'publish', next)).toMatch(/version 2 with 1 model and 2 plans/);
  expect(await program.run('catalog', 'publish', next)).toMatch(/nothing changes/);
  expect(await program.run('plan', 'list')).toMatch(
    /team.*Team.*200\.000000.*260\.000000.*20\.000000.*14 d.*all.*gateway/,
  );
  expect(await program.json('plan', 'list')).toMatchObject({ version: 2, plans: [{ id: 'starter' }, { id: 'team' }] });
  await expect(program.run('plan', 'list', '--product', 'other')).rejects.toMatchObject({
    ...{ exitCode: EXIT.refused, message: '--product: the catalog has no plans of "other"; it has those of gateway' },
  });
  expect(await program.run('catalog', 'show')).toMatch(/starter.*Starter/);
  await program.run('catalog', 'publish', fileOf({ ...STARTER, price: '21.00' }));
  const [, , third] = (await program.json('catalog', 'history')) as never as readonly object[];
  expect(third).toMatchObject({
    planChanges: [
      { plan: 'starter', change: 'changed', fields: [{ field: 'price', from: '20.00', to: '21.00' }] },
      { plan: 'team', change: 'removed' },
    ],
  });
  expect(await program.run('catalog', 'history')).toMatch(/plan starter.*price.*20\.00.*21\.00/);
});

it.each([{ now: [] }, { now: ['--now'] }])(
  'none $now ends what was to be paid for the plan, too, and another may be asked for',
  async ({ now }) => {
    await program.run('catalog', 'publish', fileOf(STARTER, TEAM));
    await program.run('account', 'open', '--email', 'ada@example.com', '--id', 'acct_ada', '--trial-usd', '0');
    const plan = ['account', 'plan', 'acct_ada'];
    await program.run(...plan, 'starter');
    await expect(program.run(...plan, 'team')).rejects.toThrow(
      /^acct_ada: renewal_\S+ of plan starter is open: .*, and this ends it: gateway account plan acct_ada none$/,
    );
    expect(await program.run(...plan, 'none', ...now)).toMatch(
      /starter never began, given up \S+: it was cancelled\nrenewal_\S+ of the plan starter: nothing was paid: it is not wanted any more\nwritten at/,
    );
    expect(await program.json('payment', 'list')).toEqual([]);
    const [{ attemptId }] = (await program.json('payment', 'list', 'acct_ada')) as never as [{ attemptId: string }];
    await program.run('payment', 'confirm', 'acct_ada', attemptId);
    expect(await program.json('account', 'show', 'acct_ada')).toMatchObject({ balance: '25000000' });
    expect(await program.run(...plan, 'team')).toMatch(/team once it is paid/);
    expect(await program.run('ledger', 'verify', 'acct_ada')).toMatch(/no fault/);
  },
);

it('what is open for a plan that there is, operators are told to decline, and owners what they may do, after which another may be asked for', async () => {
  let at = Date.now();
  program.clock = () => at;
  const third = { ...TEAM, id: 'third', price: '300.00', credits: '400.00' };
  await program.run('catalog', 'publish', fileOf(STARTER, TEAM, third));
  await program.run('account', 'open', '--email', 'ada@example.com', '--id', 'acct_ada', '--trial-usd', '0');
  const plan = (id: string, ...more: readonly string[]) => program.run('account', 'plan', 'acct_ada', id, ...more);
  const owner = ['--as', 'ada@example.com'];
  await plan('starter');
  await program.run('payment', 'confirm', 'acct_ada', '--payment', 'transfer 1');
  at += 60_000;
  await plan('team');
  await expect(plan('third')).rejects.toThrow(
    /this ends it: gateway payment decline acct_ada upgrade_\S+ --reason "…"$/,
  );
  await expect(plan('third', ...owner)).rejects.toThrow(
    /this ends it: gateway account plan acct_ada starter, or ask an operator$/,
  );
  expect(await plan('starter', ...owner)).toMatch(
    /upgrade_\S+ of the plan team: nothing was paid: it is not wanted any more/,
  );
  await plan('third', ...owner);
  await plan('starter', ...owner);
  at += 40 * 86_400_000;
  await plan('starter');
  await expect(plan('team')).rejects.toThrow(
    /this ends it: gateway payment decline acct_ada renewal_\S+ --reason "…"$/,
  );
  await expect(plan('team', ...owner)).rejects.toThrow(
    /this ends it: gateway account plan acct_ada none, or ask an operator$/,
  );
  await plan('none', ...owner);
  expect(await plan('team', ...owner)).toMatch(/team once it is paid/);
});

it('gateway account plan begins a plan with its payment, account show says how it stands, and none ends it', async () => {
  let at = Date.now();
  program.clock = () => at;
  await program.run('catalog', 'publish', fileOf(STARTER, TEAM, { ...STARTER, id: 'open-source', price: '0' }));
  await program.run('account', 'open', '--email', 'ada@example.com', '--id', 'acct_ada', '--trial-usd', '0');
  await expect(program.run('account', 'plan', 'acct_ada', 'tema')).rejects.toThrow(
    /no plan "tema" for the account; it has starter, team, open-source/,
  );
  expect(await program.run('account', 'plan', 'acct_ada', 'starter')).toMatch(
    /^acct_ada: trial; starter once it is paid; the first payment of the plan starter is not paid yet, the plan is given up unless it is paid by \S+: pay for it, or buy credits\nrenewal_.*: waits to be paid\n\nnext, when it is: gateway payment confirm acct_ada renewal_\S+ --config \S+\nwritten at /,
  );
  expect(await program.run('account', 'plan', 'acct_ada', 'starter')).toMatch(/nothing was written/);
  await program.run('payment', 'confirm', 'acct_ada', '--payment', 'transfer 1');
  expect(await program.run('account', 'show', 'acct_ada')).toMatch(/plan +starter, \S+ to \S+, then renewed\n/);
  expect(await program.json('account', 'show', 'acct_ada')).toMatchObject({
    ...{ balance: '25000000', overdraftMicroUsd: '0' },
  });
  expect(await program.run('account', 'show', 'acct_ada')).not.toMatch(/overdraft/);
  at += 60_000;
  expect(await program.run('account', 'plan', 'acct_ada', 'team', '--reason', 'more of us')).toMatch(
    /upgrade_.*waits to be paid/,
  );
  await program.run('payment', 'confirm', 'acct_ada', '--payment', 'transfer 2');
  expect(await program.json('account', 'plan', 'acct_ada', 'none')).toMatchObject({
    plan: 'team',
    billing: { plan: 'team', overdraft: '20000000', next: { plan: 'none' } },
  });
  const shown = await program.run('account', 'show', 'acct_ada');
  expect(shown).toMatch(/plan +team, .*, then it ends\n/);
  expect(shown).toMatch(
    /^balance .*\noverdraft +20\.000000 USD, which may be owed by the plan beyond what is available$/m,
  );
  const { availableMicroUsd, balance, overdraftMicroUsd } = await program.json('account', 'show', 'acct_ada');
  expect([availableMicroUsd, overdraftMicroUsd]).toEqual([balance, '20000000']);
  await program.run('account', 'plan', 'acct_ada', 'none', '--now', '--reason', 'fraud 4711', '--actor', 'grace');
  expect(await program.run('account', 'show', 'acct_ada')).toMatch(/plan +none; team ended \S+: it was cancelled\n/);
  const id = /upgrade_\S+/.exec(await program.run('payment', 'list', 'acct_ada'))?.[0] ?? '';
  expect(await program.run('payment', 'ask', 'acct_ada', id)).toMatch(/ paid \(transfer \d\)\nnothing/);
  for (const of of [
    ['account', 'show', 'acct_ada'],
    ['ledger', 'replay', 'acct_ada', '--at', '2040-01-01'],
  ])
    expect(await program.json(...of)).toMatchObject({ plan: 'none' });
  expect(await program.json('account', 'list')).toMatchObject([{ plan: 'none' }]);
  expect(await program.json('account', 'plan', 'acct_ada', 'open-source')).toMatchObject({
    outcome: null,
    plan: 'open-source',
  });
  await expect(program.run('account', 'plan', 'acct_ada', 'team', '--now')).rejects.toThrow(/--now/);
  expect(await program.run('ledger', 'replay', 'acct_ada')).toMatch(/asked for plan team/);
  const month = new Date(at).toISOString().slice(0, 7);
  const statement = await program.run('account', 'statement', 'acct_ada', '--month', month);
  expect(statement).toMatch(/asked for plan team/);
  expect(statement).toMatch(/the rest of a period of plan team, .* is to be paid: .* \(upgrade_/);
  expect(statement).toMatch(/a plan's credits granted \(payment_transfer 1\).*: a period of plan starter, .* begins/);
  expect(statement).toMatch(/\(payment_transfer 2\).*: the rest of a period of plan team, .* begins/);
  expect(statement).toMatch(/a period of plan open-source, .* begins, for nothing/);
  expect(statement).toMatch(/grace ended the plan from .*: fraud 4711\W.*plan team ended: that was asked for, or/s);
  expect(await program.run('ledger', 'verify', 'acct_ada')).toMatch(/0 faults|no fault/);
});

it('the money of a plan that goes back is told with what becomes of that, by each command and account show', async () => {
  let at = Date.parse('2026-11-05T10:00:00.000Z');
  program.clock = () => at;
  await program.run('catalog', 'publish', fileOf(STARTER, TEAM));
  await program.run('account', 'open', '--email', 'ada@example.com', '--id', 'acct_ada', '--trial-usd', '0');
  await program.run('account', 'plan', 'acct_ada', 'team');
  await program.run('payment', 'confirm', 'acct_ada', '--payment', 'pays 1');
  const said = ['--reason', 'as agreed'];
  /** Where its ledger is each names; how is not looked at here. */
  const run = async (...words: readonly string[]) =>
    (await program.run(...words)).replaceAll(/ --config \S+(?=`)/g, ' --config …');
  const back = (word: string, ...more: readonly string[]) =>
    run('payment', word, 'acct_ada', 'pays 1', ...more, ...said);
  const show = () => run('account', 'show', 'acct_ada');
  const GONE =
    'what was paid for the plan team went back: nothing may be owed by it, and it ends at 2026-12-05T10:00:00.000Z;' +
    ' asking for it again begins it anew, and `gateway account plan acct_ada none --now --config …` ends it now';
  expect(await back('refund', '--usd', '150', '--id', 'r1')).not.toContain('plan');
  expect(await show()).toMatch(/, then renewed\n/);
  expect(await back('refund', '--usd', '50', '--id', 'r2')).toContain(`; the balance is 0.000000 USD; ${GONE}\n`);
  const shown = await show();
  expect(shown).toContain(`team, 2026-11-05T10:00:00.000Z to 2026-12-05T10:00:00.000Z; ${GONE}\n`);
  expect(shown).not.toMatch(/^overdraft/m);
  expect(await program.json('account', 'show', 'acct_ada')).toMatchObject({
    overdraftMicroUsd: '0',
    planPaidBack: true,
  });
  const GOES_ON = 'USD; the plan team is paid, and goes on\n';
  expect(await back('withdraw-refund', '--id', 'r2')).toContain(GOES_ON);
  expect(await program.json('account', 'show', 'acct_ada')).toMatchObject({
    ...{ overdraftMicroUsd: '20000000', planPaidBack: false },
  });
  expect(await back('dispute', '--usd', '50', '--id', 'case-7')).toContain(`USD; ${GONE}\n`);
  expect(await back('close-dispute', '--id', 'case-7', '--outcome', 'won')).toContain(GOES_ON);
  expect(await back('close-dispute', '--id', 'case-7', '--outcome', 'lost')).toContain(`USD; ${GONE}\n`);
  at = Date.parse('2026-11-20T10:00:00.000Z');
  expect(await program.run('account', 'plan', 'acct_ada', 'team')).toMatch(
    /^acct_ada: none; team once it is paid; .*\nrenewal_2026-11-20T10:00:00.000Z: waits to be paid/,
  );
  await program.run('payment', 'confirm', 'acct_ada', '--payment', 'pays 2');
  expect(await show()).toMatch(/plan +team, 2026-11-20T10:00:00.000Z to 2026-12-20T10:00:00.000Z, then renewed\n/);
  await program.run('payment', 'refund', 'acct_ada', 'pays 2', '--usd', '200', ...said);
  at = Date.parse('2026-12-21T10:00:00.000Z');
  expect(await show()).toMatch(/nothing may be owed by it, and it is over; asking for it again/);
  expect(await program.json('account', 'list')).toMatchObject([{ plan: 'none' }]);
  expect(await program.run('ledger', 'verify', 'acct_ada')).toMatch(/no fault/);
});

it('of a plan whose money went back a member is told what they may see, and may do', async () => {
  await program.run('catalog', 'publish', fileOf(STARTER, TEAM));
  const open = ['--email', 'own@example.com', '--kind', 'organization', '--id', 'acct_org', '--trial-usd', '0'];
  await program.run('account', 'open', ...open);
  await program.run('member', 'add', 'acct_org', 'adm@example.com', '--role', 'admin');
  await program.run('account', 'plan', 'acct_org', 'team');
  await program.run('payment', 'confirm', 'acct_org', '--payment', 'pays 1');
  const show = ['account', 'show', 'acct_org', '--as'];
  const before = await program.json(...show, 'adm@example.com');
  await program.run('payment', 'dispute', 'acct_org', 'pays 1', '--usd', '200', '--id', 'dp_e', '--reason', 'told');
  const admin = await program.run(...show, 'adm@example.com');
  expect(admin).toMatch(/plan +team, \S+ to \S+, then it ends\n/);
  expect(admin).not.toMatch(/went back|dp_e/);
  const after = await program.json(...show, 'adm@example.com');
  expect(Object.keys(after)).toEqual(Object.keys(before));
  expect(after).not.toHaveProperty('planPaidBack');
  expect(await program.run(...show, 'own@example.com')).toMatch(
    /plan +team, \S+ to \S+; what was paid for the plan team went back: .* ends at \S+; asking for it again begins it anew\n/,
  );
  expect(await program.json(...show, 'own@example.com')).toMatchObject({ planPaidBack: true });
  await program.run('account', 'plan', 'acct_org', 'starter', '--as', 'own@example.com');
});

it('what follows a plan whose money went back, and comes again, is told as it is', async () => {
  let at = Date.parse('2026-11-05T10:00:00.000Z');
  program.clock = () => at;
  await program.run('catalog', 'publish', fileOf(STARTER, TEAM));
  await program.run('account', 'open', '--email', 'ada@example.com', '--id', 'acct_ada', '--trial-usd', '0');
  const plan = (id: string) => program.run('account', 'plan', 'acct_ada', id);
  await plan('team');
  await program.run('payment', 'confirm', 'acct_ada', '--payment', 'pays 1');
  const said = ['acct_ada', 'pays 1', '--reason', 'x'];
  let refunds = 0;
  const refund = () => program.run('payment', 'refund', ...said, '--usd', '200', '--id', `r${++refunds}`);
  const withdraw = () => program.run('payment', 'withdraw-refund', ...said, '--id', `r${refunds}`);
  const show = () => program.run('account', 'show', 'acct_ada');
  const END = '2026-12-05T10:00:00.000Z';
  await plan('none');
  expect(await refund()).toContain(`may be owed by it, and it ends at ${END}; asking`);
  expect(await withdraw()).toContain(`; the plan team is paid, and it ends at ${END}\n`);
  await plan('starter');
  expect(await refund()).toContain(`may be owed by it, and starter follows at ${END}; asking`);
  expect(await show()).toContain(`${END}, then starter; what was paid for the plan team went back`);
  expect(await withdraw()).toContain(`; the plan team is paid, and starter follows at ${END}\n`);
  await refund();
  at = Date.parse(END);
  expect(await show()).toMatch(/, then starter; that is over: the next is due, .*; what was paid for the plan team/);
  await program.run('account', 'plan', 'acct_ada', 'team');
  await program.run('payment', 'confirm', 'acct_ada', '--payment', 'pays 2');
  await plan('starter');
  at = Date.parse('2027-01-06T10:00:00.000Z');
  await plan('starter');
  said[1] = 'pays 2';
  expect(await refund()).toMatch(/may be owed by it until the plan starter, which follows it, is paid\n/);
  expect(await show()).toMatch(/, then starter; the renewal of the plan starter is not paid yet, [^;]*$/m);
  expect(await withdraw()).toContain('; the plan team is paid until 2027-01-05T10:00:00.000Z\n');
  await plan('team');
  expect(await refund()).toMatch(/may be owed by it until its renewal is paid\n/);
  expect(await program.run('ledger', 'verify', 'acct_ada')).toMatch(/no fault/);
});

it('a statement has no begin of a plan that was asked for and never had, and says what became of its payment', async () => {
  let at = Date.parse('2026-11-05T10:00:00.000Z');
  program.clock = () => at;
  await program.run('catalog', 'publish', fileOf(STARTER, TEAM));
  await program.run('account', 'open', '--email', 'ada@example.com', '--id', 'acct_ada', '--trial-usd', '0');
  const attempts = async (): Promise<readonly { attemptId: string }[]> =>
    (await program.json('payment', 'list', 'acct_ada')) as never;
  await program.run('account', 'plan', 'acct_ada', 'starter', '--actor', 'grace');
  const [first] = await attempts();
  await program.run('account', 'plan', 'acct_ada', 'none', '--as', 'ada@example.com', '--reason', 'too dear');
  at += 60_000;
  await program.run('account', 'plan', 'acct_ada', 'team');
  const second = (await attempts()).find(({ attemptId }) => attemptId !== first?.attemptId);
  await program.run('payment', 'decline', 'acct_ada', '--reason', 'no transfer came', '--actor', 'eve');
  await program.run('credits', 'purchase', 'acct_ada', '--usd', '5', '--id', 'invoice-1');
  await program.run('payment', 'decline', 'acct_ada', 'invoice-1', '--reason', 'typed twice');
  for (const format of ['table', 'json', 'csv', 'html']) {
    const shown = await program.run('account', 'statement', 'acct_ada', '--month', '2026-11', '--format', format);
    expect(shown).not.toMatch(/begins/);
    expect(shown).toMatch(/ began to buy 5\.000000 USD of credits .* \(invoice-1\).*: typed twice \(invoice-1\)/s);
    expect(shown).toMatch(
      new RegExp(`a period of plan starter, .* is to be paid: 20.000000 USD at manual, .* \\(${first?.attemptId}\\)`),
    );
    expect(shown).toMatch(new RegExp(`nothing was paid: it is not wanted any more \\(${first?.attemptId}\\)`));
    expect(shown).toMatch(new RegExp(`ended by eve: no transfer came \\(${second?.attemptId}\\)`));
    expect(shown).toContain('plan starter never began: it was not wanted any more before it was paid');
    expect(shown).not.toContain('ended: that was asked for');
  }
  expect(await program.run('ledger', 'replay', 'acct_ada')).toMatch(/plan starter never began: it was not wanted/);
  await program.run('account', 'plan', 'acct_ada', 'none');
  expect(await program.run('account', 'show', 'acct_ada')).toMatch(
    /plan +trial; team never began, given up \S+: it was cancelled\n/,
  );
});

it('who asks for a plan whose renewal was not paid in time, which no gateway has looked at, has it begun anew', async () => {
  const DAY = 86_400_000;
  let at = Date.parse('2026-11-05T10:00:00.000Z');
  program.clock = () => at;
  await program.run('catalog', 'publish', fileOf(STARTER));
  await program.run('account', 'open', '--email', 'ada@example.com', '--id', 'acct_ada', '--trial-usd', '0');
  const plan = ['account', 'plan', 'acct_ada', 'starter'];
  await program.run(...plan);
  await program.run('payment', 'confirm', 'acct_ada', '--payment', 'transfer 1');
  await program.run('account', 'open', '--email', 'bob@example.com', '--id', 'acct_bob', '--trial-usd', '0');
  await program.run('account', 'plan', 'acct_bob', 'starter');
  at += 31 * DAY;
  expect(await program.run(...plan)).toMatch(/renewal_2026-12-05T10:00:00.000Z: waits to be paid/);
  const listed = async () =>
    ((await program.json('account', 'list')) as never as { plan: string }[]).map(({ plan }) => plan);
  expect(await listed()).toEqual(['starter', 'trial']);
  at += 14 * DAY;
  expect(await listed()).toEqual(['none', 'trial']);
  expect(await program.json('account', 'show', 'acct_ada')).toMatchObject({ plan: 'none' });
  expect(await program.run(...plan)).toMatch(
    /^acct_ada: none; starter ended 2026-12-20T10:00:00.000Z: it was not paid in time\nrenewal_2026-12-05T10:00:00.000Z of the plan starter: nothing was paid: it is not wanted any more\nacct_ada: none; starter once it is paid; the first payment .*: pay for it, or buy credits\nrenewal_2026-12-20T10:00:00.000Z: waits to be paid\n/,
  );
  await program.run('payment', 'confirm', 'acct_ada', '--payment', 'transfer 2');
  expect(await program.run('account', 'show', 'acct_ada')).toMatch(
    /plan +starter, 2026-12-20T10:00:00.000Z to 2027-01-20T10:00:00.000Z, then renewed\n/,
  );
  expect(await program.run('ledger', 'verify', 'acct_ada')).toMatch(/0 faults|no fault/);
});

it('who goes back to the plan while the renewal of another is open has that withdrawn and the plan’s own begun, in one command', async () => {
  let at = Date.parse('2026-03-10T10:00:00.000Z');
  program.clock = () => at;
  await program.run('catalog', 'publish', fileOf(STARTER, TEAM));
  await program.run('account', 'open', '--email', 'ada@example.com', '--id', 'acct_ada', '--trial-usd', '0');
  const plan = (id: string) => program.run('account', 'plan', 'acct_ada', id, '--as', 'ada@example.com');
  await plan('team');
  await program.run('payment', 'confirm', 'acct_ada', '--payment', 'transfer 1');
  await plan('starter');
  at = Date.parse('2026-04-11T10:00:00.000Z');
  expect(await plan('starter')).toMatch(/renewal of the plan starter is not paid yet, .* by 2026-04-18T10:00/);
  at = Date.parse('2026-04-16T10:00:00.000Z');
  expect(await plan('team')).toMatch(
    /^renewal_2026-04-10T10:00:00.000Z of the plan starter: nothing was paid: it is not wanted any more\nacct_ada: team, .*, then renewed; the renewal of the plan team is not paid yet, the plan ends unless it is paid by 2026-04-30T10:00:00.000Z: pay for it, or buy credits\nrenewal_2026-04-10T10:00:00.000Z_2: waits to be paid/,
  );
  await program.run('payment', 'confirm', 'acct_ada', '--payment', 'transfer 2');
  expect(await program.run('account', 'show', 'acct_ada')).toMatch(
    /plan +team, 2026-04-10T10:00:00.000Z to 2026-05-10T/,
  );
  expect(await program.run('ledger', 'verify', 'acct_ada')).toMatch(/no fault/);
});

it('account show keeps the end of the plan that was had beside one that was asked for since and never was', async () => {
  let at = Date.parse('2026-11-05T10:00:00.000Z');
  program.clock = () => at;
  await program.run('catalog', 'publish', fileOf(STARTER, TEAM));
  await program.run('account', 'open', '--email', 'ada@example.com', '--id', 'acct_ada', '--trial-usd', '0');
  const plan = ['account', 'plan', 'acct_ada'];
  await program.run(...plan, 'starter');
  await program.run('payment', 'confirm', 'acct_ada', '--payment', 'transfer 1');
  at += 60_000;
  await program.run(...plan, 'none', '--now');
  const had = 'none; starter ended 2026-11-05T10:01:00.000Z: it was cancelled';
  for (const again of ['team', 'starter']) {
    at += 60_000;
    await program.run(...plan, again);
    const given = `${had}; then ${again} never began, given up ${new Date(at).toISOString()}: it was cancelled\n`;
    expect(await program.run(...plan, 'none')).toContain(given);
    expect(await program.run('account', 'show', 'acct_ada')).toContain(given);
    expect((await program.json('account', 'show', 'acct_ada')).billing).toMatchObject({
      planEnds: [
        { plan: 'starter', reason: 'cancelled', wasInForce: true },
        { plan: again, reason: 'cancelled', wasInForce: false },
      ],
    });
  }
});
