import { DatabaseSync } from 'node:sqlite';
import { EventLogError } from '../../../contracts/event-log.ts';
import { SQLITE_LIMITS } from './limits.ts';

/** "MGLG" in the file's header: SQLite's own field for whose file it is. */
const APPLICATION_ID = 0x4d474c47;
const SCHEMA_VERSION = 1;
/** Earlier ones can corrupt a WAL that two connections write and checkpoint at the same moment. */
const SQLITE_VERSION_MIN = [3, 51, 3] as const;

/**
 *   stream                      event (append-only: triggers refuse UPDATE and DELETE)
 *   ┌────┬──────┐               ┌──────────┬───────────┬──────────┬────┬──────┬──────┬──────────┬─────────────┐
 *   │ id │ name │ ◀───────────  │ position │ stream_id │ revision │ id │ type │ data │ metadata │ recorded_at │
 *   └────┴──────┘               └──────────┴───────────┴──────────┴────┴──────┴──────┴──────────┴─────────────┘
 *                                 the log     UNIQUE (stream_id, revision)
 *
 * No index on event ids: a retry is recognised by the ids that stand at its revisions. Positions have no gaps, because
 * one transaction at a time writes and what is rolled back leaves nothing. `ledger` is the same for human eyes.
 */
const SCHEMA = `
  CREATE TABLE stream (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
  CREATE TABLE event (
    position INTEGER PRIMARY KEY,
    stream_id INTEGER NOT NULL REFERENCES stream (id),
    revision INTEGER NOT NULL CHECK (revision >= 0),
    id BLOB NOT NULL CHECK (length(id) = 16),
    type TEXT NOT NULL,
    data TEXT NOT NULL,
    metadata TEXT NOT NULL,
    recorded_at INTEGER NOT NULL,
    UNIQUE (stream_id, revision)
  ) STRICT;
  CREATE TRIGGER event_is_never_updated BEFORE UPDATE ON event BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
  CREATE TRIGGER event_is_never_deleted BEFORE DELETE ON event BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
  CREATE TRIGGER stream_is_never_updated BEFORE UPDATE ON stream BEGIN SELECT RAISE(ABORT, 'streams are append-only'); END;
  CREATE TRIGGER stream_is_never_deleted BEFORE DELETE ON stream BEGIN SELECT RAISE(ABORT, 'streams are append-only'); END;
  CREATE VIEW ledger AS
    SELECT event.position, stream.name AS stream, event.revision, event.type, event.data, event.metadata,
      lower(substr(hex(event.id), 1, 8) || '-' || substr(hex(event.id), 9, 4) || '-' || substr(hex(event.id), 13, 4)
        || '-' || substr(hex(event.id), 17, 4) || '-' || substr(hex(event.id), 21)) AS id,
      strftime('%Y-%m-%dT%H:%M:%fZ', event.recorded_at / 1000.0, 'unixepoch') AS recorded_at
    FROM event JOIN stream ON stream.id = event.stream_id;
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${SCHEMA_VERSION}`;

/**
 * Makes the file if it is new and checks it if it is not.
 * @throws EventLogError `unavailable` for a file of another program or a newer version, or that cannot be opened.
 */
export function prepareFile(path: string): void {
  checkSqliteVersion(process.versions.sqlite ?? '0');
  const database = open(path);
  try {
    database.exec('PRAGMA journal_mode = WAL; BEGIN IMMEDIATE');
    const application = pragma(database, 'application_id');
    const version = pragma(database, 'user_version');
    const tables = Number(database.prepare('SELECT count(*) AS n FROM sqlite_schema').get()?.n);
    if (application === 0 && version === 0 && tables === 0) database.exec(SCHEMA);
    else if (application !== APPLICATION_ID) throw unusable(path, 'is not an event log of this program');
    else if (version > SCHEMA_VERSION)
      throw unusable(path, `has version ${version}; this program reads up to ${SCHEMA_VERSION}`);
    database.exec('COMMIT');
  } catch (cause) {
    if (cause instanceof EventLogError) throw cause;
    throw unusable(path, cause instanceof Error ? cause.message : String(cause), { cause });
  } finally {
    database.close();
  }
}

/** A connection that writes: WAL with a sync at each commit, so that an answered append survives a loss of power. */
export function openWriter(path: string): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: SQLITE_LIMITS.busyMs });
  database.exec('PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON');
  return database;
}

export const openReader = (path: string): DatabaseSync =>
  new DatabaseSync(path, { timeout: SQLITE_LIMITS.busyMs, readOnly: true });

function open(path: string): DatabaseSync {
  try {
    return new DatabaseSync(path, { timeout: SQLITE_LIMITS.busyMs });
  } catch (cause) {
    throw unusable(path, cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

export function checkSqliteVersion(version: string): void {
  const parts = version.split('.').map(Number);
  for (const [index, least] of SQLITE_VERSION_MIN.entries()) {
    const part = parts[index] ?? 0;
    if (part > least) return;
    if (part < least)
      throw new EventLogError(
        'unavailable',
        `SQLite ${version} can corrupt a log; ${SQLITE_VERSION_MIN.join('.')} is needed (Node 24.15 or later)`,
      );
  }
}

const pragma = (database: DatabaseSync, name: string): number =>
  Number(database.prepare(`PRAGMA ${name}`).get()?.[name]);

const unusable = (path: string, problem: string, options?: ErrorOptions): EventLogError =>
  new EventLogError('unavailable', `${path}: ${problem}`, options);
