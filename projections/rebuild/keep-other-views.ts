import { DatabaseSync } from 'node:sqlite';
import { AccountsSetAside } from '../accounts-set-aside.ts';
import { BalanceView } from '../balance-view.ts';
import { CatalogView } from '../catalog-view.ts';
import { hasTable } from '../known-views.ts';
import { MonthlyView } from '../monthly-view.ts';
import { logCheckpointSchema } from '../sources/log-view-source.ts';
import type { StoredView } from '../view.ts';
import { restamp } from '../view-file.ts';

/** Views that can be made anew by themselves. Who is set aside goes with whichever of them. */
export const REBUILT_ALONE: readonly string[] = [BalanceView, MonthlyView, CatalogView].map((View) => new View().name);

/**
 * Of views that were made anew only one stays: the others are the live ones, as they stand, and the file goes no further than both
 * have come. Who is set aside by either is set aside, and read again. @throws Error of SQLite; then nothing has changed
 */
export function keepOtherViews(rebuilt: string, live: string, name: string): void {
  const database = new DatabaseSync(rebuilt, { timeout: 5_000 });
  try {
    database.prepare('ATTACH ? AS live').run(live);
    database.exec('BEGIN IMMEDIATE');
    const views: readonly StoredView[] = [new BalanceView(), new MonthlyView(), new CatalogView()];
    for (const table of views.filter((view) => view.name !== name).flatMap(({ tables }) => tables)) {
      database.exec(`DELETE FROM main.${table.name}; INSERT INTO main.${table.name} SELECT * FROM live.${table.name}`);
      restamp(database, table);
    }
    const [aside] = new AccountsSetAside().tables;
    if (database.prepare('SELECT 1 FROM live.sqlite_schema WHERE name = ?').get(aside.name) !== undefined)
      database.exec(`INSERT OR IGNORE INTO main.${aside.name} SELECT * FROM live.${aside.name}`);
    restamp(database, aside);
    if (positionIn(database, 'live') < positionIn(database, 'main'))
      database.exec('UPDATE main.checkpoint SET checkpoint = (SELECT checkpoint FROM live.checkpoint)');
    database.exec(`CREATE TABLE main.${MARK} (one INTEGER) STRICT; COMMIT`);
  } finally {
    // What was not committed goes with it.
    database.close();
  }
}

const MARK = 'kept_other_views';

/** Whether that was done to a file: it is no longer made of the log alone, and not to be gone on with. @throws Error when it is no database */
export const hasKeptOthers = (path: string): boolean => hasTable(path, MARK);

function positionIn(database: DatabaseSync, file: 'live' | 'main'): number {
  const row = database.prepare(`SELECT checkpoint FROM ${file}.checkpoint`).get();
  return logCheckpointSchema.parse(JSON.parse(String(row?.checkpoint))).position;
}
