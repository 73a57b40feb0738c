import type { DatabaseSync } from 'node:sqlite';
import type { FoldedLately } from './fold-rate.ts';
import type { ColumnValue, StoredView, ViewRow, ViewTable } from './view.ts';

/** Raised when the tables below change: a file of another layout is filled anew. */
const LAYOUT = 3;

/** Views whose rows are not folded, but made of rows of an earlier version, and which; there only where any are. */
export const UPCAST_FROM = 'upcast_from';

/** Statements that are carried out for each of some rows, each with so many of the row's first values. */
export interface Batch {
  readonly statements: readonly (readonly [sql: string, values: number])[];
  readonly rows: readonly (readonly ColumnValue[])[];
}

/** Up to where rows are folded. */
export interface StoredCheckpoint {
  /** The name of the source that the checkpoint belongs to. */
  readonly source: string;
  readonly checkpoint: string;
  /** When the views were last known to hold everything, in milliseconds since 1970; null when they never did. */
  readonly currentAtMs: number | null;
  /** For operators: nothing goes on with it. */
  readonly foldedLately?: FoldedLately;
}

/**
 * Every row has the number of the write that it came with, and `stamped` the sum of each table's: a row of an older write, or of a newer
 * one, in a file that was put together from two, makes another sum. A file that was copied while it was written to, or put
 * back beside a `-wal`, is one like that, and SQLite sees nothing wrong with it.
 * `known_current` stands apart, because it alone differs between two files that hold the same views. */
const TABLES = `
  PRAGMA synchronous = NORMAL;
  PRAGMA user_version = ${LAYOUT};
  CREATE TABLE IF NOT EXISTS stored_view (name TEXT PRIMARY KEY, version INTEGER NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS checkpoint (
    one INTEGER PRIMARY KEY CHECK (one = 1), feed TEXT NOT NULL, checkpoint TEXT NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS written (one INTEGER PRIMARY KEY CHECK (one = 1), writes INTEGER NOT NULL) STRICT;
  INSERT OR IGNORE INTO written VALUES (1, 0);
  CREATE TABLE IF NOT EXISTS stamped (name TEXT PRIMARY KEY, total INTEGER NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS known_current (one INTEGER PRIMARY KEY CHECK (one = 1), at_ms INTEGER NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS folded_lately (
    one INTEGER PRIMARY KEY CHECK (one = 1), events INTEGER NOT NULL, of_ms INTEGER NOT NULL, at_ms INTEGER NOT NULL
  ) STRICT`;

/** Makes a file ready for the views' rows; of another layout its checkpoint goes, and what these views had in it. */
export function prepareFile(database: DatabaseSync, views: readonly StoredView[]): void {
  const names = views.flatMap((view) => view.tables.map(({ name }) => name));
  if (layoutOf(database) !== LAYOUT)
    for (const name of ['checkpoint', 'written', 'stamped', UPCAST_FROM, ...names])
      database.exec(`DROP TABLE IF EXISTS ${name}`);
  database.exec(TABLES);
  dropUnknown(database, views);
  for (const table of views.flatMap(({ tables }) => tables)) {
    database.exec(createTable(table));
    database.exec(`INSERT OR IGNORE INTO stamped VALUES ('${table.name}', 0)`);
  }
}

/** What is no view any more would be behind when a program comes back that has it: for that one it is missing, and made anew. */
function dropUnknown(database: DatabaseSync, views: readonly StoredView[]): void {
  const known = views.map(() => '?').join(', ');
  database.prepare(`DELETE FROM stored_view WHERE name NOT IN (${known})`).run(...views.map(({ name }) => name));
}

/** What empties a file, checkpoint first. */
export const clearing = (views: readonly StoredView[]): string[] => [
  `DROP TABLE IF EXISTS ${UPCAST_FROM}`,
  'DELETE FROM checkpoint',
  'DELETE FROM known_current',
  'DELETE FROM folded_lately',
  'DELETE FROM stored_view',
  ...views.flatMap((view) => view.tables.map(({ name }) => `DELETE FROM ${name}`)),
  'UPDATE stamped SET total = 0',
];

