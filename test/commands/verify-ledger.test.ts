import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { catalogFileSchema } from '../../contracts/catalog.ts';
import { encodeEvents } from '../../contracts/event-codec.ts';
import type { EventLog } from '../../contracts/event-log.ts';
import { relayStream, revision } from '../../contracts/ids.ts';
import { publishCatalog } from '../../ledger/catalog/publish-catalog.ts';
import { recordingBy } from '../../ledger/recording-by.ts';
import { BalanceView } from '../../projections/balance-view.ts';
import { Projections } from '../../projections/projections.ts';
import { startFakeEventStore } from '../eventstoredb/fake-event-store.ts';
import { StoredLog } from '../eventstoredb/stored-log.ts';
import { catalogEntry } from '../fixtures/catalog-entry.ts';
import { editFile } from '../fixtures/ledger/edited-file.ts';
import { MemoryEventLog } from '../fixtures/ledger/memory-event-log.ts';
import { programInProcess } from '../fixtures/processes/program-in-process.ts';
import { runHere } from '../fixtures/processes/run-here.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { putBack, readKept } from '../written-before/kept-state.ts';

const keptFolder = (): string => join(readKept('76ed563', 'sqlite', 'ledger').folder, 'data');

/** What somebody does who can write to the file. */
function edit(folder: string, sql: string): string {
  const path = join(folder, 'ledger.db');
  editFile(path, (database) => database.exec(sql));
  return path;
}

it('finds nothing wrong with a real ledger, whole or by its accounts', async () => {
  const { data } = await putBack('76ed563', 'sqlite', 'ledger');
  const all = await runHere('ledger', 'verify', '--all', '--data', data);
  expect(all).toMatchObject({
    exitCode: 0,
    stdout: '82 events, those of the catalog, the seals and the ledger itself among them, of 3 accounts: no fault\n',
  });
  const some = await runHere('ledger', 'verify', 'acct_ada', 'acct_team', '--data', data);
  expect(some).toMatchObject({
    exitCode: 0,
    stdout: expect.stringMatching(
      /^\d+ events, those of the catalog and the ledger itself among them, of 2 accounts: no fault\n$/,
    ),
  });
});

it('tells of a grant that was edited in the file with its place and both values, and ends with 5', async () => {
  const path = edit(
    keptFolder(),
    `UPDATE event SET data = json_set(data, '$.amount', '9000000') WHERE type = 'CreditsGranted' AND revision = 1`,
  );
  const { stdout, stderr, exitCode } = await runHere('ledger', 'verify', '--offline', path);
  expect(stdout).toMatch(
    /^account-acct_ada 12: req_\w+: balance after is [\d,]+\.\d{6} USD, should be [\d,]+\.\d{6} USD$/m,
  );
  expect(stderr).toMatch(/^gateway: faults found: \d+\n$/);
  expect(exitCode).toBe(5);
  const asJson = await runHere('--json', 'ledger', 'verify', '--offline', path);
  const lines = asJson.stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines.at(-1)).toMatchObject({ summary: { events: 82, accounts: 3, faults: lines.length - 1 } });
  expect(lines).toContainEqual({
    fault: {
      stream: 'account-acct_ada',
      revision: 12,
      what: expect.stringMatching(/balance after$/),
      found: expect.stringMatching(/^\d+$/),
      expected: expect.stringMatching(/^\d+$/),
      unit: 'micro-USD',
    },
  });
});

it('looks at accounts of a file, or at all of it: --offline says which ledger, and nothing else', async () => {
  const path = edit(
    keptFolder(),
    `UPDATE event SET data = json_set(data, '$.balanceAfter', '7') WHERE position = (SELECT max(position) FROM event
      JOIN stream ON stream.id = stream_id WHERE name = 'account-acct_ada' AND type = 'CreditsDebited')`,
  );
  const verify = (...args: string[]) => runHere('ledger', 'verify', ...args, '--offline', path);
  const whole = await verify();
  expect(whole).toMatchObject({ exitCode: 5, stdout: expect.stringMatching(/^account-acct_ada \d+: .*$/m) });
  expect(await verify('--all')).toEqual(whole);
  const ada = await verify('acct_ada');
  expect(ada).toMatchObject({ exitCode: 5, stdout: expect.stringMatching(/ events, .* of 1 account: \d+ faults?\n$/) });
  expect(await verify('acct_team')).toMatchObject({
    ...{ exitCode: 0, stdout: expect.stringMatching(/ events, .* of 1 account: no fault\n$/) },
  });
  expect(await verify('acct_nobody')).toMatchObject({ exitCode: 3 });
  expect(await verify('acct_ada', '--all')).toMatchObject({
    ...{ exitCode: 2, stderr: expect.stringContaining('name no accounts beside it') },
  });
});

