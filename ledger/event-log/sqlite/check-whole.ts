import { EventLogError } from '../../../contracts/event-log.ts';
import { describeDamage } from './database-fault.ts';
import { asLogError, openForReads } from './open-database.ts';
import { APPLICATION_ID } from './schema.ts';

/**
 * Whether every event of a file is there: positions have no gaps, and the index has every revision of every stream once.
 * A mixture of two files lacks some, or its index is of another time than its table, or a stream has no name. Reads both as a whole: about a
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
      const of = (name: keyof Counted): number => Number(found?.[name] ?? 0);
      const missing = missingOf({
        ...{
          events: of('events'),
          first: of('first'),
          last: of('last'),
          indexed: of('indexed'),
          revisions: of('revisions'),
        },
        ...{ streams: of('streams'), named: of('named'), written: of('written'), known: of('known') },
      });
      if (missing !== null) throw new EventLogError('invalid', describeDamage(path, new Error(missing)));
    });
  } finally {
    database.close();
  }
}

/** At one instant. What an index has is no proof of what the table has, nor the other way round. */
const COUNTED = `SELECT (SELECT count(*) FROM event NOT INDEXED) AS events,
  (SELECT min(position) FROM event) AS first,
  (SELECT max(position) FROM event) AS last,
  (SELECT count(*) FROM event INDEXED BY sqlite_autoindex_event_1) AS indexed,
  (SELECT sum(revisions) FROM
    (SELECT max(revision) + 1 AS revisions FROM event INDEXED BY sqlite_autoindex_event_1 GROUP BY stream_id)) AS revisions,
  (SELECT count(*) FROM stream NOT INDEXED) AS streams,
  (SELECT count(*) FROM stream INDEXED BY sqlite_autoindex_stream_1) AS named,
  (SELECT count(*) FROM (SELECT DISTINCT stream_id AS id FROM event INDEXED BY sqlite_autoindex_event_1)
    JOIN stream USING (id)) AS known,
  (SELECT count(DISTINCT stream_id) FROM event INDEXED BY sqlite_autoindex_event_1) AS written`;

interface Counted {
  readonly events: number;
  readonly first: number;
  readonly last: number;
  readonly indexed: number;
  readonly revisions: number;
  readonly streams: number;
  readonly named: number;
  /** Streams of events, in all and those that there are. */
  readonly written: number;
  readonly known: number;
}

/** Null where nothing is missing. */
function missingOf({
  events,
  first,
  last,
  indexed,
  revisions,
  streams,
  named,
  written,
  known,
}: Counted): string | null {
  if (events > 0 && first !== 1) return `its first event stands at position ${first}, and not at 1`;
  if (events !== last || indexed !== last || revisions !== last)
    return `${events} of ${last} events can be read, ${indexed} by their streams, which have ${revisions}`;
  if (known === written && streams === written && named === written) return null;
  return `events are of ${written} streams, of which ${known} can be read: there are ${streams}, and ${named} by their names`;
}
