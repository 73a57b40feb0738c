import { DatabaseSync, type StatementSync } from 'node:sqlite';
import type { ColumnValue, OlderTable, StoredRows, ViewTable } from './view.ts';

type Row = readonly ColumnValue[];

/** @throws Error where there is no such file, or it is no database */
export const openRows = (path: string): DatabaseSync => new DatabaseSync(path, { readOnly: true, timeout: 5_000 });

/**
 * Rows of a views' file that stay there until somebody asks for them: what nobody asks for costs neither time nor memory.
 * Each is read once, and changed in memory from then on, so that the file's writer and this reader never meet at one.
 */
export class RestoredRows implements StoredRows {
  #database: DatabaseSync;
  readonly #ofAccount = new Map<ViewTable, StatementSync>();
  #older: OlderTables | null;
  /** The row of then that was asked for last: an account's parts are asked for one after the other. */
  #lastOlder: { readonly from: ViewTable; readonly first: ColumnValue; readonly rows: readonly MadeRow[] } | null =
    null;
  #onFailed: ((error: unknown) => Error) | null = null;

  /**
   * @param database in a transaction, whose snapshot they are of
   * @param older where the file has tables of an earlier version: those that a table's rows are made of as they are read
   */
  constructor(database: DatabaseSync, older: OlderTables | null = null) {
    this.#database = database;
    this.#older = older;
  }

  /** Whether the file is of an earlier version, and nothing of now may be written to it. */
  get areOlder(): boolean {
    return this.#older !== null;
  }

  *all<T>(table: ViewTable, decode: (values: Row) => T): Generator<T> {
    try {
      if (this.#older === null) for (const row of this.#inOrder(table)) yield decode(row);
      else
        for (const older of this.#older.get(table.name) ?? [])
          for (const row of this.#inOrder(older.from)) for (const made of madeOf(older, row, table)) yield decode(made);
    } catch (error) {
      throw this.#failed(error);
    }
  }

  of<T>(table: ViewTable, first: ColumnValue, decode: (values: Row) => T): T[] {
    try {
      return this.#rowsOf(table, first).map(decode);
    } catch (error) {
      throw this.#failed(error);
    }
  }

  /** From here on what fails is told, and what that answers is thrown instead. */
  onFailed(listener: (error: unknown) => Error): void {
    this.#onFailed = listener;
  }

  /** From here on a row is read as it is then: the views that read it are the only ones that change it. */
  endSnapshot(): void {
    this.#database.exec('COMMIT');
  }

  /** Nothing of it may be asked for until `reopen`. */
  pause(): void {
    this.#ofAccount.clear();
    if (this.#database.isOpen) this.#database.close();
  }

  /** The same rows, in this file now. @throws Error when it cannot be opened and read */
  reopen(path: string): void {
    this.#database = openRows(path);
    // With it SQLite has what it puts beside the file, and needs no more room for whatever is read later.
    this.#database.prepare('SELECT count(*) FROM sqlite_schema').get();
  }

  /** The same rows, in a file of now. @throws as `reopen` */
  reopenMade(path: string): void {
    this.#older = null;
    this.#lastOlder = null;
    this.reopen(path);
  }

  /** Idempotent. */
  close(): void {
    this.#onFailed = null;
    if (this.#database.isOpen) this.#database.close();
  }

  #failed(error: unknown): unknown {
    return this.#onFailed === null ? error : this.#onFailed(error);
  }

  *#inOrder(table: ViewTable): Generator<Row> {
    const select = this.#select(table, `ORDER BY ${keyOf(table)}`);
    let last: ColumnValue | undefined;
    for (const row of select.iterate() as Iterable<unknown> as Iterable<Row>) {
      // SQLite takes its pages for sorted: what is not where it is sought is there for nobody who asks for it alone.
      const [first = null] = row;
      if (last !== undefined && !isInOrder(last, first))
        throw new Error(`a row of ${table.name} is not where its key is sought`);
      last = first;
      yield row;
    }
  }

  #rowsOf(table: ViewTable, first: ColumnValue): readonly Row[] {
    if (this.#older === null) return this.#stored(table, first);
    const sources = this.#older.get(table.name) ?? [];
    return sources.flatMap((older) => rowsFor(table, this.#upcast(older, first)));
  }

  #stored(table: ViewTable, first: ColumnValue): readonly Row[] {
    return this.#selectOf(table).all(first) as unknown as readonly Row[];
  }

  #upcast(older: OlderTable, first: ColumnValue): readonly MadeRow[] {
    const { from } = older;
    if (this.#lastOlder?.from !== from || this.#lastOlder.first !== first)
      this.#lastOlder = { from, first, rows: this.#stored(from, first).flatMap((row) => allMadeOf(older, row)) };
    return this.#lastOlder.rows;
  }

  #selectOf(table: ViewTable): StatementSync {
    let select = this.#ofAccount.get(table);
    if (select === undefined) {
      select = this.#select(table, `WHERE ${Object.keys(table.columns)[0]} = ? ORDER BY ${keyOf(table)}`);
      this.#ofAccount.set(table, select);
    }
    return select;
  }

  #select({ name, columns }: ViewTable, which: string): StatementSync {
    const select = this.#database.prepare(`SELECT ${Object.keys(columns).join(', ')} FROM ${name} ${which}`);
    select.setReturnArrays(true);
    return select;
  }
}

/** Of each table of now, by its name, what its rows are made of. */
type OlderTables = ReadonlyMap<string, readonly OlderTable[]>;
interface MadeRow {
  readonly table: ViewTable;
  readonly values: Row;
}

/** A row of then as rows of now, of all tables. */
const allMadeOf = ({ to, upcast }: OlderTable, row: Row): readonly MadeRow[] =>
  upcast === undefined ? [{ table: to, values: row }] : [...upcast(row)];

const madeOf = (older: OlderTable, row: Row, table: ViewTable): readonly Row[] => rowsFor(table, allMadeOf(older, row));

/** In the order of their keys, of rows with the same first column. */
const rowsFor = (table: ViewTable, rows: readonly MadeRow[]): readonly Row[] =>
  rows
    .filter((made) => made.table.name === table.name)
    .map(({ values }) => values)
    .toSorted((one, other) => compareKeys(one.slice(1, table.keyColumns), other.slice(1, table.keyColumns)));

function compareKeys(one: Row, other: Row): number {
  const at = one.findIndex((value, index) => value !== other[index]);
  if (at === -1) return 0;
  return isInOrder(one[at] ?? null, other[at] ?? null) ? -1 : 1;
}

/** As SQLite sorts what keys hold: numbers by value, texts by their UTF-8 bytes; JavaScript's `<` knows UTF-16 alone. */
function isInOrder(last: ColumnValue, first: ColumnValue): boolean {
  if (typeof last === 'string' && typeof first === 'string')
    return last === first || Buffer.compare(Buffer.from(last), Buffer.from(first)) < 0;
  return typeof last === 'number' && typeof first === 'number' && last <= first;
}

const keyOf = ({ columns, keyColumns }: ViewTable): string => Object.keys(columns).slice(0, keyColumns).join(', ');
