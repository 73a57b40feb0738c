import assert from 'node:assert/strict';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { downcast } from '../../contracts/event-upcasters.ts';
import { type AccountEvent, EVENT_SCHEMAS } from '../../contracts/events.ts';
import { type AccountId, accountId, attemptId, ledgerId } from '../../contracts/ids.ts';
import { ACCOUNT_STATE_VERSION } from '../../ledger/account/account-state.ts';
import { NO_BILLING } from '../../ledger/account/billing-state.ts';
import { accountUpcaster } from '../../ledger/account/stored-account.ts';
import { AccountViews } from '../../projections/account-views.ts';
import { damageOfRows } from '../../projections/damaged-rows.ts';
import {
  readFoldedThrough,
  readLedgerOfViews,
  readUpcastFrom,
  writeLedgerOfViews,
} from '../../projections/known-views.ts';
import { VIEW_LIMITS } from '../../projections/limits.ts';
import { areOfThisProgram, takePreparedViews } from '../../projections/prepared-views.ts';
import { finishSwitch, switchFiles } from '../../projections/switched-file.ts';
import { markVerified } from '../../projections/verified-mark.ts';
import { type ViewFiles, viewFilesOf } from '../../projections/view-files.ts';
import { restoreViews } from '../../projections/view-store.ts';
import { viewsOfThisProgram } from '../../projections/views-of-this-program.ts';
import { opened, usd } from '../fixtures/ledger/example-account.ts';
import { MemoryEventLog } from '../fixtures/ledger/memory-event-log.ts';
import { toVersion6, toVersion18 } from '../fixtures/ledger/older-views.ts';
import { canMount, smallDisk } from '../fixtures/ledger/small-disk.ts';
import { inTurnsThroughout } from '../fixtures/ledger/turns.ts';
import { killStarted, startProcess } from '../fixtures/processes/child-process.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { dump, exampleLives, foldAll, ownedBy, writeLives } from './example-ledger.ts';
import { caughtUp, expectWhole, written } from './started-projections.ts';

const PRELOAD = fileURLToPath(new URL('../commands/kill-at-call-preload.ts', import.meta.url));
const PREPARE = fileURLToPath(new URL('prepare-views-main.ts', import.meta.url));
/** Up to where a later program has written what a program of then could not. */
const OF_LATER: ReadonlySet<string> = new Set(['GrantRevoked', 'DebitReversed', 'BalanceAdjusted']);
const LIVES = new Map(
  [...exampleLives(30)]
    .map(([id, events]) => [id, events.slice(0, beginOfLater(events))] as const)
    .filter((life) => life[1].length > 12 && hasNoBilling(life))
    .slice(0, 4),
);
const ALL = Math.max(...[...LIVES.values()].map((events) => events.length));
const HALF = Math.floor(ALL / 2);
assert(LIVES.size > 1, 'lives of then among those of the seed');
inTurnsThroughout();
afterAll(killStarted);

/** What is looked for beside what is written: nothing of it is for that. */
const SHORT = VIEW_LIMITS.roomAheadBytes;
const never = (reason: string): never => expect.fail(reason);
const prepare = (files: ViewFiles, onUnmade: (reason: string) => void = never, signal = new AbortController().signal) =>
  takePreparedViews({ files, keepFreeBytes: 0, onUnmade, onUnkept: never }, signal);
function beginOfLater(events: readonly AccountEvent[]): number | undefined {
  const at = events.findIndex((event) => OF_LATER.has(event.type) || isLaterLimit(event));
  return at === -1 ? undefined : at;
}

/** Of a member, soft, or told at other thresholds. */
function isLaterLimit({ type, data }: AccountEvent): boolean {
  if (type !== 'SpendLimitSet' && type !== 'SpendThresholdCrossed') return false;
  return downcast(type, 1, z.encode(EVENT_SCHEMAS[type] as z.ZodType<object>, data) as never) === null;
}

function hasNoBilling([id, events]: readonly [AccountId, readonly AccountEvent[]]): boolean {
  const views = new AccountViews();
  foldAll(views, new Map([[id, events]]));
  const { state } = views.read(id);
  return state.type === 'open' && isDeepStrictEqual(state.billing, NO_BILLING);
}

