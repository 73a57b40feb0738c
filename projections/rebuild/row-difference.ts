import { isObject, jsonOf } from '../../contracts/json-object.ts';
import type { ColumnValue, ViewTable } from '../view.ts';

/** One value that two folds of the same events have not made the same. */
export interface RowDifference {
  readonly table: string;
  /** The row's key, of which the account is the first where the table has accounts. */
  readonly key: readonly string[];
  /** A column, and within JSON the way to the value; null where one side lacks the row. */
  readonly field: string | null;
  /** As text; null where it is not there. */
  readonly live: string | null;
  readonly fold: string | null;
}

type Row = readonly ColumnValue[];

/** All values that differ between two rows of one key, of which one may be missing. */
export function differencesOf(table: ViewTable, live: Row | null, fold: Row | null): RowDifference[] {
  const key = (live ?? fold ?? []).slice(0, table.keyColumns).map(String);
  const at = { table: table.name, key };
  if (live === null || fold === null) {
    const whole = (row: Row | null) => row && JSON.stringify(row.slice(table.keyColumns).map(String));
    return [{ ...at, field: null, live: whole(live), fold: whole(fold) }];
  }
  return Object.keys(table.columns).flatMap((column, index) => {
    const [one, other] = [String(live[index]), String(fold[index])];
    if (one === other) return [];
    const [ones, others] = [partsOf(column, one), partsOf(column, other)];
    const fields = [...new Set([...ones.keys(), ...others.keys()])].filter(
      (field) => ones.get(field) !== others.get(field),
    );
    // The same values, written differently: rows are to be the same to the byte.
    if (fields.length === 0) return [{ ...at, field: column, live: one, fold: other }];
    return fields.map((field) => ({ ...at, field, live: ones.get(field) ?? null, fold: others.get(field) ?? null }));
  });
}

/** The values in a column's text, by the way to each; the text itself where it is no JSON object. */
function partsOf(column: string, text: string): ReadonlyMap<string, string> {
  const parts = new Map<string, string>();
  const value = jsonOf(text);
  if (!isObject(value)) return parts.set(column, text);
  addParts(column, value, parts);
  return parts;
}

function addParts(path: string, value: unknown, parts: Map<string, string>): void {
  const entries = Array.isArray(value) ? [...value.entries()] : isObject(value) ? Object.entries(value) : [];
  if (entries.length === 0) parts.set(path, typeof value === 'string' ? value : JSON.stringify(value));
  for (const [name, inner] of entries) addParts(`${path}.${name}`, inner, parts);
}
