import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { EventLog, RecordedEvent } from '../../../contracts/event-log.ts';
import { accountId, accountStream, NO_STREAM, position, type StreamName } from '../../../contracts/ids.ts';
import { ComparedTarget, placeReached } from '../../../ledger/copy/compare-logs.ts';
import { CopyError } from '../../../ledger/copy/copy-error.ts';
import { copyEvents } from '../../../ledger/copy/copy-events.ts';
import { verifyCopy } from '../../../ledger/copy/verify-copy.ts';
import { openEventStoreDbEventLog } from '../../../ledger/event-log/eventstoredb/eventstoredb-event-log.ts';
import { openSqliteEventLog } from '../../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { fillLedger } from '../../bench/fill-ledger.ts';
import { startFakeEventStore } from '../../eventstoredb/fake-event-store.ts';
import { endedLater } from '../../fixtures/ended-later.ts';
import { MemoryEventLog } from '../../fixtures/ledger/memory-event-log.ts';
import { sealLog } from '../../fixtures/ledger/seal-log.ts';
import { newTestKey, sealed, logOf as sealedLog } from '../../fixtures/ledger/sealed-rows.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';

const without = ({ stream, revision, id, type, data, metadata }: RecordedEvent): object => ({
  ...{ stream, revision, id, type },
  ...{ data, metadata },
});
const allOf = async (log: Pick<EventLog, 'readAll'>): Promise<object[]> =>
  (await Array.fromAsync(log.readAll())).map(without);
const quiet = { onCopied: () => undefined, atOnce: 1 };

/** A ledger of billed requests at some accounts, in a file, with seals over all of it. */
async function sealedLedger(): Promise<EventLog> {
  const folder = temporaryFolder();
  const path = join(folder, 'ledger.db');
  await fillLedger(path, { accounts: 7, events: 600 });
  const log = endedLater(await openSqliteEventLog({ path }));
  await sealLog(log, folder, 100);
  return log;
}

async function emptyStore() {
  const store = endedLater(await startFakeEventStore());
  const { connectionString } = store;
  const log = endedLater(
    await openEventStoreDbEventLog({ connectionString, streamPrefix: 'copy-', waitForServer: true }),
  );
  return { store, log };
}

describe('a ledger that is copied from a file to an event store', () => {
  it('is the same there, event by event, in the same order, and its seals hold', async () => {
    const source = await sealedLedger();
    const { log: target } = await emptyStore();
    let told = 0;
    await copyEvents(source, target, {
      ...quiet,
      after: null,
      onCopied: (events) => {
        told += events;
      },
    });
    const events = await allOf(source);
    expect(await allOf(target)).toEqual(events);
    expect(told).toBe(events.length);
    const verified = await verifyCopy(source, target, () => undefined);
    expect(verified).toMatchObject({ events: events.length, place: { source: await source.headPosition() } });
    expect(verified.seals).toBeGreaterThan(3);
  });

  it('goes on behind what is there, whatever became of the appends under way', async () => {
    const source = await sealedLedger();
    const { store, log: target } = await emptyStore();
    let appends = 0;
    store.faults.onAppend = () => {
      appends++;
      return appends % 40 === 7 ? 'lose-ack' : appends % 40 === 23 ? 'refuse' : 'ok';
    };
    const onCopied = (): void => {
      if (appends > 120) throw new Error('killed');
    };
    await expect(copyEvents(source, target, { ...quiet, after: null, onCopied })).rejects.toThrow('killed');
    store.faults.onAppend = null;
    const place = await placeReached(source, target, false);
    const events = await allOf(source);
    expect(await allOf(target)).toEqual(events.slice(0, place?.source));
    await copyEvents(source, target, { after: place?.source ?? null, ...quiet });
    expect(await allOf(target)).toEqual(events);
  });
});

describe('a target that is no copy', () => {
  const a = accountStream(accountId('a'));
  const b = accountStream(accountId('b'));
  const proposed = (number: number) => ({
    id: `00000000-0000-4000-8000-${String(number).padStart(12, '0')}` as never,
    type: 'Counted',
    data: `{"number":${number}}`,
    metadata: '{}',
  });
  async function logOf(...streams: readonly StreamName[]): Promise<MemoryEventLog> {
    const log = new MemoryEventLog();
    for (const [number, stream] of streams.entries()) {
      const last = log.events.findLast((event) => event.stream === stream)?.revision ?? NO_STREAM;
      await log.append(stream, last, [proposed(number)]);
    }
    return log;
  }

  it('is told at the first event that is another one, or in another order', async () => {
    const source = await logOf(a, b, a);
    const other = await logOf(a, b);
    await other.append(a, 0 as never, [{ ...proposed(2), data: '{"number":3}' }]);
    await expect(verifyCopy(source, other, () => undefined)).rejects.toThrow(
      /behind 2 events in which they agree, .* with another data/,
    );
    const turned = new MemoryEventLog();
    await turned.append(b, NO_STREAM, [proposed(1)]);
    const compared = new ComparedTarget(source, turned, { after: null, onCompared: () => undefined });
    await expect(Array.fromAsync(compared.readAll())).rejects.toBeInstanceOf(CopyError);
  });

  it('is not written to where it has events that the source does not have', async () => {
    const source = await logOf(a, b);
    await expect(placeReached(source, await logOf(a, b, b), false)).rejects.toThrow(/of another ledger/);
    const replaced = await logOf(a);
    await replaced.append(b, NO_STREAM, [proposed(7)]);
    await expect(placeReached(source, replaced, false)).rejects.toThrow(/of another ledger/);
    const taken = await logOf(b);
    await expect(copyEvents(source, taken, { after: null, ...quiet })).rejects.toThrow(/somebody else writes to it/);
  });

  it('is not made of a ledger that is not as it was sealed', async () => {
    const source = await logOf(a, b, a, b);
    const [key, every] = [newTestKey(), 2];
    const rows = sealed(source.events, { key, every });
    const whole = sealedLog(rows);
    expect(await verifyCopy(whole, whole, () => undefined)).toMatchObject({ events: 7, seals: 2 });
    const changed = sealedLog(rows.map((row) => (row.id === proposed(1).id ? { ...row, data: '{"number":9}' } : row)));
    await expect(verifyCopy(changed, changed, () => undefined)).rejects.toThrow(/not as it was sealed/);
  });

  it('is not made of streams that no ledger has', async () => {
    const source = await logOf(a, 'orders-1' as StreamName);
    await expect(copyEvents(source, new MemoryEventLog(), { after: null, ...quiet })).rejects.toThrow(/orders-1/);
  });

  it('is noticed while it is made, where its positions show another order', async () => {
    const target = new MemoryEventLog();
    const backwards: EventLog = Object.assign(Object.create(target), {
      append: async (...args: Parameters<EventLog['append']>) => {
        const result = await target.append(...args);
        return result.type === 'appended' ? { ...result, position: position(100 - result.position) } : result;
      },
    });
    await expect(copyEvents(await logOf(a, b), backwards, { after: null, ...quiet })).rejects.toThrow(
      /its order is another one/,
    );
  });
});
