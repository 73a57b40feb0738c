import { execFile } from 'node:child_process';
import { cpSync, existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { DuckDBInstance } from '@duckdb/node-api';
import { describe, expect, it } from 'vitest';
import type { MeAnswer } from '../../contracts/answers.ts';
import { accountStream } from '../../contracts/ids.ts';
import { EXIT } from '../../proxy/program/command-context.ts';
import { runGatewayProgram } from '../../proxy/program/run-gateway-program.ts';
import { beancountBalances, HAS_BEANCOUNT, HAS_HLEDGER, hledgerBalances, sumOf } from '../fixtures/accountants.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { ACCOUNT, granted, lifeWith, opened, usageOf } from '../fixtures/ledger/example-account.ts';
import { MemoryEventLog } from '../fixtures/ledger/memory-event-log.ts';
import { programInProcess } from '../fixtures/processes/program-in-process.ts';
import { runHere } from '../fixtures/processes/run-here.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { proposedLife } from '../ledger/statement/stored-life.ts';
import { type Kind, putBack, readKept } from '../written-before/kept-state.ts';

const COMMIT = '76ed563';
const run = promisify(execFile);

/** A ledger of before, with events of earlier forms: the program on a copy of it, and what it computed then. */
async function ofBefore(kind: Kind) {
  const { log, computed } = await putBack(COMMIT, kind, 'ledger');
  const program = endedLater(await programInProcess(log));
  const folder = temporaryFolder();
  const exported = async (format: string, ...more: readonly string[]): Promise<string> => {
    const out = join(folder, `ledger-${format}${more.join('')}`);
    await program.run('ledger', 'export', '--format', format, '--out', out, ...more);
    return out;
  };
  return { program, computed, log, exported };
}

/** What it writes to a terminal. */
async function onTerminal(...args: readonly string[]): Promise<string> {
  let written = '';
  const no = () => Promise.reject(new Error('nothing is opened'));
  await runGatewayProgram(
    {
      ...{ openEventLog: no, proveLedger: no, compareClock: no, environment: {}, clock: Date.now, columns: 80 },
      write: (text) => {
        written += text;
      },
      warn: () => undefined,
    },
    args,
  );
  expect(written).not.toBe('');
  return written;
}

describe.each<Kind>(['sqlite', 'eventstoredb'])('a ledger of before, in %s', (kind) => {
  it.skipIf(!HAS_HLEDGER)(
    'passes hledger’s strict checks, and its balances are those of then, as GET /me said them',
    async () => {
      const { computed, program, exported } = await ofBefore(kind);
      const journal = await exported('hledger');
      await run('hledger', ['-f', journal, 'check', '-s']);
      const balances = await hledgerBalances(journal);
      for (const id of Object.keys(computed.accounts)) {
        const net = sumOf(balances, `Liabilities:Credits:${id}:`) + sumOf(balances, `Assets:Receivable:${id}`);
        expect(-net).toBe(BigInt(String((await program.json('account', 'show', id)).balance)));
        const { me } = computed.keys.find(({ accountId, status }) => accountId === id && status === 200) ?? {};
        expect(Number(-net)).toBe((me as MeAnswer).available_credits);
      }
      expect(sumOf(balances, '')).toBe(0n);
    },
  );

  it.skipIf(!HAS_BEANCOUNT)('passes bean-check with the pedantic plugin, and has the same balances', async () => {
    const { program, computed, exported } = await ofBefore(kind);
    const file = await exported('beancount');
    const balances = await beancountBalances(file);
    for (const id of Object.keys(computed.accounts)) {
      const net = balances(id);
      expect(-net).toBe(BigInt(String((await program.json('account', 'show', id)).balance)));
    }
  });

  it('gives events whose stored bytes can be taken out again, the keys of its seals beside them', async () => {
    const { log, exported, program } = await ofBefore(kind);
    const folder = await exported('ndjson');
    const lines = readFileSync(join(folder, 'events.ndjson'), 'utf8').trimEnd().split('\n');
    let at = 0;
    for await (const { data, metadata, stampedAtMs: _stamped, ...place } of log.readAll()) {
      const line = lines[at++] ?? '';
      expect(JSON.parse(line)).toMatchObject({ ...place, data: JSON.parse(data), metadata: JSON.parse(metadata) });
      expect(line).toContain(`"data":${data},"metadata":${metadata}}`);
    }
    expect(lines).toHaveLength(at);
    expect(readFileSync(join(folder, 'seals.ndjson'), 'utf8')).toBe('');
    expect(JSON.parse(readFileSync(join(folder, 'keys.json'), 'utf8'))).toEqual({ keys: [] });
    expect(await program.run('ledger', 'export', '--format', 'ndjson')).toBe(`${lines.join('\n')}\n`);
  });
});

it('a Parquet file is read by DuckDB: it sums to nothing, and has the rows of the CSV file', async () => {
  const { exported } = await ofBefore('sqlite');
  const [parquet, csv] = [await exported('parquet'), await exported('csv')];
  const database = await (await DuckDBInstance.create()).connect();
  const read = async (sql: string) => (await database.runAndReadAll(sql)).getRowsJson();
  expect(
    await read(`SELECT sum(amount_usd)::VARCHAR, sum(amount_micro_usd)::VARCHAR FROM read_parquet('${parquet}')`),
  ).toEqual([['0.000000', '0']]);
  const columns =
    'event_id, revision::BIGINT AS r, book_account, amount_micro_usd::BIGINT, amount_usd::DECIMAL(18,6), model';
  const rows = `read_csv('${csv}', header = true, all_varchar = true)`;
  const ofParquet = await read(`SELECT ${columns} FROM read_parquet('${parquet}') ORDER BY ALL`);
  expect(ofParquet.length).toBeGreaterThan(20);
  expect(ofParquet).toEqual(
    await read(`SELECT ${columns.replace('model', "coalesce(model, '')")} FROM ${rows} ORDER BY ALL`),
  );
  expect(await read(`SELECT DISTINCT typeof(recorded_at) FROM read_parquet('${parquet}')`)).toEqual([
    [expect.stringMatching(/^TIMESTAMP/)],
  ]);
});

it.skipIf(!HAS_HLEDGER)('a later period begins with opening balances and ends with those of the whole', async () => {
  const { exported, program } = await ofBefore('sqlite');
  const lines = (await program.run('ledger', 'export', '--format', 'csv')).trimEnd().split('\r\n').slice(1);
  const times = lines.map((line) => line.split(',')[0] ?? '').toSorted();
  const middle = times[Math.floor(times.length / 2)] ?? '';
  const [whole, first, second] = [
    await hledgerBalances(await exported('hledger')),
    await exported('hledger', '--to', middle),
    await exported('hledger', '--from', middle),
  ];
  for (const journal of [first, second]) await run('hledger', ['-f', journal, 'check', '-s']);
  const later = await hledgerBalances(second);
  for (const root of ['Assets:', 'Liabilities:'])
    for (const [account, amount] of whole)
      if (account.startsWith(root)) expect([account, later.get(account) ?? 0n]).toEqual([account, amount]);
  const earlier = await hledgerBalances(first);
  for (const [account, amount] of whole)
    if (account.startsWith('Income:')) expect((earlier.get(account) ?? 0n) + (later.get(account) ?? 0n)).toBe(amount);
});

it('a ledger’s file is exported by itself, as the log of it is', async () => {
  const { folder } = readKept(COMMIT, 'sqlite', 'ledger');
  const { program } = await ofBefore('sqlite');
  const offline = ['--offline', join(folder, 'data', 'ledger.db')];
  for (const format of ['ndjson', 'hledger', 'focus']) {
    const of = ['ledger', 'export', '--format', format];
    expect(await program.run(...of, ...offline)).toBe(await program.run(...of));
    const ofOne = [...of, '--account', 'acct_ada'];
    expect(await program.run(...ofOne, ...offline)).toBe(await program.run(...ofOne));
  }
  const ofNone = ['ledger', 'export', '--format', 'csv', '--account', 'acct_none', ...offline];
  await expect(program.run(...ofNone)).rejects.toMatchObject({ exitCode: EXIT.refused });
});

it('what programs read is on stdout as it is in a file, line ends and stored bytes too; on a terminal nothing in it commands', async () => {
  const path = join(temporaryFolder(), 'ledger.db');
  cpSync(join(readKept(COMMIT, 'sqlite', 'ledger').folder, 'data', 'ledger.db'), path);
  const database = new DatabaseSync(path);
  database.exec(`DROP TRIGGER event_is_never_updated;
    UPDATE event SET data = replace(data, '"model":"', '"model":"\u202e\u009b') WHERE type = 'CreditsDebited'`);
  database.close();
  const folder = temporaryFolder();
  const run = async (...args: string[]) => {
    const { exitCode, stdout } = await runHere('ledger', ...args, '--offline', path);
    expect([args, exitCode]).toEqual([args, 0]);
    return stdout;
  };
  for (const format of ['csv', 'focus', 'hledger', 'beancount', 'ndjson']) {
    const out = join(folder, format);
    await run('export', '--format', format, '--out', out);
    const written = readFileSync(format === 'ndjson' ? join(out, 'events.ndjson') : out, 'utf8');
    expect([format, await run('export', '--format', format)]).toEqual([format, written]);
    expect([format, await run('export', '--format', format, '--out', '-')]).toEqual([format, written]);
    expect(await onTerminal('ledger', 'export', '--format', format, '--offline', path)).not.toMatch(
      /(?!\n)[\p{Cc}\p{Cf}]/u,
    );
  }
  expect(await run('export', '--format', 'csv')).toMatch(/[^\r]\r\n[^\r\n]/);
  const stored = readFileSync(join(folder, 'ndjson', 'events.ndjson'), 'utf8').split('\n');
  const ofAda = stored.filter((line) => line.startsWith('{"stream":"account-acct_ada"'));
  expect(ofAda.join()).toContain('\u202e\u009b');
  expect(await run('replay', 'acct_ada', '--json')).toBe(`${ofAda.join('\n')}\n`);
});

it('a log that goes away while it is exported leaves no folder that stands in the way of the next try', async () => {
  const away = Object.assign(new MemoryEventLog(), {
    readAll: () => ({
      [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new Error('the log is away')) }),
    }),
  });
  const program = endedLater(await programInProcess(away));
  const folder = temporaryFolder();
  for (const format of ['ndjson', 'csv'])
    await expect(program.run('ledger', 'export', '--format', format, '--out', join(folder, format))).rejects.toThrow(
      'the log is away',
    );
  expect(readdirSync(folder)).toEqual([]);
});

