import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { openEventStoreDbEventLog } from '../../ledger/event-log/eventstoredb/eventstoredb-event-log.ts';
import { fillLedger } from '../bench/fill-ledger.ts';
import { startFakeEventStore } from '../eventstoredb/fake-event-store.ts';
import type { AppendFault } from '../eventstoredb/fault-kinds.ts';
import type { SeenAppend } from '../eventstoredb/faults.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { rowsOf } from '../fixtures/ledger/sealed-rows.ts';
import { runHere } from '../fixtures/processes/run-here.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const PROGRAM = fileURLToPath(new URL('../../proxy/main.mjs', import.meta.url));
const spawned = (...args: readonly string[]) => {
  const child = spawn(process.execPath, [PROGRAM, ...args], { stdio: ['ignore', 'pipe', 'ignore'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  return { child, ended: once(child, 'exit') };
};

async function site() {
  const folder = temporaryFolder();
  const store = endedLater(await startFakeEventStore());
  const { connectionString } = store;
  const configOf = (name: string, eventLog: object): string => {
    const file = join(folder, name);
    writeFileSync(
      file,
      JSON.stringify({ listen: { port: 0 }, data: join(folder, 'data'), eventLog, logLevel: 'fatal' }),
    );
    return file;
  };
  const inFile = configOf('file.json', { kind: 'sqlite' });
  const inStore = configOf('store.json', { kind: 'eventstoredb', connectionString });
  let accounts = 0;
  return {
    ...{ store, inFile, inStore, ledgerFile: join(folder, 'data', 'ledger.db') },
    /** The exit code of a command that writes there. */
    write: async (config: string): Promise<number> =>
      (await runHere('--config', config, 'account', 'open', '--email', `a${accounts++}@example.com`)).exitCode,
    /** The copy is killed as soon as the server has met the append of which the fault says what becomes. */
    killAt: async (
      fault: AppendFault,
      isInstant: (append: SeenAppend, number: number) => boolean,
      ...words: readonly string[]
    ): Promise<void> => {
      const { child, ended } = spawned(...words);
      let number = 0;
      const met = new Promise<void>((resolve) => {
        store.faults.onAppend = (append) => {
          if (!isInstant(append, number++)) return 'ok';
          resolve();
          return fault;
        };
      });
      await Promise.race([met, ended.then(([code]) => Promise.reject(new Error(`it ended with ${code}`)))]);
      child.kill('SIGKILL');
      await ended;
      store.faults.onAppend = null;
    },
    /** A gateway of a process of its own is ready there, and stops in order. */
    serves: async (config: string): Promise<void> => {
      const { child, ended } = spawned('--json', '--config', config, 'serve');
      expect((await once(child.stdout, 'data'))[0].toString()).toContain('http://');
      child.kill('SIGTERM');
      expect((await ended)[0]).toBe(0);
    },
  };
}

const [DONE, REFUSED] = [0, 3];
const ofType =
  (type: string) =>
  ({ events }: SeenAppend): boolean =>
    events.some((event) => event.type === type);
it('a copy that is killed anywhere leaves one place that serves, or none until it is run again, and never two', async () => {
  const { inFile, inStore, ledgerFile, store, write, killAt, serves } = await site();
  for (let at = 0; at < 3; at++) expect(await write(inFile)).toBe(DONE);
  const there = ['--config', inFile, 'ledger', 'copy', '--to', store.connectionString];

  await killAt('store-and-stall', (_append, number) => number === 5, ...there);
  expect([await write(inFile), await write(inStore)]).toEqual([DONE, REFUSED]);
  await serves(inFile);

  // The file has ended.
  await killAt('stall', ofType('LedgerMoved'), ...there);
  expect([await write(inFile), await write(inStore)]).toEqual([REFUSED, REFUSED]);
  await killAt('stall', ofType('LedgerIdentified'), ...there);
  expect([await write(inFile), await write(inStore)]).toEqual([REFUSED, REFUSED]);
  await killAt('store-and-stall', ofType('LedgerIdentified'), ...there);
  expect([await write(inFile), await write(inStore)]).toEqual([REFUSED, DONE]);
  await serves(inStore);
  expect((await runHere(...there)).exitCode).toBe(DONE);

  // And back: the file gets its name when all of it is there.
  renameSync(ledgerFile, `${ledgerFile}.moved`);
  const back = ['--config', inStore, 'ledger', 'copy', '--to', ledgerFile];
  await killAt('store-and-stall', ofType('LedgerMoved'), ...back);
  expect(await write(inStore)).toBe(REFUSED);
  expect((await runHere(...back)).exitCode).toBe(DONE);
  expect([await write(inFile), await write(inStore)]).toEqual([DONE, REFUSED]);
  expect(await runHere('--config', inFile, 'ledger', 'verify', '--all')).toMatchObject({ exitCode: DONE });
}, 120_000);

it('a copy back that is killed in the middle goes on in the file that it has half written, which nobody takes for the ledger before', async () => {
  const { inFile, inStore, ledgerFile, store, write, serves } = await site();
  mkdirSync(dirname(ledgerFile));
  // Some transactions of a file.
  await fillLedger(ledgerFile, { accounts: 7, events: 900 });
  expect((await runHere('--config', inFile, 'ledger', 'copy', '--to', store.connectionString)).exitCode).toBe(DONE);
  renameSync(ledgerFile, `${ledgerFile}.moved`);

  const [back, partial] = [['--config', inStore, 'ledger', 'copy', '--to', ledgerFile], `${ledgerFile}.partial`];
  store.faults.onRead = ({ stream, direction }) =>
    stream === null && direction === 'forwards' ? { silentAfterEvents: 500 } : 'ok';
  const { child, ended } = spawned(...back);
  await expect.poll(() => existsSync(partial) && rowsOf(partial).length).toBeGreaterThan(0);
  child.kill('SIGKILL');
  await ended;
  store.faults.onRead = null;
  const [half, { ino }] = [rowsOf(partial), statSync(partial)];
  expect(existsSync(ledgerFile)).toBe(false);

  // It is where it was.
  expect(await write(inStore)).toBe(DONE);
  expect((await runHere(...back)).exitCode).toBe(DONE);
  const log = endedLater(await openEventStoreDbEventLog({ connectionString: store.connectionString }));
  const all = await Array.fromAsync(log.readAll(), ({ stream, revision, id, type, data, metadata }) => ({
    ...{ stream, revision, id, type },
    ...{ data, metadata },
  }));
  const rows = rowsOf(ledgerFile);
  // Behind them the file begins to be the ledger.
  expect(rows.slice(0, -1)).toEqual(all);
  expect([statSync(ledgerFile).ino, rows.slice(0, half.length)]).toEqual([ino, half]);
  expect(half.length).toBeLessThan(all.length - 300);
  expect([await write(inFile), await write(inStore)]).toEqual([DONE, REFUSED]);
  await serves(inFile);
  expect(await runHere('--config', inFile, 'ledger', 'verify', '--all')).toMatchObject({ exitCode: DONE });
}, 120_000);
