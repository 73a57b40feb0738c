import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { EventLogError } from '../../contracts/event-log.ts';
import { accountId, CATALOG_STREAM, position } from '../../contracts/ids.ts';
import { LIMITS } from '../../contracts/limits.ts';
import { FEED_LIMITS } from '../../ledger/feed/limits.ts';
import { LedgerLostError } from '../../ledger/identity/ledger-lost.ts';
import { VIEW_LIMITS } from '../../projections/limits.ts';
import type { Projections } from '../../projections/projections.ts';
import { ViewStore } from '../../projections/view-store.ts';
import { KEY } from '../fixtures/ledger/example-account.ts';
import { exampleOf } from '../fixtures/ledger/example-events.ts';
import { LogWithOutages } from '../fixtures/ledger/log-with-outages.ts';
import { MemoryEventLog } from '../fixtures/ledger/memory-event-log.ts';
import { inTurnsThroughout, passing, turns, until } from '../fixtures/ledger/turns.ts';
import {
  currentAtMsOf,
  dump,
  exampleLives,
  positionOf,
  secretOf,
  viewsFile,
  writeLives,
  writeTo,
} from './example-ledger.ts';
import { writeEvent } from './example-log.ts';
import { startedViews } from './started-views.ts';

inTurnsThroughout();

const LIVES = exampleLives(4);
const ALL = Math.max(...[...LIVES.values()].map((events) => events.length));
const A = accountId('a0');
const KEY_OF_A = secretOf(accountId('a0'), KEY);
const PLAN = { type: 'PlanChanged', data: { plan: 'team', terms: null } } as const;

/** Wall-clock time, which only a test moves. */
const clock = { nowMs: 1_900_000_000_000 };

const start = (log: LogWithOutages, path: string) => startedViews({ log, path, clock: () => clock.nowMs }, passing);
/** One that has folded all that the log holds. */
async function caughtUp(log: LogWithOutages, path = viewsFile()) {
  const started = await start(log, path);
  await passing(started.projections.whenCaughtUp());
  return started;
}
function logOf(from = 0, to = ALL): LogWithOutages {
  const log = new LogWithOutages();
  writeLives(log.inner, LIVES, from, to);
  writeEvent(log, CATALOG_STREAM, exampleOf('CatalogPublished'));
  return log;
}
const head = (log: LogWithOutages) => log.inner.events.at(-1)?.position ?? position(-1);
/** A file with everything that the log holds, written by projections that have ended. */
async function written(log: LogWithOutages): Promise<string> {
  const path = viewsFile();
  const { projections } = await caughtUp(log, path);
  await passing(projections.close());
  return path;
}

describe('with the log away, projections', () => {
  test('start on the rows that they have, catalog and keys too, and tell how old these may be', async () => {
    const log = logOf();
    const path = await written(log);
    const whole = dump(path);
    await log.goAway();
    clock.nowMs += 60_000;
    const { projections, told, stopped } = await start(log, path);
    expect(projections.accounts.read(A).revision).toBe((LIVES.get(A)?.length ?? 0) - 1);
    expect(projections.accounts.keys.find(KEY_OF_A)?.accountId).toBe(A);
    expect(projections.catalog.state.version).toBe(exampleOf('CatalogPublished').data.version);
    expect([projections.isLive, projections.ageMs(clock.nowMs)]).toEqual([false, 60_000]);
    expect(projections.ageMs(clock.nowMs + 5)).toBe(60_005);
    await until(() => told.length > 1);
    expect(new Set(told)).toEqual(new Set(['dropped: the log is away']));
    await passing(projections.close());
    expect(stopped).toEqual([]);
    expect(dump(path)).toEqual(whole);
    expect(currentAtMsOf(path)).toBe(clock.nowMs - 60_000);
  });

  test('are no younger by a clock that is behind the one of their rows: they were read now', async () => {
    const log = logOf();
    const path = await written(log);
    await log.goAway();
    clock.nowMs -= 3_600_000;
    const { projections } = await start(log, path);
    expect(projections.restoredMarkMs).toBe(clock.nowMs + 3_600_000);
    expect(projections.ageMs(clock.nowMs + 60_000)).toBe(60_000);
  });

  test('go on from their rows when it is back, and are current then', async () => {
    const log = logOf();
    const path = await written(log);
    await log.goAway();
    const { projections, told } = await start(log, path);
    const seen: string[] = [];
    void projections.whenCaughtUp().then(() => seen.push(`caught up at ${positionOf(projections)}`));
    writeTo(log.inner, A, [PLAN]);
    await turns();
    expect(seen).toEqual([]);
    const subscribe = vi.spyOn(log, 'subscribeAll');
    const at = positionOf(projections);
    log.comeBack();
    await until(() => seen.length > 0);
    expect(subscribe.mock.calls.map(([{ after }]) => after)).toEqual([at]);
    expect(seen).toEqual([`caught up at ${head(log)}`]);
    expect([projections.isLive, projections.ageMs(clock.nowMs)]).toEqual([true, 0]);
    expect(told.at(-1)).toBe('live');
  });

  test('without rows start, too, and are of no use before they have caught up', async () => {
    const log = logOf();
    await log.goAway();
    const { projections } = await start(log, viewsFile());
    expect([projections.isLive, projections.ageMs(clock.nowMs)]).toEqual([false, null]);
    log.comeBack();
    await passing(projections.whenCaughtUp());
    expect(projections.ageMs(clock.nowMs)).toBe(0);
  });

  test('are of no use on rows that never held everything', async () => {
    const log = logOf();
    const path = viewsFile();
    const first = await start(log, path);
    await until(() => positionOf(first.projections) !== null);
    await log.goAway();
    expect(first.projections.isLive).toBe(false);
    await passing(first.projections.close());
    expect(currentAtMsOf(path)).toBeNull();
    const { projections } = await start(log, path);
    expect(projections.accounts.read(A).revision).toBeGreaterThan(-1);
    expect(projections.ageMs(clock.nowMs)).toBeNull();
    log.comeBack();
    await passing(projections.whenCaughtUp());
    expect(projections.ageMs(clock.nowMs)).toBe(0);
  });

  test('do not look for it too often, and end with their close', async () => {
    const log = logOf();
    const path = await written(log);
    await log.goAway();
    const before = log.streamReads;
    const { projections, stopped } = await start(log, path);
    const waiting = projections.whenCaughtUp();
    await turns(4 * FEED_LIMITS.backOff.firstMs);
    // Pauses of at least 50, 100 and 200 ms, and perhaps a little of the next.
    expect(log.streamReads - before).toBeGreaterThan(1);
    expect(log.streamReads - before).toBeLessThan(6);
    await passing(projections.close());
    await expect(waiting).rejects.toThrow(/the projections are closed/);
    const looks = log.streamReads;
    await turns(3 * VIEW_LIMITS.contactPauseMaxMs);
    expect(log.streamReads).toBe(looks);
    expect(stopped).toEqual([]);
  });

  test('stop where looking again is of no use', async () => {
    const log = logOf();
    const path = await written(log);
    log.fault = new EventLogError('invalid', 'no right to read');
    await log.goAway();
    const { projections, stopped } = await start(log, path);
    await expect(passing(projections.whenCaughtUp())).rejects.toThrow(/no right to read/);
    expect(stopped.map(String)).toEqual([expect.stringMatching(/no right to read/)]);
  });
});

