import {
  EventLogError,
  type ReadAllOptions,
  type ReadStreamOptions,
  type RecordedEvent,
} from '../../../contracts/event-log.ts';
import type { Position, StreamName } from '../../../contracts/ids.ts';
import type { Connection } from './connection.ts';
import type { EventStoreDbDeadlines } from './limits.ts';
import { type ReadEventsOptions, readEvents } from './read-events.ts';
import { allRequest, isOfCategory, streamRequest } from './read-request.ts';
import { within } from './within.ts';

/**
 * Reads that end. The leader is asked, so that what an append has answered is there; only subscriptions follow the node
 * preference of the connection string.
 */
export class LogReader {
  readonly #connection: Connection;
  readonly #deadlines: EventStoreDbDeadlines;
  readonly #options: ReadEventsOptions;
  readonly #categories: readonly string[];

  constructor(connection: Connection, categories: readonly string[], deadlines: EventStoreDbDeadlines) {
    this.#connection = connection;
    this.#categories = categories;
    this.#deadlines = deadlines;
    this.#options = {
      connectMs: deadlines.connectMs,
      stallMs: deadlines.stallMs,
      requiresLeader: true,
      wants: (stream) => isOfCategory(stream, categories),
    };
  }

  /** @throws EventLogError `invalid` when a revision is missing: what the server hides is gone from the ledger */
  async *readStream(
    stream: StreamName,
    { direction = 'forwards', from, limit = Number.MAX_SAFE_INTEGER }: ReadStreamOptions,
  ): AsyncGenerator<RecordedEvent, void, undefined> {
    if (limit <= 0) return;
    const step = direction === 'forwards' ? 1 : -1;
    let due = direction === 'forwards' ? (from ?? 0) : null;
    const request = streamRequest(stream, { direction, from: from ?? null, limit });
    let count = 0;
    for await (const event of readEvents(this.#connection, request, { ...this.#options, wants: () => true })) {
      if (due !== null && event.revision !== due) throw hidden(stream, due);
      due = event.revision + step;
      yield event;
      if (++count >= limit) return;
    }
    if (direction === 'backwards' && due !== null && due >= 0 && count < limit) throw hidden(stream, due);
  }

  /** As many are asked for as there are: what the filter lets through, the server may count otherwise. */
  async *readAll({
    after = null,
    limit = Number.MAX_SAFE_INTEGER,
  }: ReadAllOptions): AsyncGenerator<RecordedEvent, void, undefined> {
    if (limit <= 0) return;
    const request = allRequest('forwards', after, this.#categories);
    let count = 0;
    for await (const event of readEvents(this.#connection, request, this.#options)) {
      // A read begins at its position, where the port's begins after it.
      if (event.position <= (after ?? -1)) continue;
      yield event;
      if (++count >= limit) return;
    }
  }

  /** The ledger's events, the newest first; leaving the loop ends the read. */
  newestEvents(): AsyncIterable<RecordedEvent> {
    return readEvents(this.#connection, allRequest('backwards', null, this.#categories), this.#options);
  }

  /**
   * The position of the ledger's own last event, not of the log's: a subscription is never handed another's, and would
   * be waited for in vain. The server looks for it backwards from the end.
   */
  async head(): Promise<Position | null> {
    const { headMs } = this.#deadlines;
    const events = this.newestEvents()[Symbol.asyncIterator]();
    const first = await within(headMs, events.next());
    const ending = events.return?.(undefined);
    if (first === null) {
      ending?.catch(() => undefined);
      throw new EventLogError('unavailable', `the head of EventStoreDB was not found in ${headMs} ms (headMs)`);
    }
    await ending;
    return first.done ? null : first.value.position;
  }

  /** The text of a stream's metadata; null where it has none. */
  async streamMetadata(stream: StreamName): Promise<string | null> {
    const request = streamRequest(`$$${stream}` as StreamName, { direction: 'backwards', from: null, limit: 1 });
    for await (const { data } of readEvents(this.#connection, request, { ...this.#options, wants: () => true }))
      return data;
    return null;
  }
}

const hidden = (stream: StreamName, due: number): EventLogError =>
  new EventLogError('invalid', `${stream} has lost its revision ${due}: is $maxAge, $maxCount or $tb set on it?`);
