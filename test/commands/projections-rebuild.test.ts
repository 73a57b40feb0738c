import { cpSync, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { beforeAll, describe, expect, it } from 'vitest';
import type { EventLog } from '../../contracts/event-log.ts';
import { ledgerId } from '../../contracts/ids.ts';
import { openEventStoreDbEventLog } from '../../ledger/event-log/eventstoredb/eventstoredb-event-log.ts';
import { lockFolder } from '../../ledger/journal/folder-lock.ts';
import { journalFolder } from '../../ledger/journal/segment-folder.ts';
import { readLedgerOfViews, writeLedgerOfViews } from '../../projections/known-views.ts';
import { markVerified } from '../../projections/verified-mark.ts';
import { viewFilesOf } from '../../projections/view-files.ts';
import type { CommandContext } from '../../proxy/program/command-context.ts';
import { openEventLog } from '../../proxy/program/open-event-log.ts';
import { startFakeEventStore } from '../eventstoredb/fake-event-store.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { postMessage } from '../fixtures/gateway/post-message.ts';
import { startTestGateway, type TestGateway } from '../fixtures/gateway/start-gateway.ts';
import { BALANCE_TABLE } from '../fixtures/ledger/balance-table.ts';
import { programInProcess } from '../fixtures/processes/program-in-process.ts';
import { runHere, runHereForJson, runHereWith } from '../fixtures/processes/run-here.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

let whole = '';
let key = '';

/** One ledger for all: an account with two keys and a request. */
beforeAll(async () => {
  const gateway = await startTestGateway();
  await gateway.issueKey({ name: 'one' });
  await (await postMessage(gateway, { model: 'svc-mock' })).rest();
  await gateway.gateway.process.settlement.idle();
  await gateway.stop();
  whole = gateway.data;
  key = gateway.key;
});

/** A folder of its own. */
function folder(): string {
  const data = temporaryFolder();
  cpSync(whole, data, { recursive: true });
  return data;
}

const rebuild = (data: string, ...more: string[]) =>
  runHereForJson('projections', 'rebuild', '--all', '--data', data, ...more);
const noDifference = async (data: string) =>
  expect(await runHere('projections', 'diff', '--all', '--data', data)).toMatchObject({ exitCode: 0 });

/** Makes the live views wrong, as a fault of a program would have. */
function spoil(data: string): void {
  const database = new DatabaseSync(join(data, 'views.db'));
  database.exec(
    `UPDATE ${BALANCE_TABLE} SET state = json_set(state, '$.grants[0].remaining', '7', '$.balance', '7'), balance_micro_usd = '7'`,
  );
  database.close();
}

describe('gateway projections rebuild', () => {
  it('switches a gateway that serves to views that agree with the log, and back', async () => {
    const data = folder();
    spoil(data);
    const gateway = await startTestGateway({ data });
    const { accountId } = gateway;
    const balance = () => {
      const { state } = gateway.gateway.process.projections.accounts.read(accountId);
      return state.type === 'open' ? state.balance : null;
    };
    expect(balance()).toBe(7n);
    const dry = await runHere('projections', 'rebuild', '--all', '--dry-run', '--data', data);
    expect([dry.exitCode, dry.stdout]).toEqual([
      5,
      expect.stringMatching(/balance_micro_usd: live 0\.000007 USD, fold 1,000\.000000 USD$/m),
    ]);
    expect(balance()).toBe(7n);
    const statuses: number[] = [];
    let isOver = false;
    const ask = async (): Promise<void> => {
      while (!isOver) {
        const answer = await postMessage(gateway, { model: 'svc-mock', key });
        await answer.rest();
        statuses.push(answer.status);
      }
    };
    const asking = [ask(), ask()];
    const done = await rebuild(data);
    isOver = true;
    await Promise.all(asking);
    expect([statuses.length > 0, new Set(statuses)]).toEqual([true, new Set([200])]);
    expect(done).toMatchObject({ isResumed: true, switched: 'in the gateway' });
    expect(balance()).toBe(1_000_000_000n);
    await gateway.issueKey({ name: 'two' });
    await gateway.gateway.process.settlement.idle();
    await gateway.gateway.process.projections.whenWritten();
    await noDifference(data);
    expect(await runHereForJson('projections', 'status', '--data', data)).toMatchObject({
      files: [
        { state: 'live', eventsPerS: expect.any(Number) },
        { state: 'kept for rollback', eventsPerS: null },
      ],
    });
    expect(await runHereForJson('projections', 'rollback', '--data', data)).toMatchObject({
      switched: 'in the gateway',
    });
    expect(balance()).toBe(7n);
    await gateway.gateway.process.projections.whenWritten();
    await gateway.stop();
  });

  it('switches in the folder where no gateway runs; of one view it leaves the others as they are, and is not gone on with for all', async () => {
    const data = folder();
    spoil(data);
    const views = new DatabaseSync(join(data, 'views.db'));
    views.exec(`UPDATE monthly_v3 SET count = '77'`);
    views.close();
    const one = await runHereForJson('projections', 'rebuild', 'monthly', '--data', data);
    expect(one).toMatchObject({ switched: 'in the folder' });
    const left = (await runHere('projections', 'diff', '--all', '--data', data)).stdout;
    expect(left).toMatch(/^balance_v\d+ acct_test: balance_micro_usd: live 0\.000007 USD, fold 1,000\.000000 USD$/m);
    expect(left).not.toContain('monthly_v3');
    const again = await startTestGateway({ data });
    const { state } = again.gateway.process.projections.accounts.read(again.accountId);
    expect(state).toMatchObject({ balance: 7n });
    await again.stop();
    cpSync(join(data, 'views.db'), join(data, 'rebuild', 'views.db'));
    expect(await rebuild(data)).toMatchObject({ isResumed: false, differences: 3, switched: 'in the folder' });
    await noDifference(data);
    expect(existsSync(join(data, 'rebuild', 'views.db'))).toBe(false);
    await runHereForJson('projections', 'rollback', '--data', data);
    expect(await runHere('projections', 'diff', '--all', '--data', data)).toMatchObject({ exitCode: 5 });
    for (const args of [[], ['monthly', '--all'], ['set_aside']])
      expect(await runHere('projections', 'rebuild', ...args, '--data', data)).toMatchObject({ exitCode: 2 });
  });

  it('beside a gateway of other versions prepares for this program, whose next start goes over to what it has made', async () => {
    const data = folder();
    const other = new DatabaseSync(join(data, 'views.db'));
    other.exec(`UPDATE stored_view SET version = 6 WHERE name = 'balance'`);
    other.close();
    const running = lockFolder(journalFolder(data));
    expect(await rebuild(data)).toMatchObject({ compared: null, switched: 'at the next start, by this program' });
    const rateAt = async (atMs: number) => {
      const live = new DatabaseSync(join(data, 'views.db'));
      live.prepare('UPDATE folded_lately SET events = 4217, of_ms = 10000, at_ms = ?').run(atMs);
      live.close();
      const { files } = await runHereForJson('projections', 'status', '--data', data);
      return (files as { eventsPerS: number | null }[])[0]?.eventsPerS;
    };
    expect([await rateAt(Date.now()), await rateAt(0)]).toEqual([422, null]);
    running.release();
    expect(await rateAt(Date.now())).toBe(null);
    const logLines: string[] = [];
    const gateway = await startTestGateway({ data, logLines });
    expect(logLines.join()).toContain('what was made of this one takes its place');
    // As restored from the file: nobody has asked for the account.
    expect(gateway.gateway.process.projections.restoredMarkMs).not.toBeNull();
    const answer = await postMessage(gateway, { model: 'svc-mock', key });
    expect(answer.status).toBe(200);
    await answer.rest();
    await gateway.stop();
    await noDifference(data);
    const { files } = await runHereForJson('projections', 'status', '--data', data);
    expect(files).toMatchObject([
      { state: 'stopped' },
      { state: 'kept for rollback', views: [{ version: 6 }, {}, {}, {}] },
    ]);
  });

  it('works on an event store as on the embedded log', async () => {
    const { connectionString } = endedLater(await startFakeEventStore());
    const program = endedLater(await programInProcess(await openEventStoreDbEventLog({ connectionString })));
    for (const id of ['acct_ada', 'acct_bob'])
      await program.run('account', 'open', '--email', 'ada@example.com', '--id', id);
    expect(await program.json('projections', 'rebuild', '--all')).toMatchObject({
      accounts: 2,
      switched: 'in the folder',
    });
    await program.run('credits', 'grant', 'acct_ada', '--usd', '1');
    expect(await program.json('projections', 'status')).toMatchObject({
      files: [{ state: 'stopped', lag: { events: 1 } }],
    });
    expect(await program.run('projections', 'diff', '--all')).toMatch(/no difference\n$/);
    expect(await program.json('projections', 'rebuild', '--all')).toMatchObject({ differences: 0 });
    expect(await program.json('projections', 'rollback')).toMatchObject({ events: 1 });
  });
});

it('a rebuild whose file another has locked ends, and what it has made stays: it is not for want of room', async () => {
  const data = folder();
  await runHere('projections', 'rebuild', '--all', '--dry-run', '--data', data);
  const other = new DatabaseSync(viewFilesOf(data).rebuild);
  other.exec('BEGIN IMMEDIATE');
  const ended = await runHere('projections', 'rebuild', '--all', '--data', data);
  expect(ended).toMatchObject({ exitCode: 4, stderr: expect.stringMatching(/locked.*run this again/) });
  expect(ended.stderr).not.toContain('room');
  other.close();
  expect((await runHere('projections', 'rebuild', '--all', '--data', data)).stdout).toMatch(
    /^0 events folded, on from those that were made and verified before, and not switched to: /,
  );
});

it('a rebuild that ends before anything of it is kept says so, and so does the one that begins anew', async () => {
  const data = folder();
  const { live, rebuild: path, rebuildFolder } = viewFilesOf(data);
  mkdirSync(rebuildFolder);
  // What stands there first.
  writeLedgerOfViews(path, readLedgerOfViews(live) ?? expect.fail('of a ledger'));
  const other = new DatabaseSync(path);
  other.exec('BEGIN IMMEDIATE');
  expect(await runHere('projections', 'rebuild', '--all', '--data', data)).toMatchObject({
    exitCode: 4,
    stderr: expect.stringMatching(/locked.* of the others nothing was kept yet; run this again, and it begins anew\n$/),
  });
  other.close();
  // Nothing is folded of it, and it is there.
  const begun = async () => (await runHereForJson('projections', 'status', '--data', data)).files;
  const views = ['balance', 'catalog', 'monthly', 'set_aside'].map((name) =>
    expect.objectContaining({ name, rows: 0 }),
  );
  const nothing = { file: path, feed: 'log', position: null, lag: null, eventsPerS: null, currentAt: null, views };
  expect(await begun()).toMatchObject([{}, { ...nothing, state: 'rebuild interrupted at its beginning' }]);
  const running = lockFolder(rebuildFolder);
  expect(await begun()).toMatchObject([{}, { ...nothing, state: 'rebuilding' }]);
  running.release();
  const { stdout } = await runHere('projections', 'status', '--data', data);
  expect(stdout).toMatch(/^balance +\d+ +rebuild interrupted at its beginning +- +- +- +- +0 +0 KiB$/m);
  expect((await runHere('projections', 'rebuild', '--all', '--data', data)).stdout).toMatch(
    /^\d+ events folded, from the beginning: of the one that was interrupted nothing was kept yet: /,
  );
  // And one that was cut off behind what it has written.
  await runHere('projections', 'rebuild', '--all', '--dry-run', '--data', data);
  markVerified(path, false);
  expect((await runHere('projections', 'rebuild', '--all', '--data', data)).stdout).toMatch(
    /^0 events folded, on from where the last one was interrupted: /,
  );
});

it('what a rebuild has left of another ledger, or of a generation of before, is not gone on with, and nobody says so', async () => {
  const data = folder();
  const { live, rebuild: path } = viewFilesOf(data);
  const identity = readLedgerOfViews(live) ?? expect.fail('of a ledger');
  for (const other of [
    { ...identity, generation: identity.generation + 1 },
    { ...identity, ledgerId: ledgerId('other') },
  ]) {
    await runHere('projections', 'rebuild', '--all', '--dry-run', '--data', data);
    writeLedgerOfViews(path, other);
    const { exitCode, stdout } = await runHere('projections', 'rebuild', '--all', '--dry-run', '--data', data);
    expect([exitCode, stdout]).toEqual([0, expect.stringMatching(/^[1-9]\d* events folded: \d+ accounts?/)]);
    expect(readLedgerOfViews(path)).toEqual(identity);
  }
});

it('a rebuild and a way back give way to a gateway that serves, and to nothing else', async () => {
  const data = folder();
  let given = 0;
  const giveWay = (): void => {
    given++;
  };
  const run = (...args: string[]) => runHereWith({ giveWay }, 'projections', ...args, '--data', data);
  expect([(await run('rebuild', '--all')).exitCode, given]).toEqual([0, 0]);
  const gateway = await startTestGateway({ data });
  expect([(await run('rebuild', '--all')).exitCode, given]).toEqual([0, 1]);
  expect([(await run('rollback')).exitCode, given]).toEqual([0, 2]);
  await gateway.stop();
});

it('a rebuild gives way to a gateway that is started while it folds, once', async () => {
  const data = folder();
  let given = 0;
  const giveWay = (): void => {
    given++;
  };
  // Whoever looks twice a second looks each time.
  let nowMs = Date.now();
  const clock = (): number => {
    nowMs += 1_000;
    return nowMs;
  };
  const gateways: TestGateway[] = [];
  const givenAtStart: number[] = [];
  const openLog: CommandContext['openEventLog'] = async (configuration, use) => {
    const log = await openEventLog(configuration, use);
    const subscribeAll: EventLog['subscribeAll'] = (options) =>
      log.subscribeAll({
        ...options,
        onEvents: async (events) => {
          if (gateways.length === 0) {
            gateways.push(await startTestGateway({ data }));
            givenAtStart.push(given);
          }
          for (const event of events) await options.onEvents([event]);
        },
      });
    return {
      append: log.append.bind(log),
      readStream: log.readStream.bind(log),
      readAll: log.readAll.bind(log),
      subscribeAll,
      headPosition: log.headPosition.bind(log),
      close: log.close.bind(log),
    };
  };
  const parts = { giveWay, clock, openEventLog: openLog };
  const { exitCode } = await runHereWith(parts, 'projections', 'rebuild', '--all', '--dry-run', '--data', data);
  expect([exitCode, givenAtStart, given]).toEqual([0, [0], 1]);
  await gateways[0]?.stop();
});
