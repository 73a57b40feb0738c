import { onOneLine } from '../../../contracts/printable.ts';
import type { RowDifference } from '../../../projections/rebuild/row-difference.ts';

/** What one side lacks is a dash. */
export function lineOf({ table, key, field, live, fold }: RowDifference): string {
  const value = (text: string | null): string => (text === null ? '-' : onOneLine(text));
  return `${table} ${key.map(onOneLine).join(' ')}: ${field ?? 'the row'}: live ${value(live)}, fold ${value(fold)}`;
}
