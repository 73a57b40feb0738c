import { rmSync } from 'node:fs';
import { describe, expect, test, vi } from 'vitest';
import type { AccountEvent } from '../../contracts/events.ts';
import { accountId, revision } from '../../contracts/ids.ts';
import { LIMITS } from '../../contracts/limits.ts';
import { VIEW_LIMITS } from '../../projections/limits.ts';
import { opened } from '../fixtures/ledger/example-account.ts';
import { MemoryEventLog } from '../fixtures/ledger/memory-event-log.ts';
import { inTurnsThroughout, passing, turns, until } from '../fixtures/ledger/turns.ts';
import { dump, execute, positionOf, viewsFile, writeLives, writeTo } from './example-ledger.ts';
import {
  A,
  ALL,
  caughtUp,
  checkpointAt,
  head,
  LIVES,
  logOf,
  start,
  writeUnknown,
  written,
} from './started-projections.ts';

inTurnsThroughout();

describe('who waits for the file', () => {
  const planOf = (path: string): string[] => dump(path).filter((row) => row.includes('enterprise'));

  test('goes on when it has what the views hold, also what did not come by the feed', async () => {
    const log = logOf();
    const path = viewsFile();
    const { projections } = await caughtUp(log, path);
    await passing(projections.whenWritten());
    const { revision: last } = projections.accounts.read(A);
    projections.accounts.fold(A, revision(last + 1), {
      type: 'PlanChanged',
      data: { plan: 'enterprise', terms: null },
    });
    expect(planOf(path)).toEqual([]);
    await passing(projections.whenWritten());
    expect(planOf(path)).toHaveLength(1);
  });

  test('is told where it will not be written any more', async () => {
    const { projections, close } = await caughtUp(logOf());
    await close();
    await expect(projections.whenWritten()).rejects.toThrow(/not written any more/);
    const reader = await start(logOf(), viewsFile(), false);
    await expect(reader.projections.whenWritten()).rejects.toThrow(/not written/);
  });

  test('is told so when the projections have stopped and are closed', async () => {
    const log = logOf();
    const { projections, stopped, close } = await caughtUp(log);
    writeUnknown(log);
    await until(() => stopped.length > 0);
    const written = projections.whenWritten().catch((error: unknown) => error);
    await close();
    expect(await written).toBeInstanceOf(Error);
  });

  test('goes on with the last write, when the projections are closed', async () => {
    const { projections, close } = await caughtUp(logOf());
    const written = projections.whenWritten();
    await close();
    await expect(written).resolves.toBeUndefined();
  });
});

describe('the file of the views', () => {
  test('is written while the views change, and at the end', async () => {
    const path = viewsFile();
    const log = logOf(0, 9);
    const { projections, close } = await caughtUp(log, path);
    await turns(LIMITS.viewFlushMs);
    await until(() => dump(path).some((row) => row.startsWith('checkpoint ')));
    expect(dump(path)).toContain(checkpointAt(log));
    writeLives(log, LIVES, 9, ALL);
    await passing(projections.whenAt(head(log)));
    await close();
    expect(dump(path)).toContain(checkpointAt(log));
  });

  test('is written seldom while the views catch up, and as soon as they have', async () => {
    const waits = vi.spyOn(globalThis, 'setTimeout');
    const { projections } = await start(logOf(), viewsFile());
    await passing(projections.whenCaughtUp());
    const { catchUpPauseMs } = VIEW_LIMITS;
    const pauses = waits.mock.calls
      .map(([, ms]) => ms)
      .filter((ms) => ms === catchUpPauseMs || ms === LIMITS.viewFlushMs);
    expect(pauses.slice(0, 2)).toEqual([catchUpPauseMs, LIMITS.viewFlushMs]);
  });

  test('is written less often where a write has many rows', async () => {
    const log = new MemoryEventLog();
    for (let number = 0; number < 200; number++) {
      const id = accountId(`a${number}`);
      writeTo(log, id, [{ ...opened, data: { ...opened.data, accountId: id } } as AccountEvent]);
    }
    const waits = vi.spyOn(globalThis, 'setTimeout');
    const { projections } = await caughtUp(log);
    for (let writes = 0; writes < 3; writes++) await passing(projections.whenWritten());
    const pauses = waits.mock.calls.map(([, ms]) => ms);
    const { flushPauseMaxMs } = VIEW_LIMITS;
    const flushes = pauses.filter((ms) => ms === flushPauseMaxMs || ms === LIMITS.viewFlushMs);
    // What follows the three depends on whether something has changed since, the time of the log's head for one.
    expect(flushes.slice(0, 3)).toEqual([LIMITS.viewFlushMs, flushPauseMaxMs, LIMITS.viewFlushMs]);
  });

  test('spares a restart the events that it holds already', async () => {
    const path = viewsFile();
    const log = logOf(0, 9);
    await written(log, path);
    const at = head(log);
    writeTo(log, A, [{ type: 'PlanChanged', data: { plan: 'team', terms: null } }]);
    const subscribe = vi.spyOn(log, 'subscribeAll');
    const { projections } = await start(log, path);
    expect(subscribe.mock.calls.map(([{ after }]) => after)).toEqual([at]);
    await passing(projections.whenCaughtUp());
    expect(positionOf(projections)).toBe(head(log));
  });

  test('is left alone by a reader beside a running gateway', async () => {
    const path = viewsFile();
    const log = logOf();
    await written(log, path);
    const before = dump(path);
    writeTo(log, A, [{ type: 'PlanChanged', data: { plan: 'team', terms: null } }]);
    const reader = await caughtUp(log, path, false);
    expect(positionOf(reader.projections)).toBe(head(log));
    await reader.close();
    expect(dump(path)).toEqual(before);
  });

  test('invariant 7: rebuild: can be deleted at any time: rebuilt, every row of it is the same, byte for byte', async () => {
    const path = viewsFile();
    const log = logOf(0, 7);
    // Written in many pieces, over restarts.
    for (const [from, to] of [
      [7, 13],
      [13, 21],
      [21, ALL],
    ] as const) {
      const { projections, close } = await caughtUp(log, path);
      writeLives(log, LIVES, from, to);
      await passing(projections.whenAt(head(log)));
      await close();
    }
    const before = dump(path);
    expect(before.length).toBeGreaterThan(3 * LIVES.size);
    for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true });
    const rebuilt = await caughtUp(log, path);
    await rebuilt.close();
    expect(dump(path)).toEqual(before);
  });

  test('of another log ends the projections, and stays as it is', async () => {
    const path = viewsFile();
    await written(logOf(), path);
    const before = dump(path);
    const { projections, stopped, close } = await start(logOf(0, 9), path);
    await expect(passing(projections.whenCaughtUp())).rejects.toThrow(/the ledger does not have that event/);
    expect(stopped).toHaveLength(1);
    await close();
    expect(dump(path)).toEqual(before);
  });

  test('that cannot be written stops the projections, and is told', async () => {
    const path = viewsFile();
    const log = logOf(0, 9);
    const { projections, stopped } = await start(log, path);
    execute(path, 'DROP TABLE monthly_v3');
    await passing(projections.whenCaughtUp());
    await turns(LIMITS.viewFlushMs);
    await until(() => stopped.length > 0);
    expect(stopped.map(String)).toEqual([expect.stringMatching(/the views were not written/)]);
    expect(projections.isLive).toBe(false);
  });
});
