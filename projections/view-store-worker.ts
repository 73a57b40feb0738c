import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import type { WriteRequest } from './view-store.ts';

/** Writes rows and checkpoint in one transaction, away from the thread that serves requests. */
const database = new DatabaseSync(String(workerData), { timeout: 5_000 });
const statements = new Map<string, StatementSync>();

parentPort?.on('message', (request: WriteRequest | 'close') => {
  if (request === 'close') {
    database.close();
    parentPort?.close();
    return;
  }
  parentPort?.postMessage(write(request));
});

/** The fault as text, or null when all of it is written. */
function write({ rows, checkpoints }: WriteRequest): string | null {
  try {
    database.exec('BEGIN IMMEDIATE');
    for (const [sql, values] of rows) statementOf(sql).run(...values);
    for (const [view, version, position] of checkpoints)
      statementOf('INSERT OR REPLACE INTO checkpoint VALUES (?, ?, ?)').run(view, version, position);
    database.exec('COMMIT');
    return null;
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK');
    return error instanceof Error ? error.message : String(error);
  }
}

function statementOf(sql: string): StatementSync {
  let statement = statements.get(sql);
  if (statement === undefined) {
    statement = database.prepare(sql);
    statements.set(sql, statement);
  }
  return statement;
}
