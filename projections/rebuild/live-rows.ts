import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { AccountsSetAside, isFoldedAside } from '../accounts-set-aside.ts';
import { readUpcastFrom } from '../known-views.ts';
import { RestoredRows } from '../restored-rows.ts';
import { begunWithNothing, olderTablesOf, planIn } from '../upcast-views.ts';
import { type ColumnValue, textOf, type ViewTable } from '../view.ts';
import { viewsOfThisProgram } from '../views-of-this-program.ts';

/** Rows of a views' file as of one moment, which may be written to meanwhile. */
export class LiveRows {
  readonly #database: DatabaseSync;
  readonly #byKey = new Map<ViewTable, StatementSync>();
  #begunWithNothing: ReadonlySet<string> | null = null;
  #tables: ReadonlySet<string> | null = null;
  /** What rows of now are made of as they are read, as a gateway does that serves from such. */
  #older: { readonly tables: ReturnType<typeof olderTablesOf>; readonly rows: RestoredRows } | null = null;
  #upcastFrom: ReadonlyMap<string, number>;

  /** @throws Error when it is no database */
  constructor(path: string) {
    this.#database = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
    this.#database.exec('BEGIN');
    this.#upcastFrom = readUpcastFrom(path);
  }

  /**
   * The same, also where the file's views are of an earlier version: they are read as ones of this one, where that can be. @throws Error when it is
   * no database
   */
  static alsoOlder(path: string): LiveRows {
    const live = new LiveRows(path);
    if (live.hasAllViews) return live;
    const plan = planIn(live.#database, viewsOfThisProgram(), live.#upcastFrom);
    if (plan === null) return live;
    live.#upcastFrom = plan.upcastFrom;
    const tables = olderTablesOf(plan);
    live.#older = { tables, rows: new RestoredRows(live.#database, tables) };
    return live;
  }

  /** By view, of which version the rows are that its rows were, or are, made of; nothing where all were folded. */
  get upcastFrom(): ReadonlyMap<string, number> {
    return this.#upcastFrom;
  }

  /** Whether there is, or can be made, a table for each of this program's views. */
  get hasAllViews(): boolean {
    return viewsOfThisProgram().every(({ mayLack, tables }) => mayLack || tables.every((table) => this.has(table)));
  }

  has({ name }: ViewTable): boolean {
    if (this.#older !== null) return this.#older.tables.has(name);
    this.#tables ??= new Set(
      this.#database
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")
        .all()
        .map((table) => String(table.name)),
    );
    return this.#tables.has(name);
  }

  /** Whether there is a row for all that was folded: not where its view is made of one that knew nothing of it (upcast-views.ts). */
  isWhole({ name }: ViewTable): boolean {
    this.#begunWithNothing ??= begunWithNothing(viewsOfThisProgram(), this.#upcastFrom);
    return !this.#begunWithNothing.has(name);
  }

  /** @param values the key first; what stands behind it does not count */
  row(table: ViewTable, values: readonly ColumnValue[]): readonly ColumnValue[] | null {
    if (this.#older !== null) {
      const key = keyIn(table, values);
      return this.#older.rows.of(table, values[0] ?? null, itself).find((row) => keyIn(table, row) === key) ?? null;
    }
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
    if (this.#older !== null) {
      const { rows } = this.#older;
      yield* first === undefined ? rows.all(table, itself) : rows.of(table, first, itself);
      return;
    }
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

const itself = (row: readonly ColumnValue[]): readonly ColumnValue[] => row;
const keyIn = ({ keyColumns }: ViewTable, row: readonly ColumnValue[]): string =>
  JSON.stringify(row.slice(0, keyColumns).map(String));

const columnsOf = ({ columns }: ViewTable): string => Object.keys(columns).join(', ');
const keyOf = ({ columns, keyColumns }: ViewTable): string[] => Object.keys(columns).slice(0, keyColumns);
