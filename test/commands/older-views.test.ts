import { cpSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ACCOUNT_STATE_VERSION } from '../../ledger/account/account-state.ts';
import { openSqliteEventLog } from '../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { lockFolder } from '../../ledger/journal/folder-lock.ts';
import { readUpcastFrom } from '../../projections/known-views.ts';
import { areOfThisProgram } from '../../projections/prepared-views.ts';
import { removeViews } from '../../projections/remove-views.ts';
import { viewFilesOf } from '../../projections/view-files.ts';
import { readConfiguration } from '../../proxy/program/configuration/read-configuration.ts';
import { Gateway } from '../../proxy/program/serve/gateway.ts';
import { inOwnProcess } from '../fixtures/gateway/own-process.ts';
import { postMessage } from '../fixtures/gateway/post-message.ts';
import { startTestGateway } from '../fixtures/gateway/start-gateway.ts';
import { killStarted, stopInOrder } from '../fixtures/processes/child-process.ts';
import { runHere } from '../fixtures/processes/run-here.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import type { Kind } from '../written-before/kept-state.ts';
import { expectRight, traffic } from './billed-traffic.ts';
import { doctor } from './doctored.ts';
import { copyOfFolder, KINDS } from './folder-with-ledger.ts';
import { balanceStatesOf, type OlderFolder, olderFolder, rebuildViews } from './older-folder.ts';

const folders = new Map<Kind, OlderFolder>();
let whole = '';
let key = '';
beforeAll(async () => {
  for (const kind of KINDS) folders.set(kind, await olderFolder(kind));
  ({ data: whole, key } = folders.get('sqlite') ?? expect.fail());
});
afterAll(killStarted);

function folder() {
  const data = temporaryFolder();
  cpSync(whole, data, { recursive: true });
  return { data, files: viewFilesOf(data) };
}

/** With its ledger in such a log. */
async function folderOn(kind: Kind) {
  const older = folders.get(kind) ?? expect.fail();
  const copy = await copyOfFolder(kind, older.data);
  return { copy, key: older.key, files: viewFilesOf(copy.data) };
}

/** As a command does whose reading has begun: until it ends the file cannot give way to another. */
function readMeanwhile(file: string): { readonly end: () => void } {
  const [written, reads] = [new DatabaseSync(file), new DatabaseSync(file, { readOnly: true })];
  written.exec('PRAGMA journal_mode = WAL; UPDATE written SET writes = writes + 1');
  reads.exec('BEGIN; SELECT * FROM written');
  return { end: () => [reads, written].forEach((one) => void (one.isOpen && one.close())) };
}

