import {
  EventLogError,
  type HiddenStream,
  HiddenStreamError,
  type ReadAllOptions,
  type ReadStreamOptions,
  type RecordedEvent,
} from '../../../contracts/event-log.ts';
import type { Position, StreamName } from '../../../contracts/ids.ts';
import { within } from '../../within.ts';
import type { Connection } from './connection.ts';
import type { WireEvent } from './decode-read-response.ts';
import { isStreamDeleted, readError } from './fault.ts';
import type { EventStoreDbDeadlines } from './limits.ts';
import type { OwnStreams } from './own-streams.ts';
import { ReadCall } from './read-call.ts';
import { allRequest, hidingSoFarRequest, streamRequest } from './read-request.ts';
import { ledgersStream, recordedEventOf } from './recorded-event.ts';
import type { ReadRequest } from './streams-wire.ts';
import { METADATA_TYPE, metadataStream, saidBeside, TOMBSTONE_TYPE, whyHidden, whyTombstoned } from './why-hidden.ts';

/** Reads that end, from the leader: what an append has answered is there. Only subscriptions follow the preference. */
export class LogReader {
  readonly #connection: Connection;
  readonly #deadlines: EventStoreDbDeadlines;
  readonly #options: ReadEventsOptions;
  readonly #streams: OwnStreams;