/** What writes rows and the checkpoint that they stand at. */
export const writing = (rows: readonly ViewRow[], views: readonly StoredView[], at: StoredCheckpoint): Batch[] => [
  beginning(),
  ...batchesOf(rows),
  ...standingAt(views, at),
];

/** Before the rows of a write, which are stamped with its number. */
export const beginning = (): Batch => once('UPDATE written SET writes = writes + 1');

/** Each row once. */
export function batchesOf(rows: readonly ViewRow[]): Batch[] {
  const [written, gone] = [false, true].map((isGone) => rows.filter((row) => (row.isGone === true) === isGone));
  return [
    ...byTable(written, (table) => [
      [takeOverStamp(table), table.keyColumns],
      [upsert(table), Object.keys(table.columns).length],
    ]),
    ...byTable(gone, (table) => [
      [unstamp(table), table.keyColumns],
      [remove(table), table.keyColumns],
    ]),
  ];
}

/** The same of rows that are the first of a file, and each of another key: in a third of the time, with `restamping` behind them. */
export const firstBatchesOf = (rows: readonly ViewRow[]): Batch[] =>
  byTable(
    rows.filter(({ isGone }) => isGone !== true),
    (table) => [[insert(table), Object.keys(table.columns).length]],
  );

/** Where rows were written in other ways than `batchesOf` makes of them. */
export const restamping = (views: readonly StoredView[]): Batch[] =>
  views.flatMap(({ tables }) => tables.map((table) => once(stampOf(table))));

/** Behind the rows of a write. */
export const standingAt = (views: readonly StoredView[], at: StoredCheckpoint): Batch[] => [
  {
    statements: [['INSERT OR REPLACE INTO stored_view VALUES (?, ?)', 2]],
    rows: views.map(({ name, version }) => [name, version]),
  },
  once('INSERT OR REPLACE INTO checkpoint VALUES (1, ?, ?)', at.source, at.checkpoint),
  at.currentAtMs === null
    ? once('DELETE FROM known_current')
    : once('INSERT OR REPLACE INTO known_current VALUES (1, ?)', at.currentAtMs),
  ...(at.foldedLately === undefined ? [] : [noting(at.foldedLately)]),
];

const noting = ({ events, ofMs, atMs }: FoldedLately): Batch =>
  once('INSERT OR REPLACE INTO folded_lately VALUES (1, ?, ?, ?)', events, ofMs, atMs);

const byTable = (rows: readonly ViewRow[] = [], statementsOf: (table: ViewTable) => Batch['statements']): Batch[] =>
  [...Map.groupBy(rows, ({ table }) => table)].map(([table, ofTable]) => ({
    statements: statementsOf(table),
    rows: ofTable.map(({ values }) => values),
  }));

export const once = (sql: string, ...values: ColumnValue[]): Batch => ({
  statements: [[sql, values.length]],
  rows: [values],
});

/** What the rows of a file are; null when it does not hold every view in its present version. */
export function checkpointOf(database: DatabaseSync, views: readonly StoredView[]): StoredCheckpoint | null {
  if (!isOfLayout(database)) return null;
  if (!views.every((view) => isStored(database, view) || (view.mayLack === true && versionOf(database, view) === null)))
    return null;
  return checkpointIn(database);
}

/** The same of a file of this layout, whatever the versions of its views; null where nothing is folded in it. */
export function checkpointIn(database: DatabaseSync): StoredCheckpoint | null {
  const row = database.prepare('SELECT feed, checkpoint FROM checkpoint').get();
  if (row === undefined) return null;
  const current = database.prepare('SELECT at_ms FROM known_current').get();
  const currentAtMs = current === undefined ? null : Number(current.at_ms);
  return { source: String(row.feed), checkpoint: String(row.checkpoint), currentAtMs };
}

/** Whether the file holds the view, in its present version. */
export const isStored = (database: DatabaseSync, view: StoredView): boolean =>
  versionOf(database, view) === view.version;

/** In which version the file holds the view; null where it does not. */
export function versionOf(database: DatabaseSync, { name }: StoredView): number | null {
  const row = database.prepare('SELECT version FROM stored_view WHERE name = ?').get(name);
  return row === undefined ? null : Number(row.version);
}

