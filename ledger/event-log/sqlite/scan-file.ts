import type { DatabaseSync } from 'node:sqlite';
import type { EventWithoutId, RecordedEvent } from '../../../contracts/event-log.ts';
import { type EventId, eventId, position, revision, type StreamName } from '../../../contracts/ids.ts';
import { SQLITE_LIMITS } from './limits.ts';
import { asLogError, prepareArrays } from './open-database.ts';
import { openOffline } from './open-offline.ts';

export interface ScanPart {
  readonly path: string;
  /**
   * Which part of the accounts' streams, and of how many; each part has all other streams, too, and the first what is of
   * no stream.
   */
  readonly part: number;
  readonly parts: number;
  /** The last position that is read. */
  readonly upTo: number;
  /** Whatever stands behind this one; left out, all. */
  readonly after?: number;
}

/** Of the other parts' accounts, too, what is of these types is told, in log order among what is read. */
interface OfOthers {
  readonly types: readonly string[];
  readonly onEvent: (event: EventWithoutId) => void;
}

/** How a row is read. */
interface Reading<T extends EventWithoutId> {
  /** SQL of its fourth column. */
  readonly id: string;
  readonly eventOf: (row: Row, names: ReadonlyMap<number, string>) => T;
}

type Row = [position: number, streamId: number, revision: number, id: string, type: string, data: string, meta: string];

/**
 * Reads a file of a ledger in log order, by a connection of its own that only reads: for whoever looks at all of it, in a
 * thread of its own, and hands nothing over. Whether the file is whole is the caller's to find out.
 *
 * @throws EventLogError `invalid` for what is no file of a ledger; `unavailable` when it cannot be read
 */
export const scanFile = (part: ScanPart): Generator<RecordedEvent> => scan(part, NOTHING_OF_OTHERS, WITH_IDS);

/** The same for a fold, which looks at no ids: none are made. @throws as `scanFile` */
export const scanWithoutIds = (part: ScanPart, ofOthers: OfOthers): Generator<EventWithoutId> =>
  scan(part, ofOthers, WITHOUT_IDS);

function* scan<T extends EventWithoutId>(
  { path, part, parts, upTo, after: from = 0 }: ScanPart,
  ofOthers: OfOthers,
  { id, eventOf }: Reading<T>,
): Generator<T> {
  const file = openOffline(path);
  const { database } = file;
  try {
    const names = asLogError(path, () => streamNames(database));
    const others = [...names].filter(([, name]) => !name.startsWith('account-')).map(([id]) => id);
    const types = ofOthers.types.map(() => '?').join();
    const rows = prepareArrays(
      database,
      `SELECT position, stream_id, revision, ${id}, type, data, metadata FROM event
        WHERE position > ? AND position <= ?
          AND (abs(stream_id) % ? = ? OR stream_id IN (${others.join()})${part === 0 ? ` OR ${OF_NO_STREAM}` : ''}
            OR type IN (${types}))
        ORDER BY position LIMIT ?`,
    );
    const known = new Set(others);
    const isOfPart = (id: number): boolean =>
      Math.abs(id) % parts === part || known.has(id) || (part === 0 && !names.has(id));
    const limit = SQLITE_LIMITS.pageEvents;
    for (let after = from; ; ) {
      const place = [after, upTo, parts, part, ...ofOthers.types, limit];
      const page = asLogError(path, () => rows.all(...place) as unknown as Row[]);
      for (const row of page) {
        const event = eventOf(row, names);
        if (isOfPart(row[1])) yield event;
        else ofOthers.onEvent(event);
      }
      after = page.at(-1)?.[0] ?? after;
      if (page.length < limit) return;
    }
  } finally {
    file.close();
  }
}

const NOTHING_OF_OTHERS: OfOthers = { types: [], onEvent: () => undefined };
const OF_NO_STREAM = 'stream_id NOT IN (SELECT id FROM stream)';

/** The position of a file's last event; 0 where there is none. @throws as `scanFile` */
export function lastPosition(path: string): number {
  const file = openOffline(path);
  const { database } = file;
  try {
    return asLogError(path, () => Number(database.prepare('SELECT max(position) AS last FROM event').get()?.last ?? 0));
  } finally {
    file.close();
  }
}

/** The last revisions of a file's streams, looked up one by one; null where there is no event. @throws as `scanFile` */
export function openStreamEnds(path: string): { endOf(stream: StreamName): number | null; close(): void } {
  const file = openOffline(path);
  const { database } = file;
  const end = asLogError(path, () =>
    database.prepare(
      'SELECT max(revision) AS last FROM event WHERE stream_id = (SELECT id FROM stream WHERE name = ?)',
    ),
  );
  return {
    endOf: (stream) => asLogError(path, () => (end.get(stream)?.last ?? null) as number | null),
    close: () => file.close(),
  };
}

/** Positions at which there is no event, with another behind them: some, as ranges. @throws as `scanFile` */
export function missingPositions(path: string, limit: number): string[] {
  const file = openOffline(path);
  const { database } = file;
  try {
    const found = database.prepare(`SELECT before + 1 AS first, position - 1 AS last FROM
      (SELECT position, lag(position, 1, 0) OVER (ORDER BY position) AS before FROM event)
      WHERE position > before + 1 LIMIT ?`);
    return asLogError(path, () => found.all(limit).map(({ first, last }) => `${first} to ${last}`));
  } finally {
    file.close();
  }
}

const streamNames = (database: DatabaseSync): ReadonlyMap<number, string> =>
  new Map(prepareArrays(database, 'SELECT id, name FROM stream').all() as unknown as [number, string][]);

const eventIdOf = (id: string): EventId =>
  eventId(`${id.slice(0, 8)}-${id.slice(8, 12)}-${id.slice(12, 16)}-${id.slice(16, 20)}-${id.slice(20)}`);

const withoutId = (
  [at, streamId, inStream, _id, type, data, metadata]: Row,
  names: ReadonlyMap<number, string>,
): EventWithoutId => ({
  type,
  data,
  metadata,
  // One without a name is of no stream, which its reader tells.
  stream: (names.get(streamId) ?? `(no stream ${streamId})`) as StreamName,
  revision: revision(inStream),
  position: position(at),
});

const WITHOUT_IDS: Reading<EventWithoutId> = { id: "''", eventOf: withoutId };
const WITH_IDS: Reading<RecordedEvent> = {
  id: 'lower(hex(id))',
  eventOf: (row, names) => ({ id: eventIdOf(row[3]), ...withoutId(row, names) }),
};
