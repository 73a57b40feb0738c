import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import { isFull, mayPass, messageOf } from '../ledger/event-log/sqlite/database-fault.ts';
import { closeWhole, settle } from './closed-mark.ts';
import type { CloseRequest, WriteAnswer, WriteRequest } from './view-store.ts';

/** Carries out what is written in one transaction, away from the thread that serves requests. */
const database = new DatabaseSync(String(workerData), { timeout: 5_000 });
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
      for (const row of rows) for (const [sql, values] of statements) prepare(sql).run(...row.slice(0, values));
    if (isLast) database.exec('COMMIT');
    return null;
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK');
    return { message: messageOf(error), mayPass: mayPass(error), isFull: isFull(error) };
  }
}

function begin(): void {
  // Before what is written now is in it, too.
  if (!isOpenInFile) isOpenInFile = settle(database);
  database.exec('BEGIN IMMEDIATE');
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
