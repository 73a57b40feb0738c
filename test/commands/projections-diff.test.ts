import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { beforeAll, describe, expect, it } from 'vitest';
import { accountStream, revision } from '../../contracts/ids.ts';
import { openSqliteEventLog } from '../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { CatalogView } from '../../projections/catalog-view.ts';
import { postMessage } from '../fixtures/gateway/post-message.ts';
import { startTestGateway } from '../fixtures/gateway/start-gateway.ts';
import { BALANCE_TABLE } from '../fixtures/ledger/balance-table.ts';
import { toVersion6 } from '../fixtures/ledger/older-views.ts';
import { runHere, runHereForJson } from '../fixtures/processes/run-here.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const CATALOG = new CatalogView().tables[0].name;
let whole = '';
let beside: Record<string, unknown> = {};
let besideDiff = { exitCode: -1, stdout: '' };

beforeAll(async () => {
  const gateway = await startTestGateway();
  whole = gateway.data;
  for (let at = 0; at < 3; at++) await gateway.issueKey({ name: `key ${at}` });
  await (await postMessage(gateway, { model: 'svc-mock' })).rest();
  await gateway.gateway.process.settlement.idle();
  await gateway.gateway.process.projections.whenWritten();
  beside = await runHereForJson('projections', 'status', '--data', whole);
  besideDiff = await runHere('projections', 'diff', '--all', '--data', whole);
  await gateway.stop();
});

/** The folder as it was left, with its views changed. */
function withViews(sql: string): string {
  const data = temporaryFolder();
  cpSync(whole, data, { recursive: true });
  change(data, sql);
  return data;
}

function change(data: string, sql: string): void {
  const database = new DatabaseSync(join(data, 'views.db'));
  database.exec(sql);
  database.close();
}

describe('gateway projections status', () => {
  it('shows each view beside a running gateway, and without one', async () => {
    const views = ['balance', 'catalog', 'monthly', 'set_aside'].map((name) => expect.objectContaining({ name }));
    const file = { feed: 'log', position: expect.any(Number), lag: { events: 0, seconds: 0 }, views };
    expect(beside).toMatchObject({ files: [{ ...file, state: 'live' }], setAside: [], damaged: [] });
    expect(await runHereForJson('projections', 'status', '--data', whole)).toMatchObject({
      files: [{ ...file, state: 'stopped' }],
    });
    const { stdout } = await runHere('projections', 'status', '--data', whole);
    expect(stdout).toMatch(/^balance +\d+ +stopped +\d+ +0 +0 s +- +5 +[1-9]\d* KiB$/m);
    expect(stdout).toMatch(/views\.db: \d+ KiB, fed from the log\nno account is set aside\n$/);
  });

  it('says how far views are behind that nobody feeds, and a fold goes no further than they have come', async () => {
    const data = withViews('');
    expect((await runHere('credits', 'grant', 'acct_test', '--usd', '1', '--data', data)).exitCode).toBe(0);
    const status = await runHereForJson('projections', 'status', '--data', data);
    expect(status).toMatchObject({ files: [{ lag: { events: 1, seconds: expect.any(Number) } }] });
    expect(await runHere('projections', 'diff', '--all', '--data', data)).toMatchObject({ exitCode: 0 });
  });

  it('names the event that has set an account aside', async () => {
    const data = withViews('');
    const at = await appendPoison(data);
    const gateway = await startTestGateway({ data });
    await gateway.gateway.process.projections.whenWritten();
    await gateway.stop();
    const { setAside } = await runHereForJson('projections', 'status', '--data', data);
    const why = expect.stringMatching(/^account-acct_test revision \d+ \(Surprise\): schema version 2 is newer/);
    expect(setAside).toEqual([{ accountId: 'acct_test', cause: 'unreadable', revision: at, why }]);
    const { exitCode, stdout } = await runHere('projections', 'diff', '--all', '--data', data);
    expect([exitCode, stdout]).toEqual([0, expect.stringMatching(/no difference\n$/)]);
  });
});