describe('a gateway whose views were written in an earlier version', () => {
  it.each(KINDS)(
    'on %s, serves from them at once, folds on, goes over to what is rebuilt beside them, and keeps those of before',
    async (kind) => {
      const { copy, key, files } = await folderOn(kind);
      const { data } = copy;
      const config = ['--config', join(data, 'gateway.json')];
      const begin = Promise.withResolvers<void>();
      const logLines: string[] = [];
      const onceBegun = () => begin.promise.then(() => rebuildViews(data));
      const gateway = await startTestGateway({ ...copy, logLines, rebuildViews: onceBegun });
      // From their rows: nothing was folded from the beginning.
      expect(gateway.gateway.process.projections.restoredMarkMs).not.toBe(null);
      const asked = await postMessage(gateway, { model: 'svc-mock', key });
      await asked.rest();
      expect(asked.status).toBe(200);
      await gateway.gateway.process.settlement.idle();
      await gateway.gateway.process.projections.whenWritten();
      expect(await balanceStatesOf(data)).toEqual([
        `serving version 6, ${ACCOUNT_STATE_VERSION} not rebuilt`,
        'kept for rollback',
      ]);
      const lock = lockFolder(files.rebuildFolder);
      expect(await balanceStatesOf(data)).toEqual([
        `serving version 6, rebuilding ${ACCOUNT_STATE_VERSION}`,
        'kept for rollback',
      ]);
      const viewsFound = async () => (await doctor(join(data, 'gateway.json'))).of('views');
      expect(await viewsFound()).toMatchObject({
        state: 'ok',
        says: expect.stringMatching(/\(balance 6\), and being rebuilt$/),
      });
      lock.release();
      expect(await viewsFound()).toMatchObject({
        state: 'warn',
        says: expect.stringMatching(/\(balance 6\), and not rebuilt$/),
        advice: expect.stringContaining(
          `; \`gateway projections rebuild --all --config ${join(data, 'gateway.json')}\` does it by hand`,
        ),
      });
      expect(await runHere('projections', 'rebuild', 'monthly', ...config)).toMatchObject({ exitCode: 3 });
      begin.resolve();
      await expect.poll(() => logLines.join()).toContain('folded from the log');
      expect(logLines.join()).toContain(
        'rows of accounts compared with the live ones, 0 went on meanwhile: 0 differences; balance as its rows of version 6 are read',
      );
      expect(await balanceStatesOf(data)).toEqual(['live', 'kept for rollback']);
      expect(await viewsFound()).toMatchObject({ state: 'ok', says: expect.stringMatching(/the newest$/) });
      expect(readUpcastFrom(files.live).size).toBe(0);
      expect(areOfThisProgram(files.previous)).toBe(false);
      const back = await runHere('projections', 'rollback', ...config);
      expect(back).toMatchObject({ exitCode: 3, stderr: expect.stringContaining('of another version') });
      const after = await postMessage(gateway, { model: 'svc-mock', key });
      await after.rest();
      expect(after.status).toBe(200);
      await gateway.stop();
      expect(await runHere('projections', 'diff', '--all', ...config)).toMatchObject({ exitCode: 0 });
    },
  );

  it.each(KINDS)(
    'on %s, answers while it makes its views of them, refuses what needs those, and can be ended',
    async (kind) => {
      for (const ends of ['ready', 'ended']) {
        const { copy, key, files } = await folderOn(kind);
        const { data } = copy;
        const reads = readMeanwhile(files.live);
        const log = copy.log ?? (await openSqliteEventLog({ path: join(data, 'ledger.db') }));
        const environment = { TEST_UPSTREAM_KEY: 'a-key' };
        const configuration = readConfiguration({
          file: join(data, 'gateway.json'),
          data,
          environment,
          callsProviders: true,
        });
        const lines: string[] = [];
        const logger = pino({ level: 'info' }, { write: (line) => void lines.push(line) });
        const gateway = await Gateway.start({ configuration, log, logger, clock: Date.now, monotonic: Date.now });
        // They are made, and wait for whoever reads those of before.
        await expect.poll(() => areOfThisProgram(files.upcast)).toBe(true);
        expect((await fetch(`${gateway.url}/healthz`)).status).toBe(200);
        const asked = () => postMessage({ url: gateway.url, key }, { model: 'svc-mock', key });
        expect((await asked()).status, lines.join('')).toBe(529);
        expect(gateway.process.projections.ageMs(Date.now())).toBe(null);
        if (ends === 'ready') {
          reads.end();
          await gateway.whenReady();
          expect(gateway.process.projections.restoredMarkMs).not.toBe(null);
          expect((await asked()).status).toBe(200);
        }
        await gateway.stop();
        reads.end();
        await log.close();
        expect(areOfThisProgram(files.live)).toBe(ends === 'ready');
        expect(existsSync(files.previous)).toBe(ends === 'ready');
      }
    },
  );

  it('folds all anew where it can make nothing of them, and keeps them for their program', async () => {
    const { data, files } = folder();
    const database = new DatabaseSync(files.live);
    database.exec(`UPDATE stored_view SET version = 5 WHERE name = 'balance'`);
    database.close();
    const gateway = await startTestGateway({ data });
    expect(gateway.gateway.process.projections.restoredMarkMs).toBe(null);
    expect((await postMessage(gateway, { model: 'svc-mock', key })).status).toBe(200);
    await gateway.stop();
    expect([areOfThisProgram(files.live), areOfThisProgram(files.previous)]).toEqual([true, false]);
  });

  it('that was stopped in between rebuilds them after its next start', async () => {
    const { data, files } = folder();
    let begun = 0;
    const interrupted = (signal: AbortSignal): Promise<string> => {
      begun++;
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    };
    for (const starts of [1, 2]) {
      const gateway = await startTestGateway({ data, rebuildViews: interrupted });
      expect((await postMessage(gateway, { model: 'svc-mock', key })).status).toBe(200);
      await expect.poll(() => begun).toBe(starts);
      await gateway.stop();
    }
    expect(readUpcastFrom(files.live)).toEqual(new Map([['balance', 6]]));
    const gateway = await startTestGateway({ data, rebuildViews: () => rebuildViews(data) });
    await expect.poll(() => readUpcastFrom(files.live).size).toBe(0);
    await gateway.stop();
  });

  it.each(KINDS)(
    'on %s, rebuilds them in a process of its own while it serves from them: no request is refused, and all is right',
    async (kind) => {
      const { copy, key, files } = await folderOn(kind);
      const gateway = await inOwnProcess({ data: copy.data, key });
      const { answered, refused, stop } = traffic(gateway, { pauseMs: 100 });
      await expect.poll(() => readUpcastFrom(files.live).size).toBe(0);
      const then = answered.length + 5;
      await expect.poll(() => answered.length).toBeGreaterThan(then);
      await stop();
      expect(refused).toEqual([]);
      expect(areOfThisProgram(files.previous)).toBe(false);
      await stopInOrder(gateway.program);
      await expectRight(copy, answered);
    },
  );
});

describe('gateway projections rebuild --dry-run', () => {
  const dryRun = (data: string) => runHere('projections', 'rebuild', '--all', '--dry-run', '--data', data);

  it('compares with views of an earlier version, as a gateway reads their rows', async () => {
    const { data, files } = folder();
    expect(await dryRun(data)).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/: 0 differences; balance as its rows of version 6 are read\nnothing was switched/),
    });
    const database = new DatabaseSync(files.live);
    database.exec(`UPDATE balance_v6 SET balance_micro_usd = '7'`);
    database.close();
    expect(await dryRun(data)).toMatchObject({
      exitCode: 5,
      stdout: expect.stringMatching(
        /balance_micro_usd: live 0\.000007 USD, fold 1,000\.000000 USD$.*: 1 difference; balance as its/ms,
      ),
    });
    const rebuilt = await runHere('projections', 'rebuild', '--all', '--data', data);
    expect(rebuilt.stdout).toContain('switched in the folder; those of the other version are kept for its program');
  });

  it('says why it has nothing to compare: rows of no form, views that it can make nothing of, or none', async () => {
    const { data, files } = folder();
    const change = (sql: string): void => {
      const database = new DatabaseSync(files.live);
      database.exec(sql);
      database.close();
    };
    change(`UPDATE balance_v6 SET state = '{"type":"open"}'`);
    expect(await dryRun(data)).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(
        /earlier version, and cannot be read as ones of this one \(.+\): nothing was compared$/m,
      ),
    });
    change(`UPDATE stored_view SET version = 5 WHERE name = 'balance'`);
    expect(await dryRun(data)).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/can make nothing of \(balance 5, .*has written them: nothing was compared$/m),
    });
    removeViews(files.live);
    expect((await dryRun(data)).stdout).toContain('there are no live views yet: nothing was compared');
  });
});