interface Made {
  /** All of the lives. */
  readonly log: MemoryEventLog;
  /** Views of version 6 of the first half of them, and the rows that a fold of today has of that. */
  readonly older: string;
  readonly folded: readonly string[];
  /** Views of today of all of them. */
  readonly all: string;
}
let made: Promise<Made> | null = null;

async function make(): Promise<Made> {
  const log = new MemoryEventLog();
  writeLives(log, LIVES, 0, HALF);
  const older = await written(log);
  const folded = rowsOf(older);
  toVersion6(older);
  writeLives(log, LIVES, HALF, ALL);
  return { log, older, folded, all: await written(log) };
}

/** A data folder whose views are of version 6. */
async function folder() {
  made ??= make();
  const { older, ...others } = await made;
  const data = temporaryFolder();
  const files = viewFilesOf(data);
  cpSync(older, files.live);
  mkdirSync(files.rebuildFolder);
  return { ...others, data, files };
}

/** Each view's rows and where they stand, without what a file alone has. */
const rowsOf = (path: string): string[] =>
  dump(path).filter((row) => !/^(written|known_current|upcast_from) /.test(row));

/** All rows, and those of each account, as views of now are given them. */
function restoredFrom(path: string, areOlder: boolean) {
  const restored = restoreViews(path, viewsOfThisProgram(), { source: 'log', areOlder });
  assert(restored !== null);
  const { at, rows } = restored;
  const found = viewsOfThisProgram()
    .flatMap(({ tables }) => tables)
    .map((table) => {
      const all = [...rows.all(table, (row) => [...row])];
      const firsts = [...new Set(all.map(([first = null]) => first))];
      return [table.name, all, firsts.map((first) => rows.of(table, first, (row) => [...row]))] as const;
    });
  rows.close();
  expect(found.filter(([, all]) => all.length > 0).length).toBeGreaterThan(4);
  return { at, found };
}

const alter = (path: string, sql: string): void => {
  const database = new DatabaseSync(path);
  database.exec(sql);
  database.close();
};

