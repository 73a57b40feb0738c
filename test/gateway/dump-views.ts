import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/**
 * Every row of every table of a stopped gateway's views.db, in order; then, where asked for, the file is deleted. All but
 * `known_current`, which says when the views were last current, and the numbers of the writes, which are others in every run.
 */
export function dumpViews(data: string, { remove }: { readonly remove: boolean }): string[] {
  const path = join(data, 'views.db');
  const database = new DatabaseSync(path);
  const tables = database
    .prepare(
      `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT IN ('known_current', 'written', 'stamped') ORDER BY name`,
    )
    .all();
  const rows = tables.flatMap(({ name }) =>
    database
      .prepare(`SELECT * FROM ${String(name)}`)
      .all()
      .map(({ stamp: _stamp, ...row }) => JSON.stringify({ table: name, ...row }))
      .sort(),
  );
  database.close();
  if (remove) for (const end of ['', '-wal', '-shm']) rmSync(path + end, { force: true });
  return rows;
}