it('says of a file of which pages are damaged that, in one line', async () => {
  const path = join(keptFolder(), 'ledger.db');
  const bytes = readFileSync(path);
  const database = new DatabaseSync(path);
  const page = database
    .prepare(
      "SELECT pageno AS page FROM dbstat WHERE name = 'event' AND pagetype = 'leaf' ORDER BY path LIMIT 1 OFFSET 2",
    )
    .get()?.page;
  database.close();
  bytes.fill(0xff, (Number(page) - 1) * 4096, Number(page) * 4096);
  const damaged = join(temporaryFolder(), 'damaged.db');
  writeFileSync(damaged, bytes);
  const { exitCode, stderr } = await runHere('ledger', 'verify', '--offline', damaged);
  expect(stderr).toMatch(/^gateway: [^\n]*damaged\.db is damaged[^\n]*\n$/);
  expect(exitCode).toBe(4);
});

it('has a line of some length for what others have given any length', async () => {
  const sql = `UPDATE event SET type = '${'x'.repeat(100_000)}' WHERE position = 40; INSERT INTO stream VALUES (99, '${'y'.repeat(100_000)}');
    UPDATE event SET stream_id = 99 WHERE position = 41; CREATE TRIGGER ${'z'.repeat(100_000)} AFTER INSERT ON event BEGIN SELECT 1; END`;
  const path = edit(keptFolder(), `PRAGMA foreign_keys = OFF; ${sql}`);
  const lines = (await runHere('ledger', 'verify', '--offline', path)).stdout.split('\n');
  expect(lines.filter((line) => /x{200}|y{200}|z{200}/.test(line)).length).toBeGreaterThan(3);
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThan(4_500);
});

it('tells where the last event of a stream is gone', async () => {
  const path = edit(keptFolder(), 'DELETE FROM event WHERE position = 40');
  const { stdout } = await runHere('ledger', 'verify', '--offline', path);
  expect(stdout).toContain('(the log) -: no event is at positions: 40 to 40\n');
});

it.each([
  [
    'is numbered below 0',
    'UPDATE event SET stream_id = -9 WHERE stream_id = ID; UPDATE stream SET id = -9 WHERE id = ID',
  ],
  ['has no name', 'DELETE FROM stream WHERE id = ID'],
])('looks at every stream, also at one that %s', async (_what, sql) => {
  for (const id of [1, 2]) {
    const folder = keptFolder();
    const path = edit(
      folder,
      `PRAGMA foreign_keys = OFF; UPDATE event SET data = json_set(data, '$.balanceAfter', '7') WHERE type = 'CreditsDebited';
      ${sql.replaceAll('ID', String(id))}`,
    );
    const { stdout, exitCode } = await runHere('ledger', 'verify', '--offline', path);
    expect(exitCode).toBe(5);
    expect(stdout).toMatch(/^82 events, .* of/m);
  }
});

it.each([0, -3])(
  'refuses a file with an event at position %i, which nobody who reads in order would see',
  async (at) => {
    const path = edit(
      keptFolder(),
      `INSERT INTO event SELECT ${at}, stream_id, revision + 100, randomblob(16), type, data, metadata,
      recorded_at FROM event WHERE type = 'CreditsGranted' LIMIT 1`,
    );
    for (const args of [
      ['verify', '--offline', path],
      ['verify', '--seals', '--offline', path],
      ['report', '--month', '2026-11', '--offline', path],
    ])
      expect(await runHere('ledger', ...args)).toMatchObject({
        exitCode: 4,
        stderr: expect.stringContaining(`an event stands at position ${at}, and the first is 1`),
      });
  },
);

