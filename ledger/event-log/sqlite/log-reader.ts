import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { EventLogError, type RecordedEvent } from '../../../contracts/event-log.ts';
import { eventId, type Position, position, revision, type StreamName } from '../../../contracts/ids.ts';
import { SQLITE_LIMITS } from './limits.ts';
import { CLOSE, type EventRow, type ReadAnswer, type ReadMessage, type ReadQuery } from './messages.ts';

type Settle = {
  readonly resolve: (answer: ReadAnswer) => void;
  readonly reject: (error: Error) => void;
};

/** The main thread's end of the reader: one page at a time for each caller, who asks for the next when it has used one. */
export class LogReader {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Settle>();
  #sequence = 0;
  #isClosed = false;

  constructor(path: string) {
    this.#worker = new Worker(new URL('./reader-worker.ts', import.meta.url), {
      workerData: path,
    });
    this.#worker.on('message', (answer: ReadAnswer) => {
      const settle = this.#waiting.get(answer.sequence);
      this.#waiting.delete(answer.sequence);
      settle?.resolve(answer);
    });
    this.#worker.on('error', (error) => this.#fail(error));
    this.#worker.on('exit', () => this.#fail(new Error('the reader has ended')));
  }

  /** Events in the query's order, at most `limit` of them. @throws EventLogError */
  async *read(query: Exclude<ReadQuery, { type: 'head' }>): AsyncGenerator<RecordedEvent> {
    let left = query.limit;
    for (let page = query; left > 0; ) {
      const limit = Math.min(left, SQLITE_LIMITS.pageEvents);
      const events = await this.page({ ...page, limit });
      yield* events;
      const last = events.at(-1);
      if (last === undefined || events.length < limit) return;
      left -= events.length;
      page = after(page, last);
    }
  }

  async page(query: Exclude<ReadQuery, { type: 'head' }>): Promise<RecordedEvent[]> {
    const answer = await this.#ask(query);
    if (!('rows' in answer)) throw new EventLogError('unavailable', 'the reader answered something else');
    return answer.rows.map(eventOf);
  }

  async head(): Promise<Position | null> {
    const answer = await this.#ask({ type: 'head' });
    if (!('head' in answer)) throw new EventLogError('unavailable', 'the reader answered something else');
    return answer.head === null ? null : position(answer.head);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const ended = once(this.#worker, 'exit');
    this.#worker.postMessage(CLOSE);
    await ended;
  }

  async #ask(query: ReadQuery): Promise<ReadAnswer> {
    if (this.#isClosed) throw new EventLogError('closed', 'the event log is closed');
    const message: ReadMessage = { sequence: ++this.#sequence, query };
    const answer = await new Promise<ReadAnswer>((resolve, reject) => {
      this.#waiting.set(message.sequence, { resolve, reject });
      this.#worker.postMessage(message);
    });
    if ('fault' in answer) throw new EventLogError('unavailable', `the log cannot be read: ${answer.fault}`);
    return answer;
  }

  #fail(cause: Error): void {
    const kind = this.#isClosed ? 'closed' : 'unavailable';
    this.#isClosed = true;
    for (const { reject } of this.#waiting.values())
      reject(new EventLogError(kind, 'the log cannot be read', { cause }));
    this.#waiting.clear();
  }
}

type PageQuery = Exclude<ReadQuery, { type: 'head' }>;

function after(query: PageQuery, last: RecordedEvent): PageQuery {
  if (query.type === 'all') return { ...query, after: last.position };
  return {
    ...query,
    from: last.revision + (query.type === 'forwards' ? 1 : -1),
  };
}

const eventOf = ([at, stream, inStream, id, type, data, metadata]: EventRow): RecordedEvent => ({
  stream: stream as StreamName,
  revision: revision(inStream),
  position: position(at),
  id: eventId(`${id.slice(0, 8)}-${id.slice(8, 12)}-${id.slice(12, 16)}-${id.slice(16, 20)}-${id.slice(20)}`),
  type,
  data,
  metadata,
});
