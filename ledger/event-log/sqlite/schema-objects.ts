import { DatabaseSync } from 'node:sqlite';
import { NOTHING_FOLLOWS, SCHEMA } from './schema.ts';

interface AlteredObject {
  /** Its kind and name. */
  readonly name: string;
  readonly isMissing: boolean;
}

/** By kind and name, with what made each, whatever its white space. */
type SchemaObjects = ReadonlyMap<string, string>;

/**
 * Tables, indexes, triggers and the view of a ledger's file that are not as `SCHEMA` makes them, or are of somebody else:
 * whoever can write to the file could have what is appended changed by it. Other tables, as ANALYZE makes one, are not looked at.
 * A file that has ended, and no other, refuses every event (`NOTHING_FOLLOWS`).
 */
export function alteredObjects(database: DatabaseSync): AlteredObject[] {
  const found = objectsOf(database);
  const { open, ended } = rightObjects();
  const [ofOpen, ofEnded] = [differences(found, open), differences(found, ended)];
  // Tables that are somebody else's are not asked what they have.
  if (Math.min(ofOpen.length, ofEnded.length) > 0) return ofOpen.length <= ofEnded.length ? ofOpen : ofEnded;
  return hasEnded(database) ? ofEnded : ofOpen;
}

function differences(found: SchemaObjects, right: SchemaObjects): AlteredObject[] {
  const names = [...new Set([...right.keys(), ...found.keys()])];
  return names
    .filter((name) => found.get(name) !== right.get(name))
    .map((name) => ({ name, isMissing: !found.has(name) }));
}

const hasEnded = (database: DatabaseSync): boolean =>
  database.prepare('SELECT type FROM event ORDER BY position DESC LIMIT 1').get()?.type === 'LedgerMoved';

function rightObjects(): { readonly open: SchemaObjects; readonly ended: SchemaObjects } {
  const empty = new DatabaseSync(':memory:');
  try {
    empty.exec(SCHEMA);
    const open = objectsOf(empty);
    empty.exec(NOTHING_FOLLOWS);
    return { open, ended: objectsOf(empty) };
  } finally {
    empty.close();
  }
}

const OBJECTS = `SELECT type || ' ' || name AS name, sql FROM sqlite_schema
  WHERE type = 'trigger' OR lower(tbl_name) IN ('event', 'stream', 'ledger') ORDER BY 1`;

const objectsOf = (database: DatabaseSync): SchemaObjects =>
  new Map(
    database
      .prepare(OBJECTS)
      .all()
      .map(({ name, sql }) => [String(name), String(sql).replaceAll(/\s+/g, ' ')]),
  );
