import { onOneLine } from '../../../contracts/printable.ts';
import type { RowDifference } from '../../../projections/rebuild/row-difference.ts';
import { valueInWords } from '../../../projections/rebuild/value-in-words.ts';

/** What one side lacks is a dash. */
export function lineOf(difference: RowDifference): string {
  const { table, key, field, live, fold } = difference;
  const value = (text: string | null): string => (text === null ? '-' : onOneLine(valueInWords(difference, text)));
  return `${table} ${key.map(onOneLine).join(' ')}: ${field ?? 'the row'}: live ${value(live)}, fold ${value(fold)}`;
}
