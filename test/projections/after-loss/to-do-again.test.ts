import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { encodeEvents } from '../../../contracts/event-codec.ts';
import type { EventLog } from '../../../contracts/event-log.ts';
import type { AccountEvent, UsageRecorded } from '../../../contracts/events.ts';
import { type AccountId, accountId, accountStream, commandId, NO_STREAM, revision } from '../../../contracts/ids.ts';
import { microUsd } from '../../../contracts/money.ts';
import type { AccountCommand } from '../../../ledger/account/commands.ts';
import { acceptLoss } from '../../../ledger/identity/accept-loss.ts';
import { readLedgerState } from '../../../ledger/identity/ledger-state.ts';
import { findAllToDoAgain } from '../../../projections/after-loss/all-to-do-again.ts';
import { findToDoAgain, type ToDoAgain } from '../../../projections/after-loss/to-do-again.ts';
import { endedLater } from '../../fixtures/ended-later.ts';
import { given } from '../../fixtures/ledger/decider-specification.ts';
import {
  ACCOUNT,
  CARD,
  granted,
  keyIssued,
  OTHER_KEY,
  opened,
  record,
  requestOf,
  usageOf,
} from '../../fixtures/ledger/example-account.ts';
import { programInProcess } from '../../fixtures/processes/program-in-process.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';
import { copyOf, toldOf, viewsOf } from '../put-back.ts';