it('refuses what cannot be meant, and leaves nothing behind', async () => {
  const { program } = await ofBefore('sqlite');
  const folder = temporaryFolder();
  const refused = (message: RegExp, exitCode: number, ...args: readonly string[]) =>
    expect(program.run('ledger', 'export', ...args)).rejects.toMatchObject({
      ...{ exitCode, message: expect.stringMatching(message) },
    });
  await refused(/must be before/, EXIT.usage, '--format', 'csv', '--from', '2027-02', '--to', '2027-01');
  await refused(/has to be named/, EXIT.usage, '--format', 'parquet');
  for (const part of [
    ['--from', '2027-01'],
    ['--to', '2027-01'],
    ['--account', 'acct_ada'],
  ])
    await refused(/whole ledger/, EXIT.usage, '--format', 'ndjson', '--out', join(folder, 'x'), ...part);
  await refused(/whole ledger/, EXIT.usage, '--format', 'ndjson', '--out', join(folder, 'x'), '--account', 'acct_ada');
  await refused(/is there already/, EXIT.usage, '--format', 'csv', '--out', folder);
  await refused(/no such account/, EXIT.refused, '--format', 'csv', '--account', 'acct_none');
  const none = join(folder, 'none');
  const notThere = new RegExp(`: the folder ${none} is not there: make it first$`);
  await refused(notThere, EXIT.usage, '--format', 'csv', '--out', join(none, 'x.csv'));
  await refused(/has to be named/, EXIT.usage, '--format', 'parquet', '--out', '-');
  await refused(notThere, EXIT.usage, '--format', 'ndjson', '--out', join(none, 'x'));
  expect(existsSync(join(folder, 'x'))).toBe(false);
  const out = join(folder, 'may.csv');
  await program.run('ledger', 'export', '--format', 'csv', '--from', '2020-05', '--to', '2020-05', '--out', out);
  expect(readFileSync(out, 'utf8').split('\r\n')).toHaveLength(2);
  expect(statSync(out).mode & 0o777).toBe(0o600);
});

it.each([
  ['says another balance than there is', '"balanceAfter":"993"', '"balanceAfter":"994"', /says a balance of 994/],
  ['cannot be read', '"amount":"1000"', '"amount":"a"', /revision 1/],
])('ends with the code of faults, as verify does, where an event %s', async (_what, from, to, says) => {
  const log = new MemoryEventLog();
  const life = proposedLife(lifeWith([opened, granted('g', 1_000)], usageOf(1, 7)));
  const spoilt = life.map((event) => ({ ...event, data: event.data.replace(from, to) }));
  expect(spoilt).not.toEqual(life);
  log.write(accountStream(ACCOUNT), spoilt);
  const program = endedLater(await programInProcess(log));
  await expect(program.run('ledger', 'export', '--format', 'csv')).rejects.toMatchObject({
    ...{ exitCode: EXIT.faults, message: expect.stringMatching(says) },
  });
});
