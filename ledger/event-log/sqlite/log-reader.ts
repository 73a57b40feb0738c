import {
  EventLogError,
  type LeafPage,
  type ReadAllOptions,
  type ReadStreamOptions,
  type RecordedEvent,
} from '../../../contracts/event-log.ts';
import { type Position, position, type StreamName } from '../../../contracts/ids.ts';
import { eventOf } from './event-of-row.ts';
import { SQLITE_LIMITS } from './limits.ts';
import type { LogThread } from './log-thread.ts';
import type { LeavesQuery, PageQuery, ReadAnswer, ReadMessage } from './messages.ts';
import { FileNotInPlaceError } from './while-in-place.ts';

export type ReaderThread = LogThread<ReadMessage, ReadAnswer>;
/** Who answers: a thread, or this one for who does nothing else meanwhile. */
export type PageSource = Pick<ReaderThread, 'listen' | 'send' | 'close'>;

interface EventPage {
  readonly events: readonly RecordedEvent[];
  /** Nothing more was in the log in this direction when the page was read. */
  readonly isEnd: boolean;
}

interface WaitingRead {
  readonly resolve: (answer: ReadAnswer) => void;
  readonly reject: (error: EventLogError) => void;
}

/** The asking end of the reader. */
export class LogReader {
  readonly #thread: PageSource;
  readonly #waiting = new Map<number, WaitingRead>();
  #sequence = 0;
  #end: EventLogError | null = null;

  constructor(thread: PageSource) {
    this.#thread = thread;
    thread.listen(
      (answer) => this.#take(answer),
      (cause) => this.#fail(cause),
    );
  }

  /** As the port's. */
  readStream(stream: StreamName, options: ReadStreamOptions = {}): AsyncIterable<RecordedEvent> {
    const { direction = 'forwards', limit = Number.MAX_SAFE_INTEGER } = options;
    const from = options.from ?? (direction === 'forwards' ? 0 : Number.MAX_SAFE_INTEGER);
    return this.read({ type: direction, stream, from, limit });
  }

  /** As the port's. */
  readAll(options: ReadAllOptions = {}): AsyncIterable<RecordedEvent> {
    const { after, limit = Number.MAX_SAFE_INTEGER, category, placesOnly = false } = options;
    const place = { after: after ?? 0, limit };
    if (category !== undefined) return this.read({ type: 'category', category, ...place });
    return this.read({ type: placesOnly ? 'places' : 'all', ...place });
  }

  /** Events in the query's order, at most its limit. @throws EventLogError `unavailable`, `closed`; `invalid` where the file is damaged */
  async *read(query: PageQuery): AsyncGenerator<RecordedEvent, void, undefined> {
    for await (const { events } of this.pages(query)) for (const event of events) yield event;
  }

  /** The same page by page; one page is read ahead while the one before it is used. */
  async *pages(query: PageQuery): AsyncGenerator<EventPage, void, undefined> {
    let rest: PageQuery | null = query.limit > 0 ? query : null;
    let ahead = rest === null ? null : this.#page(rest);
    while (rest !== null && ahead !== null) {
      const page: EventPage = await ahead;
      rest = restOf(rest, page);
      ahead = rest === null ? null : this.#page(rest);
      // Whoever asks for the next page is told of its failure; whoever has left does not care.
      ahead?.catch(() => undefined);
      yield page;
    }
  }

  /** The position of the last event in the file. @throws EventLogError `unavailable`, `closed`; `invalid` where the file is damaged */
  async head(): Promise<Position | null> {
    const answer = await this.#ask({ type: 'head' });
    if (answer.type !== 'head') throw unreadable('it answered something else');
    return answer.position === null ? null : position(answer.position);
  }

  /** As the port's. */
  async leaves(query: LeavesQuery): Promise<LeafPage> {
    const answer = await this.#ask(query);
    if (answer.type !== 'leaves') throw unreadable('it answered something else');
    return answer;
  }

  /** Nothing further is read. */
  refuse(): void {
    this.#end ??= new EventLogError('closed', 'the event log is closed');
  }

  /** Pages that were asked for are answered first. */
  async close(): Promise<void> {
    this.refuse();
    await this.#thread.close();
  }

  async #page(query: PageQuery): Promise<EventPage> {
    const answer = await this.#ask({ ...query, limit: Math.min(query.limit, SQLITE_LIMITS.pageEvents) });
    if (answer.type !== 'page') throw unreadable('it answered something else');
    return { events: answer.rows.map(eventOf), isEnd: answer.isEnd };
  }

  async #ask(query: ReadMessage['query']): Promise<ReadAnswer> {
    if (this.#end !== null) throw this.#end;
    if (this.#waiting.size >= SQLITE_LIMITS.pagesWaitingMax)
      throw unreadable(`${SQLITE_LIMITS.pagesWaitingMax} reads wait already (pagesWaitingMax)`);
    const sequence = ++this.#sequence;
    const answer = await new Promise<ReadAnswer>((resolve, reject) => {
      this.#waiting.set(sequence, { resolve, reject });
      this.#thread.send({ sequence, query });
    });
    if (answer.type === 'not in place') throw new FileNotInPlaceError(answer);
    if (answer.type === 'fault')
      throw answer.isDamage ? new EventLogError('invalid', answer.message) : unreadable(answer.message);
    return answer;
  }

  #take(answer: ReadAnswer): void {
    const read = this.#waiting.get(answer.sequence);
    this.#waiting.delete(answer.sequence);
    read?.resolve(answer);
  }

  #fail(cause: Error): void {
    this.#end ??= unreadable('its reader has ended', { cause });
    for (const { reject } of this.#waiting.values()) reject(this.#end);
    this.#waiting.clear();
  }
}

function restOf(query: PageQuery, { events, isEnd }: EventPage): PageQuery | null {
  const last = events.at(-1);
  const limit = query.limit - events.length;
  if (isEnd || last === undefined || limit <= 0) return null;
  if ('after' in query) return { ...query, after: last.position, limit };
  return { ...query, from: last.revision + (query.type === 'forwards' ? 1 : -1), limit };
}

const unreadable = (problem: string, options?: ErrorOptions): EventLogError =>
  new EventLogError('unavailable', `the log cannot be read: ${problem}`, options);
