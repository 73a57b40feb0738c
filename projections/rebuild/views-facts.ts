import { existsSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import type { Position } from '../../contracts/ids.ts';
import { AccountsSetAside } from '../accounts-set-aside.ts';
import type { FoldedLately } from '../fold-rate.ts';
import { type FoldedThrough, readFoldedThrough, readUpcastFrom } from '../known-views.ts';

interface ViewFacts {
  readonly name: string;
  readonly version: number;
  /** Of the rows that its rows were made of; null where they are folded. */
  readonly upcastFrom: number | null;
  readonly rows: number;
  /** Of its tables in the file. */
  readonly bytes: number;
}

export interface AsideFacts {
  readonly accountId: string;
  /** `unreadable`: an event of it; `hidden`: the log's server hides events of its stream; `parked`, `unparked`: an operator's word. */
  readonly cause: string;
  /** Of the event to blame; null where none is. */
  readonly revision: number | null;
  readonly why: string;
}

/** What a views' file says of itself. */
export interface ViewsFacts extends FoldedThrough {
  /** When they were last known to hold everything, in ms since 1970; null when they never did. */
  readonly currentAtMs: number | null;
  readonly bytes: number;
  /** Null where the file is of a program that did not say. */
  readonly foldedLately: FoldedLately | null;
  readonly views: readonly ViewFacts[];
}

/** Which views a file has, as an operator tells them from others. */
export interface ViewsStanding {
  /** Null where it is not known yet. */
  readonly position: Position | null;
  /** When they were last known to hold everything (RFC 3339); null when they never did. */
  readonly currentAt: string | null;
  /** By view. */
  readonly versions: Readonly<Record<string, number>>;
}

/** Null as `readViewsFacts`, and of no more than a look at any size of file. @throws as `readViewsFacts` */
export function readStanding(path: string): ViewsStanding | null {
  const folded = readFoldedThrough(path);
  if (folded === null) return null;
  const database = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
  try {
    const current = database.prepare('SELECT at_ms FROM known_current').get();
    const stored = database.prepare('SELECT name, version FROM stored_view ORDER BY name').all();
    return {
      position: folded.position,
      currentAt: current === undefined ? null : new Date(Number(current.at_ms)).toISOString(),
      versions: Object.fromEntries(stored.map(({ name, version }) => [String(name), Number(version)])),
    };
  } finally {
    database.close();
  }
}

/** Null where there is no file, or nothing is folded in it yet. Changes nothing. @throws Error when it is no file of views */
export function readViewsFacts(path: string): ViewsFacts | null {
  const folded = readFoldedThrough(path);
  if (folded === null) return null;
  const database = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
  try {
    // Of one moment: a gateway may write.
    database.exec('BEGIN');
    const current = database.prepare('SELECT at_ms FROM known_current').get();
    return {
      ...folded,
      currentAtMs: current === undefined ? null : Number(current.at_ms),
      bytes: bytesOf(path) + bytesOf(`${path}-wal`),
      foldedLately: foldedLatelyIn(database),
      views: viewsIn(database, readUpcastFrom(path)),
    };
  } finally {
    database.close();
  }
}

function foldedLatelyIn(database: DatabaseSync): FoldedLately | null {
  const isThere = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'folded_lately'").get() !== undefined;
  const row = isThere ? database.prepare('SELECT events, of_ms, at_ms FROM folded_lately').get() : undefined;
  return row === undefined ? null : { events: Number(row.events), ofMs: Number(row.of_ms), atMs: Number(row.at_ms) };
}

const bytesOf = (path: string): number => (existsSync(path) ? statSync(path).size : 0);

function viewsIn(database: DatabaseSync, upcastFrom: ReadonlyMap<string, number>): ViewFacts[] {
  const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
  const size = database.prepare(
    'SELECT coalesce(sum(pgsize), 0) AS bytes FROM dbstat WHERE name = ? AND aggregate = TRUE',
  );
  const stored = database.prepare('SELECT name, version FROM stored_view ORDER BY name').all();
  return stored.map((row) => {
    const [name, version] = [String(row.name), Number(row.version)];
    const prefix = `${name}_v${version}`;
    const own = tables.map((table) => String(table.name)).filter((table) => `${table}_`.startsWith(`${prefix}_`));
    const count = (table: string) => Number(database.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.n);
    return {
      ...{ name, version, upcastFrom: upcastFrom.get(name) ?? null },
      rows: own.reduce((sum, table) => sum + count(table), 0),
      bytes: own.reduce((sum, table) => sum + Number(size.get(table)?.bytes), 0),
    };
  });
}

/** The accounts that a views' file has set aside; none where there is no file. @throws Error when it is no database */
export function readSetAside(path: string): AsideFacts[] {
  if (!existsSync(path)) return [];
  const database = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
  try {
    return setAsideIn(database);
  } finally {
    database.close();
  }
}

function setAsideIn(database: DatabaseSync): AsideFacts[] {
  const [table] = new AccountsSetAside().tables;
  const isThere = database.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?").get(table.name);
  if (isThere === undefined) return [];
  const rows = database.prepare(
    `SELECT account_id, cause, revision, why FROM ${table.name} ORDER BY account_id, cause`,
  );
  return rows.all().map(({ account_id, cause, revision, why }) => ({
    ...{ accountId: String(account_id), cause: String(cause), why: String(why) },
    revision: Number(revision) < 0 ? null : Number(revision),
  }));
}