describe('views of an earlier version', () => {
  it('are read as those of now, the same as a fold has them, and folded on', async () => {
    const { files, log, folded } = await folder();
    const before = dump(files.live);
    expect(await prepare(files)).toEqual({ type: 'upcast', from: new Map([['balance', 6]]) });
    expect(rowsOf(files.live)).toEqual(folded);
    expect(readUpcastFrom(files.live)).toEqual(new Map([['balance', 6]]));
    expect(damageOfRows(files.live)).toBe(null);
    // For the program that has written them, and its start.
    expect(dump(files.previous)).toEqual(before);
    const { projections, stopped, close } = await caughtUp(log, files.live);
    // Restored, and not folded from nothing.
    expect(projections.restoredMarkMs).not.toBe(null);
    expectWhole(projections, LIVES);
    expect(stopped).toEqual([]);
    await close();
    expect(readUpcastFrom(files.live).size).toBe(1);
    expect(areOfThisProgram(files.live)).toBe(true);
  });

  it('of version 18 are read so, too, with attempts that are open, and that are not, and all that accounts have beside them', async () => {
    const log = new MemoryEventLog();
    const id = accountId('acct_ada');
    const begun = (attempt: string): AccountEvent => ({
      type: 'PurchaseStarted',
      data: {
        ...{ attemptId: attemptId(attempt), provider: 'manual', amount: usd(1), price: usd(1), by: 'test' },
        startedAt: '2026-11-20T10:00:00.000Z',
      },
    });
    const at = '2026-11-20T10:00:01.000Z';
    const ended = { attemptId: attemptId('one'), reason: 'x', at, endedBy: null };
    const life = [ownedBy(id, opened), begun('one'), { type: 'PaymentAbandoned', data: ended } as const, begun('two')];
    writeLives(log, new Map([...LIVES, [id, life]]), 0, Math.max(ALL, life.length));
    const path = await written(log);
    const files = viewFilesOf(temporaryFolder());
    cpSync(path, files.live);
    mkdirSync(files.rebuildFolder);
    const folded = rowsOf(files.live);
    expect(folded.filter((row) => /^balance_v\d+_attempt /.test(row))).toHaveLength(1);
    expect(folded.filter((row) => /^balance_v\d+ .*declinedMethodId/.test(row))).toHaveLength(1);
    toVersion18(files.live);
    expect(rowsOf(files.live).join('')).not.toContain('declinedMethodId');
    expect(await prepare(files)).toEqual({ type: 'upcast', from: new Map([['balance', 18]]) });
    expect(rowsOf(files.live)).toEqual(folded);
    expect(damageOfRows(files.live)).toBe(null);
  });

  it('are kept for their program where nobody can read them: of a version that none is known of, a newer one, not of their form, of two moments', async () => {
    const { files } = await folder();
    const told: string[] = [];
    const identity = { ledgerId: ledgerId('ledger_019a5b3c00007000800000000000000a'), generation: 2 };
    writeLedgerOfViews(files.live, identity);
    const whole = `${files.live}.whole`;
    renameSync(files.live, whole);
    const tried = async (sql: string) => {
      cpSync(whole, files.live);
      alter(files.live, sql);
      const before = dump(files.live);
      writeFileSync(`${files.previous}-wal`, 'of those before');
      expect(await prepare(files, (reason) => told.push(reason))).toEqual({ type: 'kept' });
      const log = `${files.previous}-wal`;
      expect(existsSync(log) ? readFileSync(log, 'utf8') : '').not.toContain('of those before');
      expect(dump(files.previous)).toEqual(before);
      // What is folded anew is of the same ledger.
      expect([readLedgerOfViews(files.live), readFoldedThrough(files.live)]).toEqual([identity, null]);
      expect(existsSync(files.upcast)).toBe(false);
    };
    for (const version of [5, ACCOUNT_STATE_VERSION + 1])
      await tried(`UPDATE stored_view SET version = ${version} WHERE name = 'balance'`);
    await tried(`UPDATE stored_view SET version = 1 WHERE name = 'monthly'`);
    await tried('PRAGMA user_version = 2');
    expect(told).toEqual([]);
    await tried(`UPDATE balance_v6 SET state = json_remove(state, '$.plan')`);
    await tried('UPDATE balance_v6 SET stamp = stamp + 1');
    expect(told).toEqual([expect.stringContaining('plan'), expect.stringContaining('not of one moment')]);
    for (const version of [5, ACCOUNT_STATE_VERSION, ACCOUNT_STATE_VERSION + 1])
      expect(accountUpcaster(version)).toBe(null);
  });

  it('give way to views that were folded beforehand only where nothing can be made of them, to those first that had come to the end of the log and were served from, or verified', async () => {
    const { files, all } = await folder();
    cpSync(all, files.rebuild);
    cpSync(all, files.previous);
    cpSync(files.live, `${files.live}.kept`);
    // Those of before may be of long ago.
    expect(await prepare(files)).toMatchObject({ type: 'upcast' });
    cpSync(`${files.live}.kept`, files.live);
    alter(files.live, `UPDATE stored_view SET version = 5 WHERE name = 'balance'`);
    cpSync(all, files.previous);
    expect(await prepare(files)).toEqual({ type: 'folded', path: files.previous });
    cpSync(files.previous, files.live);
    rmSync(files.previous);
    expect(await prepare(files)).toEqual({ type: 'folded', path: files.rebuild });
    // And before those of before, where they were verified.
    for (const file of [files.previous, files.rebuild]) cpSync(all, file);
    markVerified(files.rebuild, true);
    cpSync(`${files.live}.kept`, files.live);
    alter(files.live, `UPDATE stored_view SET version = 5 WHERE name = 'balance'`);
    expect(await prepare(files)).toEqual({ type: 'folded', path: files.rebuild });
  });

  it('are kept for their program, also when the views that were made of them have given way to folded ones', async () => {
    const { files, all } = await folder();
    await prepare(files);
    const before = dump(files.previous);
    cpSync(all, files.rebuild);
    switchFiles(files, files.rebuild);
    expect([readUpcastFrom(files.live).size, dump(files.previous)]).toEqual([0, before]);
    // Where they are gone, what was made of them is kept.
    const again = await folder();
    await prepare(again.files);
    cpSync(all, again.files.rebuild);
    rmSync(again.files.previous);
    switchFiles(again.files, again.files.rebuild);
    expect(readUpcastFrom(again.files.previous).size).toBe(1);
  });

  it('are what they were where the start is broken off', async () => {
    const { files } = await folder();
    const before = dump(files.live);
    const ended = new AbortController();
    const prepared = prepare(files, never, ended.signal);
    ended.abort(new Error('the end'));
    await expect(prepared).rejects.toThrow('the end');
    await expect(prepare(files, never, ended.signal)).rejects.toThrow('the end');
    expect([dump(files.live), existsSync(files.upcast), existsSync(files.previous)]).toEqual([before, false, false]);
  });

  it.runIf(canMount)(
    'stay where they are where the disk has no room for what would be made of them, and are read the same as that',
    async () => {
      const { files } = await folder();
      const disk = smallDisk(8_192);
      const onDisk = viewFilesOf(dirname(disk.folder));
      mkdirSync(onDisk.rebuildFolder);
      cpSync(files.live, onDisk.live);
      disk.leaveFree(SHORT);
      const told: string[] = [];
      const read = restoredFrom(onDisk.live, true);
      for (const starts of [1, 2]) {
        expect(await prepare(onDisk, (reason) => told.push(reason))).toEqual({ type: 'unmade' });
        expect(told).toHaveLength(starts);
        expect(told.at(-1)).toMatch(/MiB are free, of which 0 MiB are kept for requests/);
        expect(dump(onDisk.live)).toEqual(dump(files.live));
        expect([existsSync(onDisk.previous), existsSync(onDisk.upcast)]).toEqual([false, false]);
      }
      disk.clear();
      expect(await prepare(onDisk)).toMatchObject({ type: 'upcast' });
      expect(read).toEqual(restoredFrom(onDisk.live, false));
    },
  );

  it.runIf(canMount)(
    'take the room of what this start replaces where there is no other, but not of what it may go over to',
    async () => {
      const { files, all, folded } = await folder();
      const onDisk = () => {
        const disk = smallDisk(8_192);
        const made = viewFilesOf(dirname(disk.folder));
        mkdirSync(made.rebuildFolder);
        cpSync(files.live, made.live);
        return { disk, made };
      };
      const full = onDisk();
      writeFileSync(full.made.previous, Buffer.alloc(1_048_576));
      full.disk.leaveFree(SHORT);
      expect(await prepare(full.made)).toMatchObject({ type: 'upcast' });
      expect([rowsOf(full.made.live), dump(full.made.previous)]).toEqual([folded, dump(files.live)]);
      // Those of this program may be gone over to.
      const own = onDisk();
      cpSync(all, own.made.previous);
      own.disk.leaveFree(SHORT);
      expect(await prepare(own.made, () => undefined)).toMatchObject({ type: 'folded', path: own.made.previous });
    },
  );

  it('are made of nothing once all is folded anew from the first event', async () => {
    const { files, log } = await folder();
    await prepare(files);
    // Rows of another feed are not restored.
    alter(files.live, `UPDATE checkpoint SET feed = 'another'`);
    await written(log, files.live);
    expect(readUpcastFrom(files.live).size).toBe(0);
  });

  it.each([
    ['before link views.previous.db.new', 6],
    ['after link views.previous.db.new', 6],
    ['after rename views.db', ACCOUNT_STATE_VERSION],
    ['after rename views.previous.db', ACCOUNT_STATE_VERSION],
  ])('are whole, or made whole by the next start, after a kill -9 %s', async (instant, version) => {
    const { data, files, folded } = await folder();
    writeFileSync(files.upcast, 'of a start that was killed while it was written');
    const stderrFd = openSync(join(temporaryFolder(), 'stderr'), 'w');
    const { child } = startProcess(['--import', PRELOAD, PREPARE, data], {
      ...{ stderrFd, environment: { KILL_AT: instant } },
    });
    expect(await once(child, 'exit')).toEqual([null, 'SIGKILL']);
    expect(readFoldedThrough(files.live)?.feed).toBe('log');
    expect(areOfThisProgram(files.live)).toBe(version !== 6);
    finishSwitch(files);
    if (areOfThisProgram(files.live) === false) await prepare(files);
    expect(rowsOf(files.live)).toEqual(folded);
    expect([areOfThisProgram(files.previous), existsSync(files.upcast)]).toEqual([false, false]);
  });
});
