import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import { CLOSE, type EventRow, type ReadAnswer, type ReadMessage, type ReadQuery } from './messages.ts';
import { openReader } from './schema.ts';

/** Answers reads page by page from a connection of its own: a long replay never stands before an append. */
const port = parentPort;
if (port === null) throw new Error('the reader runs in a worker');

const COLUMNS =
  'event.position, stream.name, event.revision, lower(hex(event.id)), event.type, event.data, event.metadata';
const FROM = 'FROM event JOIN stream ON stream.id = event.stream_id';
const IN_STREAM = `${FROM} WHERE event.stream_id = (SELECT id FROM stream WHERE name = ?)`;

const database: DatabaseSync = openReader(String(workerData));
const forwards = prepare(`SELECT ${COLUMNS} ${IN_STREAM} AND event.revision >= ? ORDER BY event.revision LIMIT ?`);
const backwards = prepare(
  `SELECT ${COLUMNS} ${IN_STREAM} AND event.revision <= ? ORDER BY event.revision DESC LIMIT ?`,
);
const all = prepare(`SELECT ${COLUMNS} ${FROM} WHERE event.position > ? ORDER BY event.position LIMIT ?`);
const head = prepare('SELECT max(position) FROM event');

port.on('message', (message: ReadMessage | typeof CLOSE) => {
  if (message === CLOSE) {
    database.close();
    port.close();
    return;
  }
  port.postMessage(answer(message));
});

function answer({ sequence, query }: ReadMessage): ReadAnswer {
  try {
    if (query.type !== 'head') return { sequence, rows: rowsOf(query) };
    const [position] = head.get() as unknown as [number | null];
    return { sequence, head: position };
  } catch (error) {
    return {
      sequence,
      fault: error instanceof Error ? error.message : String(error),
    };
  }
}

function rowsOf(query: Exclude<ReadQuery, { type: 'head' }>): EventRow[] {
  if (query.type === 'all') return all.all(query.after, query.limit) as unknown as EventRow[];
  const statement = query.type === 'forwards' ? forwards : backwards;
  return statement.all(query.stream, query.from, query.limit) as unknown as EventRow[];
}

function prepare(sql: string): StatementSync {
  const statement = database.prepare(sql);
  statement.setReturnArrays(true);
  return statement;
}
