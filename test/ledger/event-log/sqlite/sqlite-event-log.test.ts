import { once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { EventLog } from '../../../../contracts/event-log.ts';
import { NO_STREAM } from '../../../../contracts/ids.ts';
import { LIMITS } from '../../../../contracts/limits.ts';
import { SQLITE_LIMITS } from '../../../../ledger/event-log/sqlite/limits.ts';
import { at, collect, event, events, newStream, written } from '../../../fixtures/ledger/shared-log.ts';
import { Subscriber } from '../contract/subscriber.ts';
import { newPath, openLog, openPlainly } from './log-file.ts';

const NEVER_MS = 1_000_000;
/** For a lock that the test itself gives back, however long that takes it. */
const PATIENT_MS = 100_000;

/** A log and its two threads, in the order in which it starts them. */
async function openWithThreads(
  pollIntervalMs = NEVER_MS,
  path = newPath(),
): Promise<{ log: EventLog; writer: Worker; reader: Worker }> {
  const workers: Worker[] = [];
  const note = (worker: Worker): void => void workers.push(worker);
  process.on('worker', note);
  const log = await openLog(path, { pollIntervalMs });
  process.off('worker', note);
  const [writer, reader] = workers;
  if (writer === undefined || reader === undefined || workers.length > 2) throw new Error('there are two threads');
  return { log, writer, reader };
}

/** A log whose file another process holds until it is told to roll back. */
async function heldLog() {
  const path = newPath();
  const log = await openLog(path, { busyMs: PATIENT_MS });
  const other = openPlainly(path);
  other.exec('BEGIN IMMEDIATE');
  return { log, other };
}

async function kill(worker: Worker): Promise<void> {
  const ended = once(worker, 'exit');
  await worker.terminate();
  await ended;
}

it('the main thread goes on while an append waits for another process', async () => {
  const { log, other } = await heldLog();
  let isDone = false;
  const append = log.append(newStream(), NO_STREAM, events(1)).finally(() => {
    isDone = true;
  });
  for (let turns = 0; turns < 500; turns++) await nextTurn();
  expect(isDone).toBe(false);
  other.exec('ROLLBACK');
  expect((await append).type).toBe('appended');
});

it.each([false, true])(
  'what was asked for before its end is answered (read in the thread that asks: %s)',
  async (readsHere) => {
    const log = await openLog(newPath(), { readsHere });
    const { position } = await written(log, newStream(), NO_STREAM, events(2));
    const [head, all] = [log.headPosition(), collect(log.readAll())];
    await log.close();
    expect(await head).toBe(position);
    expect(await all).toHaveLength(2);
  },
);

describe('appends that wait', () => {
  it('are bounded in number', async () => {
    const { log, other } = await heldLog();
    const waiting = Array.from({ length: SQLITE_LIMITS.appendsWaitingMax }, () =>
      log.append(newStream(), NO_STREAM, [event()]),
    );
    await expect(log.append(newStream(), NO_STREAM, [event()])).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining('appendsWaitingMax'),
    });
    other.exec('ROLLBACK');
    await Promise.all(waiting);
    expect(await log.headPosition()).toBe(SQLITE_LIMITS.appendsWaitingMax);
    await written(log, newStream(), NO_STREAM, events(1));
  });

  it('are bounded in text', async () => {
    const { log, other } = await heldLog();
    const large = { data: 'x'.repeat(LIMITS.eventBytesMax - 100) };
    const fit = Math.ceil(SQLITE_LIMITS.appendsWaitingCharsMax / large.data.length);
    const waiting = Array.from({ length: fit }, () => log.append(newStream(), NO_STREAM, [{ ...event(), ...large }]));
    await expect(log.append(newStream(), NO_STREAM, [event()])).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining('appendsWaitingCharsMax'),
    });
    other.exec('ROLLBACK');
    await Promise.all(waiting);
    await written(log, newStream(), NO_STREAM, events(1));
  });

  it('are unavailable when another process holds the file for too long', async () => {
    const path = newPath();
    const log = await openLog(path, { busyMs: 500 });
    openPlainly(path).exec('BEGIN IMMEDIATE');
    const appends = [0, 1, 2].map(() => log.append(newStream(), NO_STREAM, events(1)));
    for (const append of appends) await expect(append).rejects.toMatchObject({ kind: 'unavailable', canRetry: true });
  });
});

