import { readUndamaged } from './damaged-views.ts';
import { readLedgerOfViews, writeLedgerOfViews } from './known-views.ts';

/**
 * Puts views away. What is made in their place says from its first moment on which ledger it is of: theirs, where they can tell. @throws what
 * `putAway` throws; Error of SQLite
 */
export function beginAnew<T>(path: string, putAway: () => T): T {
  const of = readUndamaged(path, () => readLedgerOfViews(path));
  const put = putAway();
  if (of.damage === null && of.read !== null) writeLedgerOfViews(path, of.read);
  return put;
}
