import { dirname } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { makeFolders, makeForFolderOwner } from '../ledger/folder-owner.ts';
import { markClosed } from './closed-mark.ts';
import { putLedgerOfViews, readLedgerOfViews, readUpcastFrom } from './known-views.ts';
import { removeViews } from './remove-views.ts';
import { RoomToKeep } from './room-to-keep.ts';
import type { ColumnValue, OlderTable, StoredView, ViewTable } from './view.ts';
import { checkRows, isOfLayout, prepareFile, restamp, UPCAST_FROM, versionOf } from './view-file.ts';

export interface UpcastFiles {
  /** Views of an earlier version, which nobody writes to. */
  readonly from: string;
  /** Made anew. */
  readonly to: string;
  /** The disk is left so much. */
  readonly keepFreeBytes: number;
}

/**
 * Makes a file of views of these versions out of one of earlier versions, row by row, for as long as it takes to fold the log anew: it
 * stands where those stood, and says of which version its rows are. The versions, by view; null where there is nothing to be made of, or
 * nothing of an earlier version. @throws KeptRoomError; Error where rows are not of their form, or not of one moment; of SQLite and the file system
 */
export function upcastViews(
  { from, to, keepFreeBytes }: UpcastFiles,
  views: readonly StoredView[],
): ReadonlyMap<string, number> | null {
  const plan = planOf(from, views);
  if (plan === null) return null;
  removeViews(to);
  makeFolders(dirname(to));
  makeForFolderOwner(to);
  const identity = readLedgerOfViews(from);
  // A command that looks at it meanwhile is waited for.
  const database = new DatabaseSync(to, { timeout: 5_000 });
  try {
    // A log of all rows beside them would take their room twice; what is not made whole is removed. Once there is a log, SQLite waits for nobody who reads.
    database.exec('PRAGMA journal_mode = MEMORY');
    if (identity !== null) putLedgerOfViews(database, identity);
    prepareFile(database, views);
    database.prepare('ATTACH ? AS older').run(from);
    const room = new RoomToKeep(database, { path: to, keepFreeBytes });
    database.function(HAS_ROOM, () => {
      room.beforeRow();
      return 1;
    });
    // All or nothing: without its checkpoint a file is one of no views.
    database.exec('BEGIN IMMEDIATE');
    database.exec('UPDATE main.written SET writes = (SELECT writes FROM older.written)');
    for (const table of plan.tables) copyRows(database, table);
    for (const table of plan.views.flatMap(({ tables }) => tables)) restamp(database, table);
    for (const { name, version } of plan.views)
      database.prepare('INSERT INTO main.stored_view VALUES (?, ?)').run(name, version);
    for (const table of ['checkpoint', 'known_current'])
      database.exec(`INSERT INTO main.${table} SELECT * FROM older.${table}`);
    database.exec(`CREATE TABLE main.${UPCAST_FROM} (name TEXT PRIMARY KEY, version INTEGER NOT NULL) STRICT`);
    for (const [name, version] of plan.upcastFrom)
      database.prepare(`INSERT INTO main.${UPCAST_FROM} VALUES (?, ?)`).run(name, version);
    markClosed(database);
    room.look();
    database.exec('COMMIT');
    database.exec('PRAGMA main.journal_mode = WAL');
  } finally {
    // What was not committed goes with it.
    database.close();
  }
  return plan.upcastFrom;
}

/** What rows of now are made of. */
export interface UpcastPlan {
  /** Those that the file holds. */
  readonly views: readonly StoredView[];
  readonly tables: readonly OlderTable[];
  readonly upcastFrom: ReadonlyMap<string, number>;
}

function planOf(path: string, views: readonly StoredView[]): UpcastPlan | null {
  const database = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
  try {
    // Where these have been upcast themselves.
    const plan = planIn(database, views, readUpcastFrom(path));
    if (plan !== null)
      checkRows(
        database,
        plan.tables.map((table) => table.from),
      );
    return plan;
  } finally {
    database.close();
  }
}