it('refuses what is no ledger, an account that there is not, and two ways at once', async () => {
  const nowhere = join(temporaryFolder(), 'ledger.db');
  expect(await runHere('ledger', 'verify', '--offline', nowhere)).toMatchObject({ exitCode: 2 });
  const { data } = await putBack('76ed563', 'sqlite', 'ledger');
  expect(await runHere('ledger', 'verify', 'acct_nobody', '--data', data)).toMatchObject({ exitCode: 3 });
  expect(await runHere('ledger', 'verify', 'acct_ada', '--all', '--data', data)).toMatchObject({ exitCode: 2 });
  expect(await runHere('ledger', 'verify', '--data', data)).toMatchObject({ exitCode: 2 });
});

it('compares the views, at the revision that they have come to', async () => {
  const { data, log } = await putBack('76ed563', 'sqlite', 'ledger');
  const views = join(data, 'views.db');
  const projections = await Projections.start({ log, path: views, persist: true });
  await projections.whenCaughtUp();
  await projections.close();
  expect(await runHere('ledger', 'verify', '--all', '--data', data)).toMatchObject({ exitCode: 0 });
  const database = new DatabaseSync(views);
  const [{ name } = { name: '' }] = new BalanceView().tables;
  database.exec(`UPDATE ${name} SET balance_micro_usd = '1' WHERE account_id = 'acct_ada'`);
  database.close();
  const fault = /^account-acct_ada 64: the views' balance is 0\.000001 USD, should be [\d,]+\.\d{6} USD$/m;
  for (const which of ['--all', 'acct_ada']) {
    const { stdout, exitCode } = await runHere('ledger', 'verify', which, '--data', data);
    expect(stdout).toMatch(fault);
    expect(exitCode).toBe(5);
  }
});

