import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { AccountsSetAside, isFoldedAside } from '../accounts-set-aside.ts';
import { type ColumnValue, textOf, type ViewTable } from '../view.ts';

/** Rows of a views' file as of one moment, which may be written to meanwhile. */
export class LiveRows {
  readonly #database: DatabaseSync;
  readonly #byKey = new Map<ViewTable, StatementSync>();
  #tables: ReadonlySet<string> | null = null;

  /** @throws Error when it is no database */
  constructor(path: string) {
    this.#database = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
    this.#database.exec('BEGIN');
  }

  has({ name }: ViewTable): boolean {
    this.#tables ??= new Set(
      this.#database
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")
        .all()
        .map((table) => String(table.name)),
    );
    return this.#tables.has(name);
  }

  /** @param values the key first; what stands behind it does not count */
  row(table: ViewTable, values: readonly ColumnValue[]): readonly ColumnValue[] | null {
    let select = this.#byKey.get(table);
    if (select === undefined) {
      const key = keyOf(table).map((column) => `${column} = ?`);
      select = this.#prepare(`SELECT ${columnsOf(table)} FROM ${table.name} WHERE ${key.join(' AND ')}`);
      this.#byKey.set(table, select);
    }
    return (select.get(...values.slice(0, table.keyColumns)) as unknown as readonly ColumnValue[] | undefined) ?? null;
  }

  /** @param first of the key; all of the table where it is not given */
  *rows(table: ViewTable, first?: string): Generator<readonly ColumnValue[]> {
    const where = first === undefined ? '' : `WHERE ${keyOf(table)[0]} = ?`;
    const select = this.#prepare(`SELECT ${columnsOf(table)} FROM ${table.name} ${where}`);
    const rows = first === undefined ? select.iterate() : select.iterate(first);
    for (const row of rows) yield row as unknown as readonly ColumnValue[];
  }

  /** Of whom a fold of the log does not say what is to be there (accounts-set-aside.ts). */
  notFolded(): ReadonlySet<string> {
    const [table] = new AccountsSetAside().tables;
    const rows = this.has(table) ? [...this.rows(table)] : [];
    return new Set(rows.filter((row) => !isFoldedAside(row)).map(([id]) => textOf(id)));
  }

  close(): void {
    this.#database.close();
  }

  #prepare(sql: string): StatementSync {
    const statement = this.#database.prepare(sql);
    statement.setReturnArrays(true);
    return statement;
  }
}

const columnsOf = ({ columns }: ViewTable): string => Object.keys(columns).join(', ');
const keyOf = ({ columns, keyColumns }: ViewTable): string[] => Object.keys(columns).slice(0, keyColumns);
