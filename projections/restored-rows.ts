import { DatabaseSync, type StatementSync } from 'node:sqlite';
import type { ColumnValue, StoredRows, ViewTable } from './view.ts';

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
  #onFailed: ((error: unknown) => Error) | null = null;

  /** @param database in a transaction, whose snapshot they are of */
  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  *all<T>(table: ViewTable, decode: (values: Row) => T): Generator<T> {
    try {
      const select = this.#select(table, `ORDER BY ${keyOf(table)}`);
      let last: ColumnValue | undefined;
      for (const row of select.iterate() as Iterable<unknown> as Iterable<Row>) {
        // SQLite takes its pages for sorted: what is not where it is sought is there for nobody who asks for it alone.
        const [first = null] = row;
        if (last !== undefined && !isInOrder(last, first))
          throw new Error(`a row of ${table.name} is not where its key is sought`);
        last = first;
        yield decode(row);
      }
    } catch (error) {
      throw this.#failed(error);
    }
  }

  of<T>(table: ViewTable, first: ColumnValue, decode: (values: Row) => T): T[] {
    try {
      return this.#selectOf(table)
        .all(first)
        .map((row) => decode(row as unknown as Row));
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

  /** Idempotent. */
  close(): void {
    this.#onFailed = null;
    if (this.#database.isOpen) this.#database.close();
  }

  #failed(error: unknown): unknown {
    return this.#onFailed === null ? error : this.#onFailed(error);
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

/** As SQLite sorts what keys hold: numbers by value, texts by their UTF-8 bytes; JavaScript's `<` knows UTF-16 alone. */
function isInOrder(last: ColumnValue, first: ColumnValue): boolean {
  if (typeof last === 'string' && typeof first === 'string')
    return last === first || Buffer.compare(Buffer.from(last), Buffer.from(first)) < 0;
  return typeof last === 'number' && typeof first === 'number' && last <= first;
}

const keyOf = ({ columns, keyColumns }: ViewTable): string => Object.keys(columns).slice(0, keyColumns).join(', ');
