import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import type { LeafPage } from '../../../contracts/event-log.ts';
import { messageOf } from '../../../contracts/message-of.ts';
import { LeafHasher } from '../../seals/leaf.ts';
import { LeafPageOf } from '../../seals/leaf-page.ts';
import { describeDamage, isDamage } from './database-fault.ts';
import { eventOf } from './event-of-row.ts';
import { SQLITE_LIMITS } from './limits.ts';
import type { EventRow, LeavesQuery, PageQuery, ReadAnswer, ReadMessage } from './messages.ts';
import { prepareArrays } from './open-database.ts';

/** Where the stream has no row the event is of none, which its reader tells; left out, nobody would. */
const STREAM = "coalesce(stream.name, '(no stream ' || event.stream_id || ')')";
const PLACE = `event.position, ${STREAM}, event.revision, lower(hex(event.id)), event.type`;
const COLUMNS = `${PLACE}, event.data, event.metadata`;
const FROM = 'FROM event LEFT JOIN stream ON stream.id = event.stream_id';
const IN_STREAM = `${FROM} WHERE event.stream_id = (SELECT id FROM stream WHERE name = ?)`;

/** As a row of the columns that `eventOf` takes. */
export const LAST_EVENT = `SELECT ${COLUMNS} ${FROM} ORDER BY event.position DESC LIMIT 1`;

/** Answers one page at a time; nothing stays open between two pages, so that a reader who leaves leaves nothing. */
export function readPages(database: DatabaseSync): (message: ReadMessage) => ReadAnswer {
  const statements = {
    forwards: prepareArrays(
      database,
      `SELECT ${COLUMNS} ${IN_STREAM} AND event.revision >= ? ORDER BY event.revision LIMIT ?`,
    ),
    backwards: prepareArrays(
      database,
      `SELECT ${COLUMNS} ${IN_STREAM} AND event.revision <= ? ORDER BY event.revision DESC LIMIT ?`,
    ),
    all: prepareArrays(database, `SELECT ${COLUMNS} ${FROM} WHERE event.position > ? ORDER BY event.position LIMIT ?`),
    places: prepareArrays(
      database,
      `SELECT ${PLACE}, '', '' ${FROM} WHERE event.position > ? ORDER BY event.position LIMIT ?`,
    ),
    category: prepareArrays(
      database,
      `SELECT ${COLUMNS} ${FROM} WHERE event.stream_id IN (SELECT id FROM stream WHERE name > ? AND name < ?)
        AND event.position > ? ORDER BY event.position LIMIT ?`,
    ),
  };
  const hasher = new LeafHasher();
  const head = prepareArrays(database, 'SELECT max(position) FROM event');
  return ({ sequence, query }) => {
    try {
      if (query.type === 'leaves') return { type: 'leaves', sequence, ...readLeaves(statements.all, query, hasher) };
      if (query.type !== 'head') return { type: 'page', sequence, ...readPage(statements[query.type], query) };
      const [position] = head.get() as unknown as [number | null];
      return { type: 'head', sequence, position };
    } catch (fault) {
      if (!isDamage(fault) && !(fault instanceof WrongStreamError))
        return { type: 'fault', sequence, isDamage: false, message: messageOf(fault) };
      const message = describeDamage(database.location() ?? 'the log', fault);
      return { type: 'fault', sequence, isDamage: true, message };
    }
  };
}

class WrongStreamError extends Error {
  override readonly name = 'WrongStreamError';

  constructor(stream: string) {
    super(`its index of names has another stream's number for ${stream}`);
  }
}

/** Step by step, so that long events make a page of fewer of them and never one of a hundred megabytes. */
function readPage(statement: StatementSync, query: PageQuery): { rows: EventRow[]; isEnd: boolean } {
  const rows: EventRow[] = [];
  let chars = 0;
  while (rows.length < query.limit && chars < SQLITE_LIMITS.pageCharsMax) {
    const limit = Math.min(query.limit - rows.length, SQLITE_LIMITS.pageStepEvents);
    const step = statement.all(...placeOf(query, rows.at(-1)), limit) as unknown as EventRow[];
    for (const row of step) {
      // The index of names has led to another stream than its table has by that name.
      if ('stream' in query && row[1] !== query.stream) throw new WrongStreamError(query.stream);
      rows.push(row);
      chars += row[5].length + row[6].length;
    }
    if (step.length < limit) return { rows, isEnd: true };
  }
  return { rows, isEnd: false };
}

/** The same, and what was hashed of a step is let go of before the next. */
function readLeaves(statement: StatementSync, query: LeavesQuery, hasher: LeafHasher): LeafPage {
  const page = new LeafPageOf(query);
  let { after } = query;
  let chars = 0;
  for (let rest = query.limit; rest > 0 && chars < SQLITE_LIMITS.pageCharsMax; ) {
    const limit = Math.min(rest, SQLITE_LIMITS.pageStepEvents);
    const step = statement.all(after, limit) as unknown as EventRow[];
    for (const row of step) {
      if (!page.add(eventOf(row), hasher)) return page.page(false);
      chars += row[5].length + row[6].length;
    }
    if (step.length < limit) return page.page(true);
    after = step.at(-1)?.[0] ?? after;
    rest -= step.length;
  }
  return page.page(false);
}

function placeOf(query: PageQuery, last: EventRow | undefined): SQLInputValue[] {
  // What comes after the hyphen, in the order of names.
  if (query.type === 'category') return [`${query.category}-`, `${query.category}.`, last?.[0] ?? query.after];
  if ('after' in query) return [last?.[0] ?? query.after];
  const step = query.type === 'forwards' ? 1 : -1;
  return [query.stream, last === undefined ? query.from : last[2] + step];
}
