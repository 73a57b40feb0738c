import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import type { WriteRequest } from './view-store.ts';

/** Carries out the statements of a request in one transaction, away from the thread that serves requests. */
const database = new DatabaseSync(String(workerData), { timeout: 5_000 });
const prepared = new Map<string, StatementSync>();

parentPort?.on('message', (request: WriteRequest | 'close') => {
  if (request === 'close') {
    database.close();
    parentPort?.close();
    return;
  }
  parentPort?.postMessage(write(request));
});

/** The fault as text, or null when all of it is written. */
function write(statements: WriteRequest): string | null {
  try {
    database.exec('BEGIN IMMEDIATE');
    for (const [sql, values] of statements) prepare(sql).run(...values);
    database.exec('COMMIT');
    return null;
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK');
    return error instanceof Error ? error.message : String(error);
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
