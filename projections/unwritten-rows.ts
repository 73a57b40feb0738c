import type { ViewRow } from './view.ts';

/** Rows that the views' file lacks, the newest of each key: however long it cannot be written, no more than the views have. */
export class UnwrittenRows {
  readonly #byKey = new Map<string, ViewRow>();

  add(rows: readonly ViewRow[]): void {
    for (const row of rows) this.#byKey.set(keyOf(row), row);
  }

  /** What a write has to bring that also brings the rows given, which are newer. */
  with(rows: readonly ViewRow[]): readonly ViewRow[] {
    if (this.#byKey.size === 0) return rows;
    this.add(rows);
    return [...this.#byKey.values()];
  }

  clear(): void {
    this.#byKey.clear();
  }
}

const keyOf = ({ table, values }: ViewRow): string =>
  JSON.stringify([table.name, ...values.slice(0, table.keyColumns).map(String)]);