describe('tells of what views have and the ledger does not', () => {
  async function withViews(change: string) {
    const { data, log } = await putBack('76ed563', 'sqlite', 'ledger');
    const views = join(data, 'views.db');
    const projections = await Projections.start({ log, path: views, persist: true });
    await projections.whenCaughtUp();
    await projections.close();
    const [{ name } = { name: '' }] = new BalanceView().tables;
    const database = new DatabaseSync(views);
    database.exec(change.replaceAll('accounts', name));
    database.close();
    return (...args: string[]) => runHere('ledger', 'verify', ...args, '--data', data);
  }
  const ALONE = `CREATE TEMP TABLE copied AS SELECT * FROM accounts LIMIT 1;
    UPDATE copied SET account_id = 'acct_ghost'; INSERT INTO accounts SELECT * FROM copied`;
  const set = (path: string, value: string): string =>
    `UPDATE accounts SET state = json_set(state, '$.${path}', ${value}) WHERE account_id = 'acct_ada'`;

  const gone = (part: string): string => `DELETE FROM accounts_${part} WHERE account_id = 'acct_ada'`;

  it('an account that is in them alone', async () => {
    const verify = await withViews(ALONE);
    const { stdout, exitCode } = await verify('--all');
    expect(stdout).toMatch(/^account-acct_ghost -: stands in the views alone$/m);
    expect(exitCode).toBe(5);
  });

  it('a stream that ends before what they have come to', async () => {
    const verify = await withViews("UPDATE accounts SET revision = 99 WHERE account_id = 'acct_ada'");
    const fault = /^account-acct_ada 64: the stream ends, and the views have come to revision: 99$/m;
    for (const which of ['--all', 'acct_ada'])
      expect(await verify(which)).toMatchObject({ stdout: expect.stringMatching(fault), exitCode: 5 });
  });

  it.each([
    ['a lease', set('leases', "json('{}')"), /^account-acct_ada 64: the views' leases is , should be lease_/m],
    ['a limit', set('spend.accountLimit', "'77'"), /^account-acct_ada 64: the views' limits is account 0\.000077 USD/m],
    ["a key's month", set('spend.months', "json('{}')"), /^account-acct_ada 64: the views' months is , should be 20/m],
    [
      'what a key has spent',
      gone('spent'),
      /^account-acct_ada 64: the views' months is 20\d\d-\d\d [^;]*, should be 20/m,
    ],
    ["a key's limit", gone('key_limit'), /^account-acct_ada 64: the views' limits is /m],
    ['a revoked key', gone('key'), /^account-acct_ada 64: the views' keys is , should be key_/m],
    [
      'a suspension',
      set('suspended', "'x'"),
      /^account-acct_ada 64: whether it is suspended, as the views have it, is true/m,
    ],
    ['an exception', set('exceptions.openCount', '9'), /^account-acct_ada 64: the views' open exceptions is 9 of /m],
  ])('%s', async (_what, change, fault) => {
    const { stdout, exitCode } = await (await withViews(change))('acct_ada');
    expect(stdout).toMatch(fault);
    expect(exitCode).toBe(5);
  });
});

it('finds the same in an event store, where an event was edited', async () => {
  const { folder } = readKept('76ed563', 'eventstoredb', 'ledger');
  const file = join(folder, 'events.ndjson');
  const verified = async () => {
    const store = await startFakeEventStore({ log: new StoredLog({ file, now: Date.now }) });
    const configuration = join(folder, 'gateway.json');
    const eventLog = { kind: 'eventstoredb', connectionString: store.connectionString };
    writeFileSync(configuration, JSON.stringify({ data: join(folder, 'data'), eventLog }));
    const run = await runHere('--config', configuration, 'ledger', 'verify', '--all');
    await store.stop();
    store.log.close();
    return run;
  };
  expect(await verified()).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/ of 3 accounts: no fault\n$/) });
  const text = readFileSync(file, 'utf8');
  // What is stored is in base64 there.
  const edited = text.replace(/"([A-Za-z0-9+/=]{200,})"/g, (stored, base64) => {
    const data = Buffer.from(base64, 'base64').toString();
    if (!data.includes('"balanceAfter"')) return stored;
    return `"${Buffer.from(data.replace(/"balanceAfter":"\d+"/, '"balanceAfter":"1"')).toString('base64')}"`;
  });
  expect(edited).not.toBe(text);
  writeFileSync(file, edited);
  const { exitCode, stdout } = await verified();
  expect(stdout).toMatch(/: balance after is 0\.000001 USD, should be \d\.\d{6} USD$/m);
  expect(exitCode).toBe(5);
});

describe('tells how far it is', () => {
  /** By a clock that goes on by a second with each look, on a terminal. */
  async function verifying(log: EventLog | undefined, count: number, ...args: string[]): Promise<string> {
    const program = await programInProcess(log);
    await publishCatalog(program.log, CATALOG, recordingBy('operator', NOW));
    await program.run('account', 'open', '--email', 'ada@example.com', '--id', 'acct_ada');
    for (let at = 0; at < count; at += 100) {
      const events = encodeEvents(Array.from({ length: 100 }, checkpointed), recordingBy('relay', NOW + at));
      await program.log.append(relayStream('ledger'), revision(at - 1), events);
    }
    const drawn: string[] = [];
    const stream = Object.assign(new PassThrough(), { isTTY: true, columns: 100 });
    stream.on('data', (chunk: Buffer) => drawn.push(String(chunk)));
    let nowMs = NOW;
    program.clock = () => (nowMs += 1_000);
    Object.assign(program.context, { progressStream: stream });
    // The events of a stream without a claim are faults, which are told beside it.
    await program.run('ledger', 'verify', ...args).catch(() => undefined);
    if (log === undefined) await program.close();
    return drawn.join('');
  }
  const NOW = Date.parse('2026-11-20T10:00:00.000Z');
  const CATALOG = catalogFileSchema.parse({ models: [catalogEntry('opal-x')] });
  const checkpointed = () =>
    ({
      type: 'RelayCheckpointed',
      data: { relay: 'one', epoch: 1, position: 0, until: '2026-11-20T09:00:00.000Z' },
    }) as const;
  const SHOWN = /\d+% of [\d,]+ events, [\d,]+\/s, [\w ]+ left/;

  it('in the file of the embedded log, which threads read', async () => {
    expect(await verifying(undefined, 100, '--all')).toMatch(SHOWN);
  });

  it('in the order of any other log', async () => {
    expect(await verifying(new MemoryEventLog(), 4_200, '--all')).toMatch(SHOWN);
  });

  it('of the accounts that are named, by the events that they have', async () => {
    // The catalog's one, and what the account was opened with.
    expect(await verifying(new MemoryEventLog(), 0, 'acct_ada')).toMatch(/ of 3 events, \d+\/s, \d+ s left/);
  });
});