/** Null as `upcastViews` answers it. @param before of which versions the rows were that these were made of @throws Error of SQLite */
export function planIn(
  database: DatabaseSync,
  views: readonly StoredView[],
  before: ReadonlyMap<string, number>,
): UpcastPlan | null {
  if (!isOfLayout(database) || database.prepare('SELECT 1 FROM checkpoint').get() === undefined) return null;
  const upcastFrom = new Map<string, number>();
  const plan = { views: [] as StoredView[], tables: [] as OlderTable[], upcastFrom };
  for (const view of views) {
    const version = versionOf(database, view);
    if (version === null && view.mayLack === true) continue;
    const tables = version === null ? null : tablesOf(view, version);
    if (tables === null || version === null) return null;
    plan.views.push(view);
    plan.tables.push(...tables);
    if (version !== view.version || before.has(view.name)) upcastFrom.set(view.name, before.get(view.name) ?? version);
  }
  const isWhole = plan.tables.every(({ from }) => isThere(database, from));
  return upcastFrom.size > 0 && isWhole ? plan : null;
}

/** By the name of each table of now which of those of then its rows are made of: those that are made to be it, or else all that are upcast for its view. */
export function olderTablesOf({
  views,
  tables,
}: Pick<UpcastPlan, 'views' | 'tables'>): ReadonlyMap<string, readonly OlderTable[]> {
  return new Map(
    views.flatMap((view) => {
      const ofView = tables.filter(({ to }) => view.tables.includes(to));
      return view.tables.map((table) => {
        const own = ofView.filter(({ to }) => to === table);
        return [table.name, own.length > 0 ? own : ofView.filter(({ upcast }) => upcast !== undefined)] as const;
      });
    }),
  );
}

/** The names of tables that began with nothing where views were made of those of an earlier version: what they lack says nothing. @param upcastFrom as a file has it */
export const begunWithNothing = (
  views: readonly StoredView[],
  upcastFrom: ReadonlyMap<string, number>,
): ReadonlySet<string> =>
  new Set(
    views.flatMap((view) => {
      const version = upcastFrom.get(view.name);
      const older = version === undefined ? null : tablesOf(view, version);
      if (older === null) return [];
      const made = olderTablesOf({ views: [view], tables: older });
      return view.tables.filter(({ name }) => made.get(name)?.length === 0).map(({ name }) => name);
    }),
  );

const tablesOf = (view: StoredView, version: number): readonly OlderTable[] | null =>
  version === view.version
    ? view.tables.map((table) => ({ from: table, to: table }))
    : (view.olderTables?.(version) ?? null);

const isThere = (database: DatabaseSync, { name }: ViewTable): boolean =>
  database.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?").get(name) !== undefined;

/** Asked for each row, also where SQLite copies a table by itself. */
const HAS_ROOM = 'has_room';

/** Each with the stamp that it had. @throws KeptRoomError */
function copyRows(database: DatabaseSync, { from, to, upcast }: OlderTable): void {
  const select = `SELECT ${Object.keys(from.columns).join(', ')}, stamp FROM older.${from.name} WHERE ${HAS_ROOM}()`;
  if (upcast === undefined) database.exec(`INSERT INTO main.${to.name} ${select}`);
  else {
    const rows = database.prepare(select);
    rows.setReturnArrays(true);
    const inserts = new Map<ViewTable, StatementSync>();
    const insertOf = (table: ViewTable): StatementSync => {
      const insert = inserts.get(table) ?? insertInto(database, table);
      inserts.set(table, insert);
      return insert;
    };
    for (const row of rows.iterate() as Iterable<unknown> as Iterable<ColumnValue[]>)
      for (const { table, values } of upcast(row.slice(0, -1))) insertOf(table).run(...values, row.at(-1) ?? 0);
  }
}

function insertInto(database: DatabaseSync, { name, columns }: ViewTable): StatementSync {
  const places = [...Object.keys(columns), 'stamp'].map(() => '?').join(', ');
  return database.prepare(`INSERT INTO main.${name} VALUES (${places})`);
}
