import type { DatabaseSync } from 'node:sqlite';
import { asLogError } from './open-database.ts';
import { openOffline } from './open-offline.ts';
import { alteredObjects } from './schema-objects.ts';

/**
 * What makes a file of a ledger answer one thing to who reads it in its order and another to who reads it by streams: triggers
 * other than this program's, an index that has not what its table has, numbers beyond what is read exactly. What stands in the
 * tables is for the audit and the seals, and they read it in its order. Some seconds a million events.
 *
 * @return one line each; none where the file is sound @throws EventLogError as `openOffline`
 */
export function structureFaults(path: string): string[] {
  const file = openOffline(path);
  try {
    return asLogError(path, () => {
      const triggers = alteredObjects(file.database).map(
        ({ name, isMissing }) => `${isMissing ? 'lacks' : 'has, not as this program makes it,'} ${name}`,
      );
      return [...triggers, ...disagreements(file.database)];
    });
  } finally {
    file.close();
  }
}

function disagreements(database: DatabaseSync): string[] {
  const found = database.prepare(DISAGREEMENTS).get() ?? {};
  return Object.entries(found).flatMap(([what, count]) => (count === 0 ? [] : [`${what}: ${count}`]));
}

const BEYOND = Number.MAX_SAFE_INTEGER;
const BY_STREAM = 'INDEXED BY sqlite_autoindex_event_1';
const BY_NAME = 'INDEXED BY sqlite_autoindex_stream_1';

/** At one instant. As many entries as rows, each row among them: then the index has the rows, and nothing else. */
const DISAGREEMENTS = `SELECT
  (SELECT count(*) FROM event AS row NOT INDEXED WHERE NOT EXISTS (SELECT 1 FROM event AS entry ${BY_STREAM}
    WHERE entry.stream_id = row.stream_id AND entry.revision = row.revision AND entry.position = row.position))
    AS 'events that are not found by their streams',
  (SELECT count(*) FROM event ${BY_STREAM}) - (SELECT count(*) FROM event NOT INDEXED)
    AS 'events by their streams, more than there are',
  (SELECT count(*) FROM event NOT INDEXED WHERE stream_id NOT IN (SELECT id FROM stream)) AS 'events of no stream',
  (SELECT count(*) FROM stream AS row NOT INDEXED WHERE NOT EXISTS (SELECT 1 FROM stream AS entry ${BY_NAME}
    WHERE entry.name = row.name AND entry.id = row.id)) AS 'streams that are not found by their names',
  (SELECT count(*) FROM stream ${BY_NAME}) - (SELECT count(*) FROM stream NOT INDEXED)
    AS 'streams by their names, more than there are',
  (SELECT count(*) FROM stream WHERE NOT EXISTS (SELECT 1 FROM event WHERE stream_id = stream.id)) AS 'streams without an event',
  (SELECT count(*) FROM event NOT INDEXED WHERE max(abs(position), abs(revision), abs(stream_id)) > ${BEYOND})
    AS 'events with a number beyond 2^53 - 1'`;