/** The tables that a file has of views. */
export const heldTables = (database: DatabaseSync, views: readonly StoredView[]): ViewTable[] =>
  views.filter((view) => isStored(database, view)).flatMap(({ tables }) => tables);

/**
 * Reads every page that rows stand on. Asked instead of SQLite's `quick_check`, which sees neither of both, and beyond them
 * finds what is wrong in places that nobody reads. @throws Error where rows are not those that the checkpoint stands at, or one is not found by its key
 */
export function checkRows(database: DatabaseSync, tables: readonly ViewTable[]): void {
  for (const table of tables) {
    const found = database.prepare(lookingAt(table)).get();
    if (found?.is_of_one_moment !== 1)
      throw new Error(`its rows of ${table.name} are not of one moment: it was put together from two files`);
    if (found.lost !== 0) throw new Error(`rows of ${table.name} that are not found by their keys: ${found.lost}`);
  }
}

const lookingAt = ({ name, columns, keyColumns }: ViewTable): string => {
  const isSame = keysOf({ columns, keyColumns }).map((key) => `other.${key} = of.${key}`);
  return `SELECT coalesce(sum(stamp), 0) = (SELECT total FROM stamped WHERE name = '${name}') AS is_of_one_moment,
    coalesce(sum(NOT EXISTS (SELECT 1 FROM ${name} AS other WHERE ${isSame.join(' AND ')})), 0) AS lost FROM ${name} AS of`;
};

/** Whether its tables are those of now; of any other file nothing is read. */
export const isOfLayout = (database: DatabaseSync): boolean => layoutOf(database) === LAYOUT;

/** After rows were written in other ways than `writing`. */
export const restamp = (database: DatabaseSync, table: ViewTable): void => database.exec(stampOf(table));

const stampOf = ({ name }: ViewTable): string =>
  `UPDATE main.stamped SET total = coalesce((SELECT sum(stamp) FROM main.${name}), 0) WHERE name = '${name}'`;

const layoutOf = (database: DatabaseSync): number =>
  Number(database.prepare('PRAGMA user_version').get()?.user_version);

function createTable({ name, columns, keyColumns }: ViewTable): string {
  const stamped = { ...columns, stamp: 'INTEGER' };
  const defined = Object.entries(stamped).map(([column, type]) => `${column} ${type} NOT NULL`);
  const key = keysOf({ columns, keyColumns });
  return `CREATE TABLE IF NOT EXISTS ${name} (${defined.join(', ')}, PRIMARY KEY (${key.join(', ')})) STRICT, WITHOUT ROWID`;
}

const upsert = (table: ViewTable): string => `INSERT OR REPLACE ${intoOf(table)}`;

const insert = (table: ViewTable): string => `INSERT ${intoOf(table)}`;

function intoOf({ name, columns }: ViewTable): string {
  const values = Object.keys(columns).map(() => '?');
  return `INTO ${name} VALUES (${values.join(', ')}, (SELECT writes FROM written))`;
}

/** Before a row is written: its stamp takes the place of the one that it had. */
const takeOverStamp = (table: ViewTable): string =>
  `UPDATE stamped SET total = total + (SELECT writes FROM written) - ${hadOf(table)} WHERE name = '${table.name}'`;

/** Before a row is removed. */
const unstamp = (table: ViewTable): string =>
  `UPDATE stamped SET total = total - ${hadOf(table)} WHERE name = '${table.name}'`;

const remove = (table: ViewTable): string => `DELETE FROM ${table.name} WHERE ${isRow(table)}`;

const hadOf = (table: ViewTable): string => `coalesce((SELECT stamp FROM ${table.name} WHERE ${isRow(table)}), 0)`;

const isRow = (table: ViewTable): string =>
  keysOf(table)
    .map((column) => `${column} = ?`)
    .join(' AND ');

const keysOf = ({ columns, keyColumns }: Pick<ViewTable, 'columns' | 'keyColumns'>): string[] =>
  Object.keys(columns).slice(0, keyColumns);