describe('gateway projections diff', () => {
  it('finds nothing where a gateway has just written its views, runs or not', async () => {
    expect(besideDiff).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/^\d+ rows of \d+ events: no diff/),
    });
    expect(await runHere('projections', 'diff', '--all', '--data', whole)).toMatchObject({ exitCode: 0 });
    expect(await runHere('projections', 'diff', 'acct_test', '--data', whole)).toMatchObject({ exitCode: 0 });
  });

  it('tells both values of each difference, with code 5', async () => {
    const differences = async (data: string, account: string) => {
      const { exitCode, stdout } = await runHere('--json', 'projections', 'diff', account, '--data', data);
      return { exitCode, ...JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '') };
    };
    const data = withViews(`UPDATE ${CATALOG} SET publication = replace(publication, 'Mock', 'Mick')`);
    // A price is no account's.
    expect(await differences(data, 'acct_test')).toMatchObject({ exitCode: 0, summary: { differences: 0 } });
    change(
      data,
      `UPDATE ${BALANCE_TABLE} SET revision = 2, state = json_set(state, '$.grants[0].remaining', '7');
       DELETE FROM monthly_v3_revision;
       INSERT INTO monthly_v3 VALUES ('acct_test', '2020-01', 'm', 'input', 'standard', 1, '1', '1', 1)`,
    );
    const { exitCode, stdout } = await runHere('projections', 'diff', '--all', '--data', data);
    expect(exitCode).toBe(5);
    for (const says of [
      new RegExp(`^${CATALOG} 0: publication\\.`, 'm'),
      /^balance_v\d+ acct_test: state\.grants\.0\.remaining: live 0\.000007 USD, fold 1,000\.000000 USD$/m,
      /: revision: live 2, fold \d+$/m,
      /^monthly_v3_revision acct_test: the row: live -, fold revision \d+$/m,
      /^monthly_v3 acct_test 2020-01 m input standard: the row: live requests 1, count 1, amount_pico_usd 0\.000000000001 USD, fold -$/m,
    ])
      expect(stdout).toMatch(says);
    expect(await differences(data, 'acct_test')).toMatchObject({
      exitCode: 5,
      summary: { differences: expect.any(Number) },
    });
  });

  it('of views of an earlier version compares what they are read as while they are served, and says so', async () => {
    const data = withViews('');
    toVersion6(join(data, 'views.db'));
    const asked = (account: string) => runHere('--json', 'projections', 'diff', account, '--data', data);
    const lines = async (account: string) => {
      const { exitCode, stdout } = await asked(account);
      return {
        exitCode,
        found: stdout
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line)),
      };
    };
    for (const which of ['--all', 'acct_test'])
      expect(await lines(which)).toMatchObject({
        exitCode: 0,
        found: [{ summary: { differences: 0, rows: expect.any(Number), upcastFrom: { balance: 6 } } }],
      });
    const { stdout } = await runHere('projections', 'diff', '--all', '--data', data);
    expect(stdout).toMatch(/no difference; balance as its rows of version 6 are read, from which it is served/);
    change(
      data,
      `UPDATE balance_v6 SET state = json_set(state, '$.grants[0].remaining', '7');
       UPDATE monthly_v3 SET requests = 77 WHERE account_id = 'acct_test'`,
    );
    const { exitCode, found } = await lines('--all');
    const differences = found.flatMap(({ difference }) => difference ?? []);
    expect([exitCode, differences]).toEqual([
      5,
      expect.arrayContaining([
        expect.objectContaining({ table: BALANCE_TABLE, live: '7', fold: '1000000000' }),
        expect.objectContaining({ table: 'monthly_v3', live: '77' }),
      ]),
    ]);
  });

  it('of views that it can make nothing of says which they are, and what to do', async () => {
    const data = withViews(`UPDATE stored_view SET version = 2 WHERE name = 'balance'`);
    change(data, `ALTER TABLE ${BALANCE_TABLE} RENAME TO balance_v2`);
    const { exitCode, stderr } = await runHere('projections', 'diff', '--all', '--data', data);
    expect([exitCode, stderr]).toEqual([
      4,
      expect.stringMatching(/make nothing of \(balance 2, catalog \d+, .*`gateway projections rebuild --all` makes/),
    ]);
    const none = temporaryFolder();
    cpSync(whole, none, { recursive: true });
    rmSync(join(none, 'views.db'));
    expect((await runHere('projections', 'diff', '--all', '--data', none)).stderr).toMatch(/it holds no views yet: /);
  });

  it('asks for one account or all', async () => {
    for (const args of [[], ['acct_test', '--all']])
      expect(await runHere('projections', 'diff', ...args, '--data', whole)).toMatchObject({ exitCode: 2 });
    expect(await runHere('projections', 'diff', 'acct_none', '--data', whole)).toMatchObject({ exitCode: 3 });
  });
});

/** An event that no program can read, at the end of the account's stream. */
async function appendPoison(data: string): Promise<number> {
  const log = await openSqliteEventLog({ path: join(data, 'ledger.db') });
  const stream = accountStream('acct_test' as never);
  const last = (await Array.fromAsync(log.readStream(stream, { direction: 'backwards', limit: 1 })))[0];
  if (last === undefined) throw new Error('no events');
  const event = { id: '019a5b3c-0000-7000-8000-00000000000b' as never, type: 'Surprise', data: '{}' };
  await log.append(stream, last.revision, [{ ...event, metadata: last.metadata }]);
  await log.close();
  return revision(last.revision + 1);
}
