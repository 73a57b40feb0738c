import { existsSync } from 'node:fs';
import { readUndamaged } from './damaged-views.ts';
import { openRows } from './restored-rows.ts';
import { planIn } from './upcast-views.ts';
import { checkpointOf, checkRows, heldTables } from './view-file.ts';
import { viewsOfThisProgram } from './views-of-this-program.ts';

/**
 * Why the rows of a file cannot all be relied on; null where they can, or there is no file, or none in it that this program could go on with. Reads
 * all of it. @throws as `readUndamaged`
 */
export function damageOfRows(path: string): string | null {
  if (!existsSync(path)) return null;
  const views = viewsOfThisProgram();
  const looked = readUndamaged(path, () => {
    const database = openRows(path);
    try {
      database.exec('BEGIN');
      if (checkpointOf(database, views) !== null) checkRows(database, heldTables(database, views));
      // Those of an earlier version may be read, too, where there is no room to make others of them.
      const older = planIn(database, views, new Map());
      if (older !== null)
        checkRows(
          database,
          older.tables.map(({ from }) => from),
        );
    } finally {
      database.close();
    }
  });
  return looked.damage;
}
