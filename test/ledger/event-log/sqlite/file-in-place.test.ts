import { copyFileSync, existsSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Worker } from 'node:worker_threads';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { EventLog } from '../../../../contracts/event-log.ts';
import { NO_STREAM } from '../../../../contracts/ids.ts';
import { groupCommit } from '../../../../ledger/event-log/sqlite/group-commit.ts';
import { openForAppends } from '../../../../ledger/event-log/sqlite/open-database.ts';
import { OpenedFile } from '../../../../ledger/event-log/sqlite/opened-file.ts';
import { commitWhileInPlace } from '../../../../ledger/event-log/sqlite/while-in-place.ts';
import { LedgerLostError } from '../../../../ledger/identity/ledger-lost.ts';
import { at, collect, events, idsOf, newStream, written } from '../../../fixtures/ledger/shared-log.ts';
import { Subscriber } from '../contract/subscriber.ts';
import { newPath, openLog } from './log-file.ts';

const POLL_MS = 10;
const ENDS = ['', '-wal', '-shm'];

async function openFollowed(path = newPath()) {
  const log = await openLog(path, { pollIntervalMs: POLL_MS });
  const stream = newStream();
  const first = events(2);
  await written(log, stream, NO_STREAM, first);
  const subscriber = new Subscriber(log, null, [stream]);
  await subscriber.until(() => subscriber.caughtUp > 0);
  return { path, log, stream, first, subscriber };
}

const remove = (path: string): void => {
  for (const end of ENDS) rmSync(path + end, { force: true });
};

function move(from: string, to: string): void {
  for (const end of ENDS) if (existsSync(from + end)) renameSync(from + end, to + end);
}

async function expectAway(log: EventLog, message: RegExp): Promise<void> {
  const away = { kind: 'unavailable', canRetry: true, message: expect.stringMatching(message) };
  await expect(log.append(newStream(), NO_STREAM, events(1))).rejects.toMatchObject(away);
  await expect(collect(log.readAll())).rejects.toMatchObject(away);
  await expect(log.headPosition()).rejects.toMatchObject(away);
}

