import { DatabaseSync } from 'node:sqlite';
import { hasTable } from './known-views.ts';

const MARK = 'verified';

/** Whether views that were made anew are what the log says, as far as they go. @throws Error when the file is no database */
export const areVerified = (path: string): boolean => hasTable(path, MARK);

/** Written with the verification's end, and taken away before anything else is folded. @throws as `areVerified` */
export function markVerified(path: string, are: boolean): void {
  if (areVerified(path) === are) return;
  const database = new DatabaseSync(path, { timeout: 5_000 });
  try {
    database.exec(are ? `CREATE TABLE ${MARK} (one INTEGER) STRICT` : `DROP TABLE ${MARK}`);
  } finally {
    database.close();
  }
}
