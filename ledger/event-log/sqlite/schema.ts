/** "MGLG" in the file's header: SQLite's own field for whose file it is. */
export const APPLICATION_ID = 0x4d474c47;
export const SCHEMA_VERSION = 1;

/**
 * One file, append-only: triggers refuse UPDATE, DELETE, and an INSERT (also OR REPLACE) that is not the next event.
 *
 *   stream                      event
 *   ┌────┬──────┐               ┌──────────┬───────────┬──────────┬────┬──────┬──────┬──────────┬─────────────┐
 *   │ id │ name │ ◀──────────── │ position │ stream_id │ revision │ id │ type │ data │ metadata │ recorded_at │
 *   └────┴──────┘               └──────────┴───────────┴──────────┴────┴──────┴──────┴──────────┴─────────────┘
 *                                1, 2, 3, …  └─ UNIQUE, 0, 1, … ─┘  UUID, 16 bytes   JSON text     ms since 1970
 *
 * No index on event ids: a retry is recognised by the ids that stand at its revisions, and a second index costs as much
 * as all the rest. Positions have no gaps, for one transaction at a time writes and what is rolled back leaves nothing.
 * The view `ledger` is the same for human eyes: names, UUIDs and times as text. `recorded_at` is the writer's clock, and
 * of no event: no audit and no seal is of it (the event's own time is in its metadata).
 */
export const SCHEMA = `
  CREATE TABLE stream (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
  CREATE TABLE event (
    position INTEGER PRIMARY KEY,
    stream_id INTEGER NOT NULL REFERENCES stream (id),
    revision INTEGER NOT NULL,
    id BLOB NOT NULL CHECK (length(id) = 16),
    type TEXT NOT NULL,
    data TEXT NOT NULL,
    metadata TEXT NOT NULL,
    recorded_at INTEGER NOT NULL,
    UNIQUE (stream_id, revision)
  ) STRICT;
  CREATE TRIGGER event_is_the_next BEFORE INSERT ON event
    WHEN NEW.position <> (SELECT coalesce(max(position), 0) + 1 FROM event)
      OR NEW.revision <> (SELECT coalesce(max(revision), -1) + 1 FROM event WHERE stream_id = NEW.stream_id)
    BEGIN SELECT RAISE(ABORT, 'events are append-only: this is not the next one'); END;
  CREATE TRIGGER event_is_never_updated BEFORE UPDATE ON event
    BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
  CREATE TRIGGER event_is_never_deleted BEFORE DELETE ON event
    BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
  CREATE TRIGGER stream_is_new BEFORE INSERT ON stream
    WHEN EXISTS (SELECT 1 FROM stream WHERE id = NEW.id OR name = NEW.name)
    BEGIN SELECT RAISE(ABORT, 'streams are append-only'); END;
  CREATE TRIGGER stream_is_never_updated BEFORE UPDATE ON stream
    BEGIN SELECT RAISE(ABORT, 'streams are append-only'); END;
  CREATE TRIGGER stream_is_never_deleted BEFORE DELETE ON stream
    BEGIN SELECT RAISE(ABORT, 'streams are append-only'); END;
  CREATE VIEW ledger AS
    SELECT event.position, stream.name AS stream, event.revision, event.type, event.data, event.metadata,
      lower(substr(hex(event.id), 1, 8) || '-' || substr(hex(event.id), 9, 4) || '-' || substr(hex(event.id), 13, 4)
        || '-' || substr(hex(event.id), 17, 4) || '-' || substr(hex(event.id), 21)) AS id,
      strftime('%Y-%m-%dT%H:%M:%fZ', event.recorded_at / 1000.0, 'unixepoch') AS recorded_at
    FROM event JOIN stream ON stream.id = event.stream_id;
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${SCHEMA_VERSION}`;

/** In a file that has ended (end-file.ts). Whoever writes on is told so, also a program that was started before. */
export const NOTHING_FOLLOWS = `CREATE TRIGGER nothing_follows BEFORE INSERT ON event
  BEGIN SELECT RAISE(ABORT, 'the ledger has moved to another log: its last event says where'); END`;