describe('a log whose file is removed while it is open', () => {
  it('is unavailable, drops who follows it, and makes no new file', async () => {
    const { path, log, subscriber } = await openFollowed();
    remove(path);
    await expectAway(log, /ledger\.db is not at its place any more \(it was removed or moved away/);
    await subscriber.until(() => subscriber.dropped.length > 0);
    expect(subscriber.dropped).toMatchObject([{ kind: 'unavailable' }]);
    expect(subscriber.stopped).toEqual([]);
    await log.close();
    expect(ENDS.filter((end) => existsSync(path + end))).toEqual([]);
  });

  it('goes on when that very file is back, without gap or repeat', async () => {
    const { path, log, stream, first, subscriber } = await openFollowed();
    const elsewhere = join(dirname(path), 'elsewhere.db');
    move(path, elsewhere);
    const second = events(3);
    await expect(log.append(stream, at(1), second)).rejects.toMatchObject({ kind: 'unavailable' });
    await subscriber.until(() => subscriber.dropped.length > 0);
    const caughtUp = subscriber.caughtUp;
    move(elsewhere, path);
    await subscriber.until(() => subscriber.caughtUp > caughtUp);
    expect(subscriber.dropped).toHaveLength(1);
    const { position } = await written(log, stream, at(1), second);
    await subscriber.untilAt(position);
    expect(idsOf(subscriber.own)).toEqual(idsOf([...first, ...second]));
    expect(subscriber.stopped).toEqual([]);
  });

  it.each(['-wal', '-shm'])('counts its %s as part of it', async (end) => {
    const { path, log } = await openFollowed();
    const elsewhere = join(dirname(path), 'elsewhere');
    renameSync(path + end, elsewhere);
    await expectAway(log, new RegExp(`ledger\\.db${end} is not at its place`));
    renameSync(elsewhere, path + end);
    await written(log, newStream(), NO_STREAM, events(1));
  });
});

describe('a log whose file is replaced while it is open', () => {
  it('is unavailable, ends who follows it as a lost ledger does, and leaves the other file as it is', async () => {
    const { path, log, first, subscriber } = await openFollowed();
    const otherPath = join(dirname(path), 'backup.db');
    const backup = await openLog(otherPath);
    const kept = await written(backup, newStream(), NO_STREAM, events(1));
    await backup.close();
    remove(path);
    copyFileSync(otherPath, path);
    await expectAway(log, /ledger\.db was replaced while it was open/);
    await subscriber.until(() => subscriber.stopped.length > 0);
    expect(subscriber.stopped).toEqual([expect.any(LedgerLostError)]);
    expect(subscriber.stopped[0]?.message).toMatch(/ledger\.db was replaced while it was open.*journal/s);
    expect(idsOf(subscriber.own)).toEqual(idsOf(first));
    await log.close();
    const after = await openLog(path);
    expect(await after.headPosition()).toBe(kept.position);
  });

  it.each(['-wal', '-shm'])('is so, too, where only its %s is another', async (end) => {
    const { path, log, subscriber } = await openFollowed();
    copyFileSync(path + end, `${path}.other`);
    renameSync(`${path}.other`, path + end);
    await expectAway(log, new RegExp(`ledger\\.db${end} was replaced while it was open`));
    await subscriber.until(() => subscriber.stopped.length > 0);
    expect(subscriber.stopped).toEqual([expect.any(LedgerLostError)]);
  });

  it('is so, too, where another is copied into it, and its -wal is not moved into that when it is closed', async () => {
    const [path, backup] = [newPath(), newPath('backup.db')];
    for (const count of [1, 400]) {
      const log = await openLog(path);
      await written(log, newStream(), NO_STREAM, events(count));
      await log.close();
      if (count === 1) copyFileSync(path, backup);
    }
    const { log, subscriber } = await openFollowed(path);
    const wal = readFileSync(`${path}-wal`);
    const { ino } = statSync(path);
    copyFileSync(backup, path);
    expect(statSync(path).ino).toBe(ino);
    await expectAway(log, /ledger\.db was overwritten while it was open/);
    await subscriber.until(() => subscriber.stopped.length > 0);
    expect(subscriber.stopped).toEqual([expect.any(LedgerLostError)]);
    await log.close();
    expect(readFileSync(path).equals(readFileSync(backup))).toBe(true);
    expect(readFileSync(`${path}-wal`).equals(wal)).toBe(true);
  });

  it('is not thought of where a handler fails over another log: that stops its subscription', async () => {
    const { path, log } = await openFollowed();
    const other = await openFollowed();
    remove(other.path);
    const subscriber = new Subscriber(log, null, [], async () => void (await other.log.headPosition()));
    await subscriber.until(() => subscriber.stopped.length > 0);
    expect(subscriber.stopped).toMatchObject([{ kind: 'unavailable' }]);
    expect([subscriber.dropped, existsSync(path)]).toEqual([[], true]);
  });
});

it('a commit during which the file is taken away is ambiguous, and its retry finds it when the file is back', () => {
  const path = newPath();
  const { database, file } = OpenedFile.open(path, () => openForAppends(path, 50));
  onTestFinished(() => database.close());
  const table = groupCommit(database, 50);
  const elsewhere = join(dirname(path), 'elsewhere.db');
  let isTakenAway = true;
  const commit = commitWhileInPlace((group) => {
    const answer = table(group);
    if (isTakenAway) renameSync(path, elsewhere);
    return answer;
  }, file);
  const [event] = events(1);
  const group = [-1, 1, 'a', event?.id ?? '', 'T', '{}', '{}'];
  expect(commit(group)).toMatchObject({ type: 'failed', kind: 'ambiguous' });
  isTakenAway = false;
  expect(commit(group)).toMatchObject({ type: 'failed', kind: 'unavailable' });
  renameSync(elsewhere, path);
  const REPEATED = 1;
  expect(commit(group)).toEqual({ type: 'committed', outcomes: [REPEATED, 0, 1] });
});

describe('opening a file', () => {
  it('that is replaced meanwhile is refused; one that was not there before is taken', () => {
    const path = newPath();
    OpenedFile.open(path, () => openForAppends(path, 50)).database.close();
    const other = newPath();
    OpenedFile.open(other, () => openForAppends(other, 50)).database.close();
    const replaced = () =>
      OpenedFile.open(path, () => {
        const database = openForAppends(path, 50);
        renameSync(other, path);
        return database;
      });
    expect(replaced).toThrow(/was replaced while it was opened/);
  });

  it('that is replaced between its two threads is refused', async () => {
    const path = newPath();
    const other = newPath();
    OpenedFile.open(other, () => openForAppends(other, 50)).database.close();
    const workers: Worker[] = [];
    const note = (worker: Worker): void => {
      const isWriter = workers.push(worker) === 1;
      if (isWriter) worker.once('message', () => renameSync(other, path));
    };
    process.on('worker', note);
    onTestFinished(() => void process.off('worker', note));
    await expect(openLog(path)).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringMatching(/replaced/),
    });
    expect(workers).toHaveLength(2);
  });
});
