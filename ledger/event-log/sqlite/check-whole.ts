import { existsSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { EventLogError } from '../../../contracts/event-log.ts';
import { describeDamage, isDamage, messageOf } from './database-fault.ts';
import { openForReads } from './open-database.ts';

/**
 * Whether every event of a file is there, asked before it is served from and before anything may write to it: positions
 * have no gaps. SQLite takes a write-ahead log by its name alone for that of the file beside it, so a copy that is put
 * back beside the `-wal` of the file before is read as a mixture of both, which a first writer makes for good. Reads the
 * whole table: about a second a gigabyte. A file that is not there yet is whole.
 *
 * @throws EventLogError `invalid` where events are missing; `unavailable` where the file cannot be read
 */
export function checkWhole(path: string, busyMs: number): void {
  if (!existsSync(path)) return;
  let database: DatabaseSync | null = null;
  try {
    database = openForReads(path, busyMs);
    const isThere = database.prepare("SELECT count(*) AS n FROM sqlite_schema WHERE name = 'event'").get()?.n !== 0;
    const found = isThere ? database.prepare(COUNTED).get() : { events: 0, last: 0 };
    const [events, last] = [Number(found?.events), Number(found?.last ?? 0)];
    if (events !== last)
      throw new EventLogError('invalid', describeDamage(path, new Error(`${events} of ${last} events can be read`)));
  } catch (cause) {
    if (cause instanceof EventLogError) throw cause;
    if (isDamage(cause)) throw new EventLogError('invalid', describeDamage(path, cause), { cause });
    throw new EventLogError('unavailable', `${path}: ${messageOf(cause)}`, { cause });
  } finally {
    database?.close();
  }
}

/** Not by an index, which may be whole where the table is not. */
const COUNTED = 'SELECT (SELECT count(*) FROM event NOT INDEXED) AS events, (SELECT max(position) FROM event) AS last';
