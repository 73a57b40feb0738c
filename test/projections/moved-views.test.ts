import { join } from 'node:path';
import { expect, it } from 'vitest';
import { encodeEvents } from '../../contracts/event-codec.ts';
import type { EventLog } from '../../contracts/event-log.ts';
import { type Position, type Revision, revision, type StreamName } from '../../contracts/ids.ts';
import { copyLedger } from '../../ledger/copy/move-ledger.ts';
import { identifyLedger } from '../../ledger/identity/identify-ledger.ts';
import { recordingBy } from '../../ledger/recording-by.ts';
import { Projections } from '../../projections/projections.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { exampleOf } from '../fixtures/ledger/example-events.ts';
import { MemoryEventLog } from '../fixtures/ledger/memory-event-log.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const ACCOUNT = 'account-acme' as StreamName;
const NOW_MS = Date.parse('2026-11-23T10:00:00.000Z');
const recording = () => recordingBy('operator', NOW_MS);

async function add(log: EventLog, at: Revision, type: 'AccountOpened' | 'AccountSuspended'): Promise<Position> {
  const done = await log.append(ACCOUNT, at, encodeEvents([exampleOf(type)], recording()));
  if (done.type === 'conflict') throw new Error('somebody else has written');
  return done.position;
}

/** A log whose positions are far apart, as an event store's are. */
function spaced(inner: MemoryEventLog): EventLog {
  const out = (position: Position): Position => (position * 1_000) as Position;
  const into = (position: Position | null | undefined): Position | null =>
    position == null ? null : (Math.floor(position / 1_000) as Position);
  const moved = async function* (events: AsyncIterable<(typeof inner.events)[number]>) {
    for await (const event of events) yield { ...event, position: out(event.position) };
  };
  return {
    append: async (...args) => {
      const result = await inner.append(...args);
      return result.type === 'appended' ? { ...result, position: out(result.position) } : result;
    },
    readStream: (stream, options) => moved(inner.readStream(stream, options)),
    readAll: (options = {}) => moved(inner.readAll({ ...options, after: into(options.after) })),
    headPosition: async () => {
      const head = await inner.headPosition();
      return head === null ? null : out(head);
    },
    subscribeAll: (options) =>
      inner.subscribeAll({
        ...options,
        after: into(options.after),
        onEvents: (events) => options.onEvents(events.map((event) => ({ ...event, position: out(event.position) }))),
      }),
    close: () => inner.close(),
  };
}

it('views of a ledger that has moved go on from the same event, and wait for positions of the log that it is in', async () => {
  const path = join(temporaryFolder(), 'views.db');
  const source = new MemoryEventLog();
  const before = spaced(source);
  await identifyLedger(before, NOW_MS, recording());
  await add(before, revision(-1), 'AccountOpened');
  const first = await Projections.start({ log: before, path, persist: true });
  await first.whenCaughtUp();
  await first.close();

  const log = new MemoryEventLog();
  const end = async (expected: Revision, of: (head: (typeof source.events)[number] | null) => never) =>
    (await before.append('ledger' as StreamName, expected, [of(source.events.at(-1) ?? null)])).type === 'appended';
  await copyLedger(
    { log: before, end: end as never },
    { log, place: 'elsewhere', isShared: false },
    {
      ...{ recording, onCopied: () => undefined, onCompared: () => undefined },
      move: { beforeEnd: async () => undefined, beforeArrival: async () => undefined },
    },
  );
  const views = endedLater(await Projections.start({ log, path, persist: true }));
  await views.whenCaughtUp();
  expect(views.accounts.read('acme' as never).revision).toBe(0);
  const next = ((await log.headPosition()) ?? 0) + 1;
  let hasCome = false;
  const coming = views.whenAt(next as Position).then(() => {
    hasCome = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(hasCome).toBe(false);
  expect(await add(log, revision(0), 'AccountSuspended')).toBeGreaterThanOrEqual(next);
  await coming;
  expect(views.accounts.read('acme' as never).revision).toBe(1);
});
