import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { SQLITE_LIMITS } from './limits.ts';
import { type AppendAnswer, type AppendMessage, CLOSE } from './messages.ts';
import { openWriter } from './schema.ts';

/**
 * The one writer. While a commit runs, appends gather at the port; all of them go into the next transaction, each
 * decided by itself (group commit).
 */
const port = parentPort;
if (port === null) throw new Error('the writer runs in a worker');

const FIELDS_PER_EVENT = 4;
const database: DatabaseSync = openWriter(String(workerData));
const findStream = prepare('SELECT id FROM stream WHERE name = ?');
const addStream = prepare('INSERT INTO stream (name) VALUES (?)');
const findHead = prepare('SELECT revision FROM event WHERE stream_id = ? ORDER BY revision DESC LIMIT 1');
const findLast = prepare('SELECT max(position) FROM event');
const findAt = prepare('SELECT position, lower(hex(id)) FROM event WHERE stream_id = ? AND revision = ?');
const addEvent = prepare(
  'INSERT INTO event (position, stream_id, revision, id, type, data, metadata, recorded_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
);
const dataVersion = prepare('PRAGMA data_version');

/** Ids never change once they are committed; heads hold so long as no other process has written. */
const streamIds = new Map<string, number>();
const heads = new Map<number, number>();
let lastPosition = 0;
let knownVersion = -1;

port.on('message', (first: readonly AppendMessage[] | typeof CLOSE) => {
  const appends: AppendMessage[] = [];
  let isClosing = false;
  for (let message: typeof first | undefined = first; message !== undefined; message = next()) {
    if (message === CLOSE) isClosing = true;
    else appends.push(...message);
  }
  for (const group of groupsOf(appends)) port.postMessage(commitGroup(group));
  if (isClosing) {
    database.close();
    port.close();
  }
});

function next(): readonly AppendMessage[] | typeof CLOSE | undefined {
  return port === null ? undefined : receiveMessageOnPort(port)?.message;
}

function* groupsOf(appends: readonly AppendMessage[]): Generator<AppendMessage[]> {
  let group: AppendMessage[] = [];
  let events = 0;
  let bytes = 0;
  for (const append of appends) {
    const size = append.reduce<number>((sum, field) => sum + (typeof field === 'string' ? field.length : 0), 0);
    const count = (append.length - 3) / FIELDS_PER_EVENT;
    if (
      group.length > 0 &&
      (events + count > SQLITE_LIMITS.groupEventsMax || bytes + size > SQLITE_LIMITS.groupBytesMax)
    ) {
      yield group;
      group = [];
      events = 0;
      bytes = 0;
    }
    group.push(append);
    events += count;
    bytes += size;
  }
  if (group.length > 0) yield group;
}

function commitGroup(group: readonly AppendMessage[]): AppendAnswer[] {
  let isCommitting = false;
  try {
    database.exec('BEGIN IMMEDIATE');
    forgetIfOthersWrote();
    const now = Date.now();
    const answers = group.map((append) => appendOne(append, now));
    isCommitting = true;
    database.exec('COMMIT');
    return answers;
  } catch (error) {
    const wasRolledBack = rollBack();
    const kind = isCommitting && !wasRolledBack ? 'ambiguous' : 'unavailable';
    const message = error instanceof Error ? error.message : String(error);
    return group.map(([sequence]) => [sequence, kind, message]);
  }
}

/** Whether the transaction was still open, so that surely nothing of it was written. */
function rollBack(): boolean {
  streamIds.clear();
  heads.clear();
  knownVersion = -1;
  if (!database.isTransaction) return false;
  database.exec('ROLLBACK');
  return true;
}

function forgetIfOthersWrote(): void {
  const version = numberIn(dataVersion, 0) ?? 0;
  if (version === knownVersion && heads.size < SQLITE_LIMITS.headsMax) return;
  knownVersion = version;
  heads.clear();
  lastPosition = numberIn(findLast, 0) ?? 0;
}

/** The append table of the port (contracts/event-log.ts). */
function appendOne(append: AppendMessage, now: number): AppendAnswer {
  const [sequence, stream, expected] = append;
  const streamId = streamIdOf(stream);
  const head = streamId === null ? -1 : headOf(streamId);
  if (expected === head) return write(append, streamId ?? createStream(stream), now);
  if (expected > head || streamId === null) return [sequence, 'conflict', head];
  return compare(append, streamId, head);
}

function write([sequence, , expected, ...fields]: AppendMessage, streamId: number, now: number): AppendAnswer {
  let revision = expected;
  for (let at = 0; at < fields.length; at += FIELDS_PER_EVENT) {
    const [id = '', type = '', data = '', metadata = ''] = fields.slice(at, at + FIELDS_PER_EVENT);
    addEvent.run(++lastPosition, streamId, ++revision, Buffer.from(id, 'hex'), type, data, metadata, now);
  }
  heads.set(streamId, revision);
  return [sequence, 'appended', revision, lastPosition];
}

/** An earlier expected revision: an exact retry (or one with a prefix of what was written), or a conflict. */
function compare([sequence, , expected, ...fields]: AppendMessage, streamId: number, head: number): AppendAnswer {
  let revision = expected;
  let position = 0;
  for (let at = 0; at < fields.length; at += FIELDS_PER_EVENT) {
    const row = findAt.get(streamId, ++revision) as unknown as [number, string] | undefined;
    if (row === undefined || row[1] !== fields[at]) return [sequence, 'conflict', head];
    position = row[0];
  }
  return [sequence, 'repeated', revision, position];
}

function streamIdOf(name: string): number | null {
  const known = streamIds.get(name);
  if (known !== undefined) return known;
  const id = numberIn(findStream, 0, name);
  if (id !== null) remember(name, id);
  return id;
}

function createStream(name: string): number {
  const id = Number(addStream.run(name).lastInsertRowid);
  remember(name, id);
  return id;
}

function remember(name: string, id: number): void {
  if (streamIds.size >= SQLITE_LIMITS.headsMax) streamIds.clear();
  streamIds.set(name, id);
}

function headOf(streamId: number): number {
  let head = heads.get(streamId);
  if (head === undefined) {
    head = numberIn(findHead, 0, streamId) ?? -1;
    heads.set(streamId, head);
  }
  return head;
}

function prepare(sql: string): StatementSync {
  const statement = database.prepare(sql);
  statement.setReturnArrays(true);
  return statement;
}

function numberIn(statement: StatementSync, column: number, ...parameters: (string | number)[]): number | null {
  const row = statement.get(...parameters) as unknown as (number | null)[] | undefined;
  return row?.[column] ?? null;
}
