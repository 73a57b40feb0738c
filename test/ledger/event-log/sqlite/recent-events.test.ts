import { describe, expect, it } from 'vitest';
import type { StreamName } from '../../../../contracts/ids.ts';
import { SQLITE_LIMITS } from '../../../../ledger/event-log/sqlite/limits.ts';
import type { CommittedAppend } from '../../../../ledger/event-log/sqlite/outcomes.ts';
import { RecentEvents } from '../../../../ledger/event-log/sqlite/recent-events.ts';
import { events } from '../../../fixtures/ledger/shared-log.ts';

const commit = (lastPosition: number, count: number, chars = 10): CommittedAppend => ({
  stream: 'account-1' as StreamName,
  events: events(count).map((event) => ({ ...event, data: 'x'.repeat(chars) })),
  lastRevision: lastPosition + 100,
  lastPosition,
});

const positions = (recent: RecentEvents, at: number): number[] | null =>
  recent.after(at)?.map(({ position }) => position) ?? null;

describe('recent events', () => {
  it('follow a position without a gap, over several commits', () => {
    const recent = new RecentEvents();
    recent.add([commit(12, 2), commit(13, 1)]);
    recent.add([commit(15, 2)]);
    expect(positions(recent, 10)).toEqual([11, 12, 13, 14, 15]);
    expect(positions(recent, 13)).toEqual([14, 15]);
    expect(positions(recent, 15)).toEqual([]);
    expect(positions(recent, 9)).toBeNull();
    expect(recent.after(10)?.map(({ revision }) => revision)).toEqual([111, 112, 113, 114, 115]);
  });

  it('begin anew after what another process wrote', () => {
    const recent = new RecentEvents();
    recent.add([commit(12, 2)]);
    recent.add([commit(15, 1)]);
    expect(positions(recent, 11)).toBeNull();
    expect(positions(recent, 13)).toBeNull();
    expect(positions(recent, 14)).toEqual([15]);
  });

  it('do not answer for a head that they have not reached', () => {
    const recent = new RecentEvents();
    expect(positions(recent, 0)).toEqual([]);
    recent.add([commit(12, 2)]);
    recent.noteHead(14);
    expect(positions(recent, 11)).toEqual([12]);
    expect(positions(recent, 12)).toBeNull();
    expect(positions(recent, 14)).toEqual([]);
    recent.noteHead(13);
    expect(positions(recent, 13)).toBeNull();
  });

  it('are kept up to their bounds, the oldest going first', () => {
    const recent = new RecentEvents();
    const { recentEventsMax, recentCharsMax } = SQLITE_LIMITS;
    for (let last = 1_000; last <= 2 * recentEventsMax; last += 1_000) recent.add([commit(last, 1_000)]);
    const head = Math.floor((2 * recentEventsMax) / 1_000) * 1_000;
    expect(positions(recent, head - recentEventsMax)?.[0]).toBe(head - recentEventsMax + 1);
    expect(positions(recent, head - recentEventsMax - 1)).toBeNull();

    for (let more = 1; more <= 18; more++) recent.add([commit(head + more, 1, recentCharsMax / 16)]);
    expect(positions(recent, head)).toBeNull();
    expect(positions(recent, head + 17)).toEqual([head + 18]);
  });

  it('are dropped when nobody needs them', () => {
    const recent = new RecentEvents();
    recent.add([commit(20, 10)]);
    recent.dropUpTo(17);
    expect(positions(recent, 16)).toBeNull();
    expect(positions(recent, 17)).toEqual([18, 19, 20]);
    recent.dropUpTo(Number.MAX_SAFE_INTEGER);
    expect(positions(recent, 19)).toBeNull();
    recent.add([commit(21, 1)]);
    expect(positions(recent, 20)).toEqual([21]);
  });

  it('come in batches of a page at most', () => {
    const recent = new RecentEvents();
    recent.add([commit(2_000, 2_000)]);
    expect(positions(recent, 0)).toHaveLength(SQLITE_LIMITS.pageEvents);
  });
});