it('what views know and the ledger has lost is named, as far as an operator has to do it again', async () => {
  const data = temporaryFolder();
  const program = endedLater(await programInProcess());
  const run = (...args: string[]) => program.json(...args);
  await run('account', 'open', '--email', 'ada@example.com', '--id', 'acct_ada', '--trial-usd', '5');
  const { keyId: kept } = await run('key', 'issue', 'acct_ada', '--name', 'kept');
  const { keyId: lifted } = await run('key', 'issue', 'acct_ada', '--name', 'lifted', '--monthly-limit-usd', '1');
  await run('limit', 'set', 'acct_ada', '--usd', '100');
  const shared = await program.log.headPosition();
  // All of this is lost.
  await run('limit', 'set', 'acct_ada', '--none');
  await run('limit', 'set', 'acct_ada', '--key', String(kept), '--usd', '3');
  await run('limit', 'set', 'acct_ada', '--key', String(lifted), '--none');
  const soft = ['--usd', '9', '--soft', '--thresholds', '60,90'];
  await run('limit', 'set', 'acct_ada', '--member', 'ada@example.com', ...soft);
  await run(
    'credits',
    'grant',
    'acct_ada',
    '--usd',
    '12.50',
    '--id',
    'paid',
    '--source',
    'purchase',
    '--expires',
    '2099-01-01',
  );
  const { keyId: laptop } = await run('key', 'issue', 'acct_ada', '--name', 'laptop', '--monthly-limit-usd', '7');
  const { keyId: ended } = await run('key', 'issue', 'acct_ada', '--name', 'ended');
  await run('key', 'revoke', 'acct_ada', String(ended));
  await run('account', 'open', '--email', 'bob@example.com', '--id', 'acct_bob', '--trial-usd', '1');
  await run('account', 'open', '--email', 'eve@example.com', '--id', 'acct_eve', '--trial-usd', '0');

  const views = await viewsOf(program.log, data);
  const left = await copyOf(program.log, join(data, 'left.db'), (event) => event.position <= Number(shared));

  expect(await findToDoAgain(program.log, views, Date.now())).toEqual({ catalog: null, accounts: [] });
  expect(await findToDoAgain(left, null, Date.now())).toBe(null);
  const found = await findToDoAgain(left, views, Date.now());
  expect(found?.accounts).toMatchObject([
    {
      accountId: 'acct_ada',
      account: null,
      grants: [{ grantId: 'paid', source: 'purchase', amount: '12500000', remaining: '12500000' }],
      keys: [{ keyId: laptop, name: 'laptop' }],
      limits: [
        { keyId: null, limit: null },
        { keyId: kept, limit: '3000000' },
        { keyId: laptop, limit: '7000000' },
        { member: 'ada@example.com', limit: '9000000', mode: 'soft', thresholdsPercent: [60, 90] },
        { keyId: lifted, limit: null },
      ],
    },
    {
      accountId: 'acct_bob',
      account: { kind: 'personal', email: 'bob@example.com' },
      grants: [{ grantId: 'grant_trial', amount: '1000000' }],
    },
    { accountId: 'acct_eve', account: { email: 'eve@example.com' }, grants: [], keys: [], limits: [] },
  ]);
  expect(toldOf(found)).toEqual([
    'balance of acct_ada: it was 17.500000 USD, it is 5.000000 USD (-12.500000)',
    'grant paid of acct_ada: purchase, 12.500000 USD, 12.500000 of it left, until 2099-01-01T00:00:00.000Z',
    expect.stringMatching(
      new RegExp(`^key ${laptop} of acct_ada \\("laptop", ….{4}\\), for all models, without end: issue another one$`),
    ),
    'limit of acct_ada: none',
    `limit of ${kept} of acct_ada: 3.000000 USD a month`,
    `limit of ${laptop} of acct_ada: 7.000000 USD a month`,
    'limit of ada@example.com of acct_ada: 9.000000 USD a month, soft, told at 60, 90%',
    `limit of ${lifted} of acct_ada: none`,
    expect.stringMatching(/^account acct_bob \(personal, bob@example\.com, plan /),
    'balance of acct_bob: it was 1.000000 USD, it is 0.000000 USD (-1.000000)',
    expect.stringMatching(/^grant grant_trial of acct_bob: trial, 1\.000000 USD, 1\.000000 of it left, until /),
    expect.stringMatching(/^account acct_eve \(/),
  ]);
});

const IN_MONTH = Date.parse('2026-11-20T00:00:00Z');
const EVE = accountId('acct_eve');
const BOB = accountId('acct_bob');

/** Four requests of an account, of which two cost more than their hold of 20: one of them is approved; the last makes a debt. */
function lifeOf(): { readonly kept: AccountEvent[]; readonly lost: AccountEvent[] } {
  const kept = [opened, granted('g', 100), keyIssued()];
  const add = (to: AccountEvent[], command: AccountCommand) => to.push(...given(...kept, ...lost).decided(command));
  const lost: AccountEvent[] = [];
  add(kept, record(usageOf(1, 10)));
  for (const number of [2, 3]) add(lost, record(usageOf(number, 70, { hold: microUsd(20n) })));
  add(lost, { type: 'DropException', requestId: requestOf(2), reason: 'test', actor: 'test' });
  add(lost, record(usageOf(4, 60)));
  const limited = { keyId: OTHER_KEY, name: 'limited', models: ['svc-mock'], expiresAt: '2026-12-01T00:00:00.000Z' };
  lost.push(keyIssued({ ...limited, sha256: 'b4'.repeat(32) }));
  return { kept, lost };
}

/** A ledger with a day that can be lost, the views of it, and what is left without that day. */
async function ledgerWithLostDay() {
  const data = temporaryFolder();
  const program = endedLater(await programInProcess());
  const yaml = readFileSync(new URL('../../../contracts/example-catalog.yaml', import.meta.url), 'utf8');
  const publish = async (text: string) => {
    writeFileSync(join(data, 'catalog.yaml'), text);
    await program.run('catalog', 'publish', join(data, 'catalog.yaml'));
  };
  const append = (id: AccountId, after: number, events: readonly AccountEvent[]) =>
    program.log.append(accountStream(id), revision(after), encodeEvents(events, recording()));
  const { kept, lost } = lifeOf();
  const suspended: AccountEvent = { type: 'AccountSuspended', data: { reason: 'fraud' } };
  const openedAs = (id: AccountId): AccountEvent =>
    ({ ...opened, data: { ...opened.data, accountId: id } }) as AccountEvent;
  await publish(yaml);
  await append(ACCOUNT, NO_STREAM, kept);
  await append(BOB, NO_STREAM, [openedAs(BOB), suspended]);
  const shared = await program.log.headPosition();
  await append(ACCOUNT, kept.length - 1, lost);
  await append(BOB, 1, [{ type: 'AccountReinstated', data: { reason: 'paid' } }]);
  await append(EVE, NO_STREAM, [openedAs(EVE), granted('e', 7), suspended]);
  await publish(yaml.replace('input: "5.00", output: "25.00"', 'input: "50.00", output: "250.00"'));
  const left = await copyOf(program.log, join(data, 'left.db'), ({ position }) => position <= Number(shared));
  return { data, program, left, kept, views: await viewsOf(program.log, data) };
}

const NOTHING_LOST = {
  whyAside: null,
  suspended: null,
  isReinstatementLost: false,
  limits: [],
  members: [],
  rotatedKeys: [],
  payments: null,
  plan: null,
  statement: null,
  debt: null,
  spentThisMonth: null,
  settlesByItself: null,
};

it('money, prices, exceptions and suspensions that are lost are told, with what is there instead', async () => {
  const { left, views } = await ledgerWithLostDay();
  const found = await findToDoAgain(left, views, IN_MONTH);
  expect(found?.catalog).toMatchObject({ was: { version: 2 }, is: { version: 1 }, pricesDiffer: ['opal-large'] });
  expect(found?.accounts).toEqual([
    {
      ...{ ...NOTHING_LOST, accountId: BOB, account: null, isReinstatementLost: true },
      ...{
        grants: [],
        keys: [],
        balance: null,
        exceptions: [],
        members: [],
        rotatedKeys: [],
        payments: null,
        statement: null,
      },
    },
    {
      ...{ ...NOTHING_LOST, accountId: EVE, suspended: 'fraud' },
      account: { kind: 'personal', email: 'owner@example.com', plan: 'trial', product: 'gateway' },
      grants: [expect.objectContaining({ grantId: 'e' })],
      ...{ keys: [], balance: { was: '7', is: '0' }, exceptions: [] },
    },
    {
      ...{ ...NOTHING_LOST, accountId: ACCOUNT, account: null, grants: [] },
      keys: [
        { keyId: OTHER_KEY, name: 'limited', last4: 'wxyz', member: null, models: ['svc-mock'], expiresAtMs: END_MS },
      ],
      balance: { was: '-10', is: '90' },
      debt: { was: '10', is: '0' },
      spentThisMonth: { month: '2026-11', was: '110', is: '10' },
      exceptions: [
        { requestId: requestOf(3), was: 'open', is: 'lost', leftOut: '50', late: null },
        { requestId: requestOf(2), was: 'dropped', is: 'lost', leftOut: null, late: null },
      ],
    },
  ]);
  expect(toldOf(found)).toEqual([
    'catalog: version 2 was in force, the ledger has version 1: publish it again; prices differ of opal-large',
    'reinstatement of acct_bob: the ledger has it suspended',
    expect.stringMatching(/^account acct_eve \(/),
    'suspension of acct_eve: "fraud"',
    'balance of acct_eve: it was 0.000007 USD, it is 0.000000 USD (-0.000007)',
    'grant e of acct_eve: purchase, 0.000007 USD, 0.000007 of it left, without end',
    'balance of acme: it was -0.000010 USD, it is 0.000090 USD (+0.000100)',
    'debt of acme: it was 0.000010 USD, it is 0.000000 USD (-0.000010)',
    'spent by acme in 2026-11: it was 0.000110 USD, it is 0.000010 USD (-0.000100)',
    'key key_b of acme ("limited", …wxyz), for svc-mock, until 2026-12-01T00:00:00.000Z: issue another one',
    `exception ${requestOf(3)} of acme: open, 0.000050 USD left out, the ledger has nothing of it`,
    `exception ${requestOf(2)} of acme: dropped, the ledger has nothing of it`,
  ]);
});

describe('requests that the journal still holds', () => {
  const settling = (usages: readonly UsageRecorded[]) =>
    new Map([
      [
        ACCOUNT,
        usages.map((usage) => ({ accountId: ACCOUNT, usage, card: CARD, leaseId: null, isLate: false, epoch: 0 })),
      ],
    ]);
  const ofAccount = (found: ToDoAgain | null) => found?.accounts.find(({ accountId: id }) => id === ACCOUNT);
  const [second, third] = [2, 3].map((number) => usageOf(number, 70, { hold: microUsd(20n) })) as [
    UsageRecorded,
    UsageRecorded,
  ];

  it('are not lost: they are settled at the next start, and what is left of exceptions is told as it will be', async () => {
    const { left, views } = await ledgerWithLostDay();
    const found = await findToDoAgain(left, views, IN_MONTH, settling([second, third, usageOf(4, 60)]));
    expect(ofAccount(found)).toMatchObject({
      ...{ balance: null, debt: null, spentThisMonth: null, keys: [{ keyId: OTHER_KEY }] },
      exceptions: [{ requestId: requestOf(2), was: 'dropped', is: 'opens', leftOut: '50', late: null }],
      settlesByItself: { requests: 3, amount: '100' },
    });
  });

  it('are told apart from what is lost beside them', async () => {
    const { left, views } = await ledgerWithLostDay();
    const found = await findToDoAgain(left, views, IN_MONTH, settling([second, third]));
    expect(ofAccount(found)).toMatchObject({
      balance: { was: '-10', is: '50' },
      debt: { was: '10', is: '0' },
      spentThisMonth: { was: '110', is: '50' },
      settlesByItself: { requests: 2, amount: '40' },
    });
    expect(toldOf(found)).toEqual(
      expect.arrayContaining([
        'balance of acme: it was -0.000010 USD, it will be 0.000050 USD (+0.000060)',
        'nothing to do for 2 requests of acme in the journal, settled at the next start: 0.000040 USD, which the amounts above have already',
        `exception ${requestOf(2)} of acme: dropped, 0.000050 USD left out, the ledger has it open once the journal is settled, at the next start`,
      ]),
    );
  });

  it('are no loss where the ledger has everything that the views know', async () => {
    const { program, views } = await ledgerWithLostDay();
    const found = await findToDoAgain(program.log, views, IN_MONTH, settling([usageOf(5, 60)]));
    expect(found?.accounts).toEqual([]);
  });
});

it('a ledger that is whole has lost nothing, also where the views lag behind it', async () => {
  const { data, program, left, views } = await ledgerWithLostDay();
  const nothing = { catalog: null, accounts: [] };
  expect(await findToDoAgain(program.log, views, IN_MONTH)).toEqual(nothing);
  mkdirSync(join(data, 'earlier'));
  const earlier = await viewsOf(left, join(data, 'earlier'));
  expect(await findToDoAgain(program.log, earlier, IN_MONTH)).toEqual(nothing);
});

it('a ledger that was put back and went on is told of as it is by now', async () => {
  const { left, kept, views } = await ledgerWithLostDay();
  // As long as what was lost, and longer.
  let life = kept;
  for (let number = 11; number < 20; number++) life = [...life, ...given(...life).decided(record(usageOf(number, 1)))];
  const since = encodeEvents(life.slice(kept.length), recording());
  await left.append(accountStream(ACCOUNT), revision(kept.length - 1), since);
  const found = await findToDoAgain(left, views, IN_MONTH);
  expect(found?.accounts.find(({ accountId: id }) => id === ACCOUNT)).toMatchObject({
    balance: { was: '-10', is: '81' },
    spentThisMonth: { was: '110', is: '19' },
  });
});

it('a ledger without any catalog has lost the prices of all models, of which a line names some', async () => {
  const { data, views } = await ledgerWithLostDay();
  const empty = await copyOf(null, join(data, 'empty.db'));
  const found = await findToDoAgain(empty, views, IN_MONTH);
  expect(found?.catalog).toMatchObject({ was: { version: 2 }, is: null });
  const models = Array.from({ length: 12 }, (_, number) => `m${number}`);
  const catalog = { was: { version: 2, hash: 'a' }, is: null, pricesDiffer: models };
  expect(toldOf({ catalog, accounts: [] })).toEqual([
    'catalog: version 2 was in force, the ledger has none: publish it again; ' +
      'prices differ of m0, m1, m2, m3, m4, m5, m6, m7, m8, m9 and 2 more',
  ]);
});

describe('views that earlier losses have set aside', () => {
  /** The day is lost with all else; what is opened anew knows little, and the backup without that day is found. */
  async function foundAfterAll() {
    const { data, left } = await ledgerWithLostDay();
    renameSync(join(data, 'views.db'), join(data, 'views.db.before-generation-2'));
    const anew = await copyOf(null, join(data, 'anew.db'));
    const again = [opened, granted('anew', 5), keyIssued({ keyId: OTHER_KEY })];
    const revoked: AccountEvent = {
      type: 'ApiKeyRevoked',
      data: { keyId: OTHER_KEY, revokedAt: '2026-11-06T13:00:00.000Z' },
    };
    await anew.append(accountStream(ACCOUNT), NO_STREAM, encodeEvents([...again, revoked], recording()));
    await viewsOf(anew, data);
    const find = (log: EventLog) =>
      findAllToDoAgain(log, { dataFolder: data, generation: 3, nowMs: IN_MONTH, settling: new Map() });
    return { data, left, find };
  }

  it('are asked, too, where the ledger does not have the generation that they were set aside for', async () => {
    const { data, left, find } = await foundAfterAll();
    const found = await find(left);
    expect(found?.accounts).toMatchObject([{ accountId: ACCOUNT, grants: [{ grantId: 'anew' }], keys: [] }]);
    expect(found?.earlier).toMatchObject([
      {
        ...{ beforeGeneration: 2, views: join(data, 'views.db.before-generation-2') },
        catalog: { was: { version: 2 }, is: { version: 1 } },
        // The key that newer views know as revoked is not to be issued again.
        accounts: [
          { accountId: BOB, isReinstatementLost: true },
          { accountId: EVE, grants: [{ grantId: 'e' }], suspended: 'fraud' },
          { accountId: ACCOUNT, keys: [], limits: [], balance: { was: '-10', is: '90' }, exceptions: [{}, {}] },
        ],
      },
    ]);
  });

  it('are not asked again once the ledger goes on from what they have told', async () => {
    const { left, find } = await foundAfterAll();
    const state = await readLedgerState(left);
    const parts = { lost: [], untold: 0, requests: [], reason: 'test', nowMs: IN_MONTH, recording: recording() };
    expect(await acceptLoss(left, { ...parts, state, known: null })).toMatchObject({ generation: 2 });
    expect(await find(left)).toMatchObject({ accounts: [{ accountId: ACCOUNT }], earlier: [] });
  });

  it('are all there is to ask where a generation has left none', async () => {
    const { data, left, find } = await foundAfterAll();
    rmSync(join(data, 'views.db'));
    expect(await find(left)).toMatchObject({ catalog: { was: { version: 2 } }, accounts: [{}, {}, {}], earlier: [] });
    rmSync(join(data, 'views.db.before-generation-2'));
    expect(await find(left)).toBe(null);
  });

  it('are named where they cannot be read', async () => {
    const { data, left, find } = await foundAfterAll();
    const file = join(data, 'views.db.before-generation-2');
    writeFileSync(file, 'no database, and longer than the head of one'.repeat(20));
    await expect(find(left)).rejects.toThrow(`${file} cannot be read, and may know what was lost`);
  });
});

const END_MS = Date.parse('2026-12-01T00:00:00.000Z');

let commands = 0;
const recording = () => ({
  commandId: commandId(`019a5b3c-0000-7000-8000-${(++commands).toString(16).padStart(12, '0')}`),
  ...{ actor: 'test', recordedAt: '2026-11-06T12:00:02.000Z' },
});