describe('the age of the views', () => {
  test('counts from when the log is lost from sight, and is 0 again when all of it is folded', async () => {
    const log = logOf();
    const { projections, told } = await caughtUp(log);
    clock.nowMs += 100_000;
    expect(projections.ageMs(clock.nowMs)).toBe(0);
    await log.goAway();
    clock.nowMs += 7_000;
    expect([projections.ageMs(clock.nowMs), projections.isLive]).toEqual([7_000, false]);
    writeTo(log.inner, A, [PLAN]);
    log.comeBack();
    expect(projections.ageMs(clock.nowMs)).toBe(7_000);
    await until(() => projections.isLive);
    expect(positionOf(projections)).toBe(head(log));
    expect(projections.ageMs(clock.nowMs)).toBe(0);
    expect(told).toEqual(['live', 'dropped: the log is away', 'live']);
  });

  test('is never below 0, whatever the clock does', async () => {
    const log = logOf();
    const path = await written(log);
    await log.goAway();
    const { projections } = await start(log, path);
    expect(projections.ageMs(clock.nowMs - 3_600_000)).toBe(0);
  });

  test('counts from a stop: what cannot be folded ends it', async () => {
    const log = logOf();
    const { projections, stopped } = await caughtUp(log);
    const [template] = log.inner.events;
    if (template === undefined) throw new Error('an empty log');
    log.inner.write(CATALOG_STREAM, [{ ...template, type: 'CreditsConjured', data: '{}' }]);
    await until(() => stopped.length > 0);
    expect([projections.isLive, projections.ageMs(clock.nowMs + 9)]).toEqual([false, 9]);
  });

  test('after a restart counts from when the views were current, not from the last event', async () => {
    const log = logOf();
    const path = viewsFile();
    const { projections } = await caughtUp(log, path);
    await turns(LIMITS.viewFlushMs + 5);
    await until(() => currentAtMsOf(path) === clock.nowMs);
    const rows = dump(path);
    // An hour in which nothing happens, then an end without warning.
    clock.nowMs += 3_600_000;
    await turns(VIEW_LIMITS.currentMarkMs + LIMITS.viewFlushMs + 5);
    await until(() => currentAtMsOf(path) === clock.nowMs);
    expect(dump(path)).toEqual(rows);
    // While the log is away nothing is current, however long the process lives.
    const droppedAtMs = clock.nowMs;
    await log.goAway();
    clock.nowMs += 20_000;
    await turns(2 * VIEW_LIMITS.currentMarkMs);
    expect(currentAtMsOf(path)).toBe(droppedAtMs);
    await passing(projections.close());
    expect(currentAtMsOf(path)).toBe(droppedAtMs);
    const again = await start(log, path);
    expect(again.projections.ageMs(clock.nowMs)).toBe(20_000);
  });

  test('costs one small write now and then', async () => {
    const log = logOf();
    const path = viewsFile();
    await caughtUp(log, path);
    await turns(LIMITS.viewFlushMs + 5);
    await until(() => currentAtMsOf(path) !== null);
    const write = vi.spyOn(ViewStore.prototype, 'write');
    onTestFinished(() => write.mockRestore());
    await turns(6_300);
    await until(() => write.mock.calls.length > 0);
    expect(write.mock.calls.length).toBeLessThan(5);
    expect(write.mock.calls.map(([rows]) => rows.length)).toEqual(write.mock.calls.map(() => 0));
  });
});

