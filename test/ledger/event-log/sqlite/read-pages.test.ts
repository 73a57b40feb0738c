import { beforeAll, describe, expect, it } from 'vitest';
import { NO_STREAM } from '../../../../contracts/ids.ts';
import { SQLITE_LIMITS } from '../../../../ledger/event-log/sqlite/limits.ts';
import type { EventRow, PageQuery } from '../../../../ledger/event-log/sqlite/messages.ts';
import { openForReads } from '../../../../ledger/event-log/sqlite/open-database.ts';
import { readPages } from '../../../../ledger/event-log/sqlite/read-pages.ts';
import { openSqliteEventLog } from '../../../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { endedLater } from '../../../fixtures/ended-later.ts';
import { collect, event, events, newStream, written } from '../../../fixtures/ledger/shared-log.ts';
import { newPath, openLog } from './log-file.ts';

const LONG = 200_000;
const LONG_EVENTS = 100;
const SHORT_EVENTS = 300;

describe('a page', () => {
  const path = newPath();
  const [long, short] = [newStream(), newStream()];

  beforeAll(async () => {
    const log = await openSqliteEventLog({ path });
    let expected = NO_STREAM;
    for (let count = 0; count < LONG_EVENTS; count += 4) {
      const four = [0, 1, 2, 3].map(() => event('x'.repeat(LONG)));
      expected = (await written(log, long, expected, four)).lastRevision;
    }
    await written(log, short, NO_STREAM, events(SHORT_EVENTS));
    await log.close();
  });

  const page = (query: PageQuery): { rows: readonly EventRow[]; isEnd: boolean } => {
    const database = endedLater(openForReads(path, 100));
    const answer = readPages(database)({ sequence: 7, query });
    if (answer.type !== 'page' || answer.sequence !== 7) throw new Error('a page answers');
    return answer;
  };

  it('has as many events as it is asked for, and says whether there are more', () => {
    const revisions = (query: PageQuery): [number[], boolean] => {
      const { rows, isEnd } = page(query);
      return [rows.map((row) => row[2]), isEnd];
    };
    const upTo = (first: number, last: number): number[] =>
      Array.from({ length: Math.abs(last - first) + 1 }, (_, index) => first + (first < last ? index : -index));
    expect(revisions({ type: 'forwards', stream: short, from: 0, limit: 200 })).toEqual([upTo(0, 199), false]);
    expect(revisions({ type: 'forwards', stream: short, from: 200, limit: 512 })).toEqual([upTo(200, 299), true]);
    expect(revisions({ type: 'backwards', stream: short, from: 150, limit: 150 })).toEqual([upTo(150, 1), false]);
    expect(revisions({ type: 'backwards', stream: short, from: 99, limit: 512 })).toEqual([upTo(99, 0), true]);
    expect(revisions({ type: 'all', after: LONG_EVENTS + 100, limit: 512 })).toEqual([upTo(100, 299), true]);
  });

  it('is without data and metadata where only places are asked for, and so has more of long events', () => {
    const all = page({ type: 'forwards', stream: long, from: 0, limit: 2 }).rows;
    const { rows } = page({ type: 'places', after: 0, limit: 512 });
    expect(rows).toHaveLength(LONG_EVENTS + SHORT_EVENTS);
    expect(rows.slice(0, 2)).toEqual(all.map((row) => [...row.slice(0, 5), '', '']));
  });

  it('has fewer of long events, so that its text is bounded', () => {
    const { rows, isEnd } = page({ type: 'all', after: 0, limit: 512 });
    expect(isEnd).toBe(false);
    const chars = rows.reduce((sum, row) => sum + row[5].length, 0);
    expect(chars).toBeLessThan(SQLITE_LIMITS.pageCharsMax + SQLITE_LIMITS.pageStepEvents * LONG * 1.01);
    expect(rows.length).toBeLessThan(LONG_EVENTS);
  });

  it('is followed by the next, however short it is', async () => {
    const log = await openLog(path);
    expect(await collect(log.readStream(long))).toHaveLength(LONG_EVENTS);
    expect(await collect(log.readAll())).toHaveLength(LONG_EVENTS + SHORT_EVENTS);
    expect(await collect(log.readStream(long, { direction: 'backwards' }))).toHaveLength(LONG_EVENTS);
  });

  it('that cannot be read says why', () => {
    const database = openForReads(path, 100);
    const read = readPages(database);
    database.close();
    expect(() => read({ sequence: 1, query: { type: 'head' } })).not.toThrow();
    expect(read({ sequence: 1, query: { type: 'head' } })).toMatchObject({ type: 'fault', sequence: 1 });
  });
});