it('closing waits for an append that waits itself, and refuses everything else in the meantime', async () => {
  const { log, other } = await heldLog();
  const append = log.append(newStream(), NO_STREAM, events(1));
  let isClosed = false;
  const closing = log.close().then(() => {
    isClosed = true;
  });
  for (let turns = 0; turns < 100; turns++) await nextTurn();

  await expect(log.append(newStream(), NO_STREAM, events(1))).rejects.toMatchObject({ kind: 'closed' });
  await expect(collect(log.readAll())).rejects.toMatchObject({ kind: 'closed' });
  await expect(log.headPosition()).rejects.toMatchObject({ kind: 'closed' });
  const subscriber = new Subscriber(log, null, []);
  await subscriber.until(() => subscriber.stopped.length > 0);
  expect(subscriber.stopped).toMatchObject([{ kind: 'closed' }]);
  expect(isClosed).toBe(false);
  other.exec('ROLLBACK');
  expect(await append).toMatchObject({ type: 'appended' });
  await closing;
});

describe('the end of a thread', () => {
  it('makes what was sent to it ambiguous, and what was not, or comes later, unavailable', async () => {
    const path = newPath();
    const { log, writer } = await openWithThreads(NEVER_MS, path);
    openPlainly(path).exec('BEGIN IMMEDIATE');
    const sent = log.append(newStream(), NO_STREAM, events(1));
    const settled = Promise.allSettled([sent]);
    const leaves = log.readLeaves?.({ after: null, ordinal: 0, rangeFirst: 0, limit: 1 });
    for (let turns = 0; turns < 3; turns++) await nextTurn();
    const unsent = Promise.allSettled([log.append(newStream(), NO_STREAM, events(1))]);
    await kill(writer);

    expect(await settled).toMatchObject([{ reason: { kind: 'ambiguous' } }]);
    expect(await unsent).toMatchObject([{ reason: { kind: 'unavailable' } }]);
    await expect(log.append(newStream(), NO_STREAM, events(1))).rejects.toMatchObject({ kind: 'unavailable' });
    // The file can be read still.
    expect(await leaves).toMatchObject({ leaves: '', isEnd: true });
    await log.close();
  });

  it('makes reads unavailable and stops subscribers', async () => {
    const { log, reader } = await openWithThreads(10);
    const subscriber = new Subscriber(log, null, []);
    await subscriber.until(() => subscriber.caughtUp > 0);
    await kill(reader);
    await expect(collect(log.readAll())).rejects.toMatchObject({ kind: 'unavailable' });
    await subscriber.until(() => subscriber.stopped.length > 0);
    expect(subscriber.stopped).toMatchObject([{ kind: 'unavailable' }]);
    await subscriber.close();
  });
});

describe('a subscriber', () => {
  it('is fed from memory what this process appends', async () => {
    const { log, reader } = await openWithThreads();
    const stream = newStream();
    await written(log, stream, NO_STREAM, events(2));
    const subscriber = new Subscriber(log, null, [stream]);
    await subscriber.until(() => subscriber.caughtUp > 0);
    await kill(reader);
    const proposed = events(3);
    const { position } = await written(log, stream, at(1), proposed);
    await subscriber.untilAt(position);
    expect(subscriber.own.slice(2)).toEqual(
      proposed.map((one, index) => ({ ...one, stream, revision: index + 2, position: index + 3 })),
    );
  });

  it('without onStopped ends the process by its failure rather than stop unseen', async () => {
    const { log } = await openWithThreads();
    const listeners = process.listeners('uncaughtException');
    process.removeAllListeners('uncaughtException');
    onTestFinished(() => {
      for (const listener of listeners) process.on('uncaughtException', listener);
    });
    const uncaught = once(process, 'uncaughtException');
    log.subscribeAll({
      after: null,
      onEvents: () => {
        throw new Error('no room');
      },
    });
    await written(log, newStream(), NO_STREAM, events(1));
    expect(await uncaught).toMatchObject([{ message: 'no room' }, expect.anything()]);
  });
});
