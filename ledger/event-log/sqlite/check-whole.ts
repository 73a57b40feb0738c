import { EventLogError } from '../../../contracts/event-log.ts';
import { describeDamage } from './database-fault.ts';
import { asLogError, openForReads } from './open-database.ts';
import { APPLICATION_ID } from './schema.ts';

/**
 * Whether every event of a file is there: positions have no gaps, and the index has every revision of every stream once.
 * A mixture of two files lacks some, or its index is of another time than its table. Reads both as a whole: about a
 * second a gigabyte. A connection that only reads moves no -wal into the file when it is closed.
 *
 * @throws EventLogError `invalid` where events are missing; `unavailable` where the file cannot be read
 */
export function checkWhole(path: string, busyMs: number): void {
  const database = openForReads(path, busyMs);
  try {
    asLogError(path, () => {
      // Nothing yet, or another program's: the open that follows says so.
      if (database.prepare('PRAGMA application_id').get()?.application_id !== APPLICATION_ID) return;
      const found = database.prepare(COUNTED).get();
      const [events, indexed, revisions, last] = ['events', 'indexed', 'revisions', 'last'].map((name) =>
        Number(found?.[name] ?? 0),
      );
      if (events === last && indexed === last && revisions === last) return;
      const readable = `${events} of ${last} events can be read, ${indexed} by their streams, which have ${revisions}`;
      throw new EventLogError('invalid', describeDamage(path, new Error(readable)));
    });
  } finally {
    database.close();
  }
}

/** At one instant. What an index has is no proof of what the table has, nor the other way round. */
const COUNTED = `SELECT (SELECT count(*) FROM event NOT INDEXED) AS events,
  (SELECT max(position) FROM event) AS last,
  (SELECT count(*) FROM event INDEXED BY sqlite_autoindex_event_1) AS indexed,
  (SELECT sum(revisions) FROM
    (SELECT max(revision) + 1 AS revisions FROM event INDEXED BY sqlite_autoindex_event_1 GROUP BY stream_id)) AS revisions`;