  constructor(connection: Connection, streams: OwnStreams, deadlines: EventStoreDbDeadlines) {
    this.#connection = connection;
    this.#streams = streams;
    this.#deadlines = deadlines;
    this.#options = {
      connectMs: deadlines.connectMs,
      stallMs: deadlines.stallMs,
      requiresLeader: true,
      nameOf: (event) => ledgersStream(event, streams),
    };
  }

  /** @throws EventLogError `invalid` when a revision is missing or hidden: what the server hides is gone from the ledger */
  async *readStream(
    stream: StreamName,
    { direction = 'forwards', from, limit = Number.MAX_SAFE_INTEGER }: ReadStreamOptions,
  ): AsyncGenerator<RecordedEvent, void, undefined> {
    if (limit <= 0) return;
    const step = direction === 'forwards' ? 1 : -1;
    let due = direction === 'forwards' ? (from ?? 0) : null;
    const request = streamRequest(this.#streams.onServer(stream), { direction, from: from ?? null, limit });
    let count = 0;
    try {
      for await (const event of readEvents(this.#connection, request, {
        ...this.#options,
        nameOf: () => stream,
      })) {
        if (due !== null && event.revision !== due) throw await this.#lost(stream, due);
        due = event.revision + step;
        yield event;
        if (++count >= limit) return;
      }
    } catch (error) {
      throw isStreamDeleted(error)
        ? new HiddenStreamError(stream, whyTombstoned(this.#streams.onServer(stream)), { cause: error })
        : error;
    }
    if (direction === 'backwards' && due !== null && due >= 0) throw await this.#lost(stream, due);
    // One that was deleted looks as though it had never been, one that was cut as though it ended sooner.
    const why = count > 0 ? null : await this.#whyHidden(stream);
    if (why !== null) throw new HiddenStreamError(stream, why);
  }

  /** As many are asked for as there are: what the filter lets through, the server may count otherwise. */
  async *readAll({
    after = null,
    limit = Number.MAX_SAFE_INTEGER,
    category,
  }: ReadAllOptions): AsyncGenerator<RecordedEvent, void, undefined> {
    if (limit <= 0) return;
    const filters = category === undefined ? this.#streams.filters : this.#streams.filterOf(category);
    const request = allRequest('forwards', after, filters);
    let count = 0;
    for await (const event of readEvents(this.#connection, request, this.#options)) {
      // A read begins at its position, where the port's begins after it.
      if (event.position <= (after ?? -1)) continue;
      if (category !== undefined && !event.stream.startsWith(`${category}-`)) continue;
      yield event;
      if (++count >= limit) return;
    }
  }

  /** The ledger's events, the newest first; leaving the loop ends the read. */
  #newestEvents(): AsyncIterable<RecordedEvent> {
    return readEvents(this.#connection, allRequest('backwards', null, this.#streams.filters), this.#options);
  }

  /** Of the ledger's own last event, looked for from the end: another's is never handed over, nor waited for. */
  async head(): Promise<Position | null> {
    const { headMs } = this.#deadlines;
    const events = this.#newestEvents()[Symbol.asyncIterator]();
    const first = await within(headMs, events.next());
    const ending = events.return?.(undefined);
    if (first === null) {
      ending?.catch(() => undefined);
      throw new EventLogError('unavailable', `the head of EventStoreDB was not found in ${headMs} ms (headMs)`);
    }
    await ending;
    return first.done ? null : first.value.position;
  }

  async #whyHidden(stream: StreamName): Promise<string | null> {
    return whyHidden(this.#streams.onServer(stream), (await this.streamMetadata(stream)) ?? '{}');
  }

  async #lost(stream: StreamName, due: number): Promise<EventLogError> {
    return new HiddenStreamError(
      stream,
      (await this.#whyHidden(stream)) ?? `${this.#streams.onServer(stream)} has lost its revision ${due}`,
    );
  }

  /** Metadata and tombstones, which are events of $all, say where to look; what is told is what holds by now. */
  async hiddenStreams(): Promise<HiddenStream[]> {
    const suspected = new Set<StreamName>();
    // Nothing of them is an event of the ledger: each is looked at as it comes, and left out.
    const nameOf = (event: WireEvent): null => {
      const said = saidBeside(event, this.#streams);
      if (said?.isSuspect) suspected.add(said.stream);
      return null;
    };
    const request = hidingSoFarRequest([METADATA_TYPE, TOMBSTONE_TYPE]);
    for await (const _ of readEvents(this.#connection, request, { ...this.#options, nameOf }));
    const hidden: HiddenStream[] = [];
    for (const stream of suspected) {
      const why = await this.whyNotWhole(stream);
      if (why !== null) hidden.push({ stream, why });
    }
    return hidden;
  }

  /** Why events of a stream are hidden, or gone, as the server has it now; null where it begins with its first event. */
  async whyNotWhole(stream: StreamName): Promise<string | null> {
    const onServer = this.#streams.onServer(stream);
    try {
      const why = await this.#whyHidden(stream);
      if (why !== null || (await this.#isWhole(stream))) return why;
      return `${onServer} has lost its first events in EventStoreDB: only a backup has them`;
    } catch (error) {
      if (isStreamDeleted(error)) return whyTombstoned(onServer);
      throw error;
    }
  }

  async #isWhole(stream: StreamName): Promise<boolean> {
    const request = streamRequest(this.#streams.onServer(stream), { direction: 'forwards', from: null, limit: 1 });
    for await (const event of readEvents(this.#connection, request, { ...this.#options, nameOf: () => stream }))
      return event.revision === 0;
    return false;
  }

  /** Why a stream cannot be read from its first event to its last; null where it can. */
  async whyUnread(stream: StreamName): Promise<string | null> {
    const events = this.readStream(stream, {});
    try {
      while (!(await events.next()).done);
      return null;
    } catch (error) {
      if (error instanceof HiddenStreamError) return error.message;
      throw error;
    }
  }

  /** The text of a stream's metadata; null where it has none. */
  async streamMetadata(stream: StreamName): Promise<string | null> {
    const request = streamRequest(metadataStream(this.#streams.onServer(stream)), {
      direction: 'backwards',
      from: null,
      limit: 1,
    });
    for await (const { data } of readEvents(this.#connection, request, { ...this.#options, nameOf: () => stream }))
      return data;
    return null;
  }
}

interface ReadEventsOptions {
  readonly connectMs: number;
  readonly stallMs: number;
  readonly requiresLeader: boolean;
  /** The stream of an event that is wanted; null for the others, which are not decoded. */
  readonly nameOf: (event: WireEvent) => StreamName | null;
}

/** Leaving the loop cancels the call. @throws EventLogError `unavailable` (`stallMs`), `invalid` for no text */
async function* readEvents(
  connection: Connection,
  request: ReadRequest,
  { connectMs, stallMs, requiresLeader, nameOf }: ReadEventsOptions,
): AsyncGenerator<RecordedEvent, void, undefined> {
  const call = new ReadCall(connection, request, { connectMs, requiresLeader });
  try {
    for (;;) {
      const taken = await call.take(stallMs);
      if (taken === 'ended') return;
      if (taken === 'silence') {
        const fault = new EventLogError('unavailable', `a read of EventStoreDB stalled for ${stallMs} ms (stallMs)`);
        call.cancel(fault);
        throw fault;
      }
      for (const response of taken) {
        // That there is no such stream, and its bounds, come as responses, too: no events.
        const { event } = response;
        const name = event === null ? null : nameOf(event);
        if (event !== null && name !== null) yield recordedEventOf(event, name);
      }
    }
  } catch (error) {
    throw readError(error);
  } finally {
    call.cancel();
  }
}
