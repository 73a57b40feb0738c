import { DatabaseSync } from 'node:sqlite';
import { NOTHING_FOLLOWS, SCHEMA } from './schema.ts';

interface AlteredObject {
  /** Its kind and name. */
  readonly name: string;
  readonly isMissing: boolean;
}

/**
 * Tables, indexes, triggers and the view of a ledger's file that are not as `SCHEMA` makes them, or are of somebody else:
 * whoever can write to the file could have what is appended changed by it. Other tables, as ANALYZE makes one, are not looked at.
 */
export function alteredObjects(database: DatabaseSync): AlteredObject[] {
  const [found, right] = [objectsOf(database), rightObjects()];
  const [last] = [...rightObjects(NOTHING_FOLLOWS)].filter(([name]) => !right.has(name));
  // In a file that has ended, and in no other.
  if (last !== undefined && found.get(last[0]) === last[1]) found.delete(last[0]);
  const names = [...new Set([...right.keys(), ...found.keys()])];
  return names
    .filter((name) => found.get(name) !== right.get(name))
    .map((name) => ({ name, isMissing: !found.has(name) }));
}

const OBJECTS = `SELECT type || ' ' || name AS name, sql FROM sqlite_schema
  WHERE type = 'trigger' OR lower(tbl_name) IN ('event', 'stream', 'ledger') ORDER BY 1`;

function rightObjects(more = ''): ReadonlyMap<string, string> {
  const empty = new DatabaseSync(':memory:');
  try {
    empty.exec(SCHEMA);
    empty.exec(more);
    return objectsOf(empty);
  } finally {
    empty.close();
  }
}

/** With what made each, whatever its white space. */
const objectsOf = (database: DatabaseSync): Map<string, string> =>
  new Map(
    database
      .prepare(OBJECTS)
      .all()
      .map(({ name, sql }) => [String(name), String(sql).replaceAll(/\s+/g, ' ')]),
  );
