import { once } from 'node:events';
import { DatabaseSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import { type Position, position } from '../contracts/ids.ts';
import type { ColumnValue, View, ViewRow, ViewTable } from './view.ts';

export type WriteRequest = {
  /** An upsert and its values. */
  readonly rows: readonly (readonly [sql: string, values: readonly ColumnValue[]])[];
  readonly checkpoints: readonly (readonly [view: string, version: number, position: number])[];
};

const SCHEMA = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = NORMAL;
  CREATE TABLE IF NOT EXISTS checkpoint (
    view TEXT NOT NULL, version INTEGER NOT NULL, position INTEGER NOT NULL, PRIMARY KEY (view, version)
  ) STRICT`;

/**
 * The views' SQLite file: rows and the checkpoint they stand at, always written together. It is a cache of the log:
 * deleting it costs a replay and changes nothing (rule 4), so it need not be synced on every write.
 */
export class ViewStore {
  readonly #worker: Worker;
  #writing = false;

  private constructor(worker: Worker) {
    this.#worker = worker;
  }

  /** @param from what `restoreViews` returned: rows that were not restored are removed, for they are not of this log. */
  static open(path: string, views: readonly View[], from: Position | null): ViewStore {
    const database = new DatabaseSync(path, { timeout: 5_000 });
    database.exec(SCHEMA);
    if (from === null) database.exec('DELETE FROM checkpoint');
    for (const view of views)
      for (const table of view.tables) {
        database.exec(createTable(table));
        if (from === null) database.exec(`DELETE FROM ${table.name}`);
      }
    database.close();
    return new ViewStore(new Worker(new URL('./view-store-worker.ts', import.meta.url), { workerData: path }));
  }

  /** Writes all of it or nothing. One call at a time. @throws Error when SQLite refuses. */
  async write(rows: readonly ViewRow[], views: readonly View[], at: Position): Promise<void> {
    if (this.#writing) throw new Error('a write of the view store is under way');
    this.#writing = true;
    const request: WriteRequest = {
      rows: rows.map(({ table, values }) => [upsert(table), values]),
      checkpoints: views.map(({ name, version }) => [name, version, at]),
    };
    this.#worker.postMessage(request);
    const [fault]: unknown[] = await once(this.#worker, 'message').finally(() => {
      this.#writing = false;
    });
    if (fault !== null) throw new Error(`the views were not written: ${String(fault)}`);
  }

  async close(): Promise<void> {
    const ended = once(this.#worker, 'exit');
    this.#worker.postMessage('close');
    await ended;
  }
}

/**
 * Restores views from the file and returns the position from which on each needs events: the lowest of their
 * checkpoints, null when any has none. A missing file is an empty one; nothing is written.
 */
export function restoreViews(path: string, views: readonly View[], head: Position | null): Position | null {
  const database = openReadOnly(path);
  if (database === null) return null;
  try {
    const checkpoints = views.map((view) => checkpointOf(database, view));
    const known = checkpoints.filter((checkpoint) => checkpoint !== null);
    if (known.length < views.length || known.some((checkpoint) => checkpoint > (head ?? -1))) return null;
    for (const view of views) for (const table of view.tables) restoreTable(database, view, table);
    return position(Math.min(...known));
  } finally {
    database.close();
  }
}

function openReadOnly(path: string): DatabaseSync | null {
  try {
    return new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
  } catch (error) {
    if (error instanceof Error && /unable to open/.test(error.message)) return null;
    throw error;
  }
}

function checkpointOf(database: DatabaseSync, { name, version }: View): number | null {
  const tables = database.prepare(`SELECT 1 FROM sqlite_schema WHERE name = 'checkpoint'`).get();
  if (tables === undefined) return null;
  const row = database.prepare('SELECT position FROM checkpoint WHERE view = ? AND version = ?').get(name, version);
  return row === undefined ? null : Number(row.position);
}

function restoreTable(database: DatabaseSync, view: View, table: ViewTable): void {
  const select = database.prepare(`SELECT ${Object.keys(table.columns).join(', ')} FROM ${table.name}`);
  select.setReturnArrays(true);
  for (const row of select.iterate()) view.restore(table, row as unknown as ColumnValue[]);
}

function createTable({ name, columns, keyColumns }: ViewTable): string {
  const defined = Object.entries(columns).map(([column, type]) => `${column} ${type} NOT NULL`);
  const key = Object.keys(columns).slice(0, keyColumns);
  return `CREATE TABLE IF NOT EXISTS ${name} (${defined.join(', ')}, PRIMARY KEY (${key.join(', ')})) STRICT, WITHOUT ROWID`;
}

function upsert({ name, columns }: ViewTable): string {
  return `INSERT OR REPLACE INTO ${name} VALUES (${Object.keys(columns)
    .map(() => '?')
    .join(', ')})`;
}
