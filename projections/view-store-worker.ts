import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import { isFull, mayPass, messageOf } from '../ledger/event-log/sqlite/database-fault.ts';
import { closeWhole, settle } from './closed-mark.ts';
import { KeptRoomError, RoomToKeep } from './room-to-keep.ts';
import type { CloseRequest, StoreThreadData, WriteAnswer, WriteRequest } from './view-store.ts';

/** Carries out what is written in one transaction, away from the thread that serves requests. */
const { path, keepFreeBytes } = workerData as StoreThreadData;
const database = new DatabaseSync(path, { timeout: 5_000 });
const room = keepFreeBytes === null ? null : new RoomToKeep(database, { path, keepFreeBytes });
const prepared = new Map<string, StatementSync>();
let isOpenInFile = false;

parentPort?.on('message', (request: WriteRequest | CloseRequest) => {
  if ('close' in request) {
    if (request.close === 'whole') markWhole();
    database.close();
    parentPort?.close();
    return;
  }
  parentPort?.postMessage(write(request));
});

/** Null when this part is carried out, and with the last all of it written. A ROLLBACK that fails ends the thread. */
function write({ batches, isLast }: WriteRequest): WriteAnswer {
  try {
    if (!database.isTransaction) begin();
    for (const { statements, rows } of batches)
      for (const row of rows) {
        room?.beforeRow();
        for (const [sql, values] of statements) prepare(sql).run(...row.slice(0, values));
      }
    if (isLast) commit();
    return null;
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK');
    const isKept = error instanceof KeptRoomError;
    return { message: messageOf(error), mayPass: isKept || mayPass(error), isFull: isKept || isFull(error) };
  }
}

function begin(): void {
  // Before what is written now is in it, too.
  if (!isOpenInFile) isOpenInFile = settle(database);
  database.exec('BEGIN IMMEDIATE');
}

function commit(): void {
  room?.look();
  database.exec('COMMIT');
}

/** Where there is no room for it, the next start looks at the rows. */
function markWhole(): void {
  try {
    closeWhole(database);
  } catch (error) {
    if (!mayPass(error)) throw error;
  }
}

function prepare(sql: string): StatementSync {
  let statement = prepared.get(sql);
  if (statement === undefined) {
    statement = database.prepare(sql);
    prepared.set(sql, statement);
  }
  return statement;
}