describe('whoever follows the views', () => {
  /** As they are told to one who comes now. */
  function follow(projections: Projections): unknown[] {
    const told: unknown[] = [];
    projections.follow({
      onStopped: ({ message }) => told.push(`stopped: ${message}`),
      onLive: ({ wasLost }) => told.push(wasLost ? 'live again' : 'live'),
      onDropped: ({ message }, isNews) => told.push(`${isNews ? 'dropped' : 'away'}: ${message}`),
    });
    return told;
  }

  test('is told at once what they have come to by then, and of each change once', async () => {
    const log = logOf();
    const { projections } = await start(log, viewsFile());
    const first = follow(projections);
    expect(first).toEqual([]);
    await passing(projections.whenCaughtUp());
    writeTo(log.inner, A, [PLAN]);
    await until(() => positionOf(projections) === head(log));
    await log.goAway();
    await log.goAway();
    const second = follow(projections);
    log.comeBack();
    await until(() => projections.isLive);
    const third = follow(projections);
    writeEvent(log, CATALOG_STREAM, exampleOf('CreditsGranted'));
    const stopped = expect.stringMatching(/^stopped: /);
    await until(() => String(first.at(-1)).startsWith('stopped: '));
    expect(first).toEqual(['live', 'dropped: the log is away', 'away: the log is away', 'live again', stopped]);
    expect([second, third]).toEqual([
      ['dropped: the log is away', 'live again', stopped],
      ['live', stopped],
    ]);
    expect(follow(projections)).toEqual([stopped]);
  });
});

describe('rows of another log', () => {
  test('are used while no log is in sight, and end the projections when it comes: none is made of it', async () => {
    const path = await written(logOf());
    const before = dump(path);
    const shorter = new LogWithOutages();
    writeLives(shorter.inner, new Map([...LIVES].slice(1)), 0, 9);
    await shorter.goAway();
    const { projections, stopped } = await start(shorter, path);
    expect(projections.accounts.keys.find(KEY_OF_A)).not.toBeNull();
    shorter.comeBack();
    await until(() => stopped.length > 0);
    expect(stopped).toEqual([expect.any(LedgerLostError)]);
    expect(projections.isLive).toBe(false);
    await passing(projections.close());
    expect(dump(path)).toEqual(before);
  });

  test('are found out in a log that is longer, too, by the last event that was folded', async () => {
    const path = await written(logOf(0, 9));
    const longer = new LogWithOutages();
    writeLives(longer.inner, LIVES, 0, ALL);
    // At the same place of its stream.
    writeEvent(longer, CATALOG_STREAM, exampleOf('CatalogPublished'));
    const subscribe = vi.spyOn(longer, 'subscribeAll');
    const { projections, stopped } = await start(longer, path);
    await until(() => stopped.length > 0);
    expect(subscribe).not.toHaveBeenCalled();
    await passing(projections.close());
  });

  test('are not seen in a node of the log that lags behind', async () => {
    const log = logOf();
    const path = await written(log);
    log.emptyReads = 2;
    const subscribe = vi.spyOn(log, 'subscribeAll');
    await caughtUp(log, path);
    expect(subscribe.mock.calls.map(([{ after }]) => after)).toEqual([head(log)]);
  });
});

describe('projections', () => {
  test('whose file can no more be written stop with that, and do not wait for the next write', async () => {
    const path = viewsFile();
    const log = new LogWithOutages(new MemoryEventLog());
    await log.goAway();
    const { projections, stopped } = await start(log, path);
    // Before the thread has come to open it; nothing is to be written, for nothing comes in.
    rmSync(dirname(path), { recursive: true });
    await until(() => stopped.length > 0);
    expect(stopped.map(String)).toEqual([expect.stringMatching(/the views cannot be written any more/)]);
    await expect(projections.whenCaughtUp()).rejects.toThrow(/cannot be written any more/);
    await passing(projections.close());
  });

  test('are closed as often as one likes, in any state', async () => {
    const log = logOf();
    const path = viewsFile();
    const { projections, stopped } = await start(log, path);
    const early = projections.close();
    expect(projections.close()).toBe(early);
    await passing(early);
    await expect(projections.close()).resolves.toBeUndefined();
    await expect(projections.whenAt(position(10 ** 9))).rejects.toThrow(/closed/);
    const again = await start(log, path);
    await passing(again.projections.whenCaughtUp());
    await Promise.all([passing(again.projections.close()), again.projections.close()]);
    await again.projections.close();
    expect(stopped).toEqual([]);
  });
});
