import {
  type AppendResult,
  type EventLog,
  EventLogError,
  HiddenStreamError,
  type ProposedEvent,
  type ReadAllOptions,
  type ReadStreamOptions,
  type RecordedEvent,
  type SubscribeAllOptions,
  type Subscription,
} from '../../../contracts/event-log.ts';
import {
  NO_STREAM,
  type Position,
  position,
  type Revision,
  revision,
  type StreamName,
} from '../../../contracts/ids.ts';

/**
 * What is to go wrong with one append, before or after it takes place:
 *
 *   refuse    nothing is written, and the caller is told so (`unavailable`)
 *   lose      it is written, and the acknowledgement is lost (`ambiguous`)
 *   drop      it is not written, and the caller cannot know (`ambiguous`)
 *   reject    nothing is written, and trying again is of no use (`invalid`)
 *   precede   somebody else appends to the stream first
 *   stall     nothing happens until `until` resolves
 */
export type AppendFault =
  | { readonly type: 'none' | 'refuse' | 'lose' | 'drop' | 'reject' }
  | { readonly type: 'precede'; readonly events: readonly ProposedEvent[] }
  | { readonly type: 'stall'; readonly until: Promise<void> };

/** Asked before each append, which it may let go wrong. */
type AppendFaults = (stream: StreamName, events: readonly ProposedEvent[]) => AppendFault;

/**
 * An event log in memory that keeps the append table of the port, word for word, and hands events over in the order of
 * the log, each call of `onEvents` after the one before has ended.
 */
export class MemoryEventLog implements EventLog {
  readonly events: RecordedEvent[] = [];
  /** Streams of which no event is shown to who reads them. */
  readonly hidden = new Set<StreamName>();
  /** Appends that were asked for, whatever became of them. */
  appends = 0;
  /** Appends under way now, and the most there ever were. */
  underWay = 0;
  underWayMax = 0;
  faults: AppendFaults = () => ({ type: 'none' });
  readonly #streams = new Map<StreamName, RecordedEvent[]>();
  readonly #subscribers = new Set<MemorySubscription>();

  async append(stream: StreamName, expected: Revision, events: readonly ProposedEvent[]): Promise<AppendResult> {
    this.appends++;
    this.underWay++;
    this.underWayMax = Math.max(this.underWayMax, this.underWay);
    try {
      return await this.#appendWithFault(stream, expected, events);
    } finally {
      this.underWay--;
    }
  }

  async #appendWithFault(stream: StreamName, expected: Revision, events: readonly ProposedEvent[]) {
    if (events.length === 0) throw new EventLogError('invalid', 'an append has at least one event');
    const fault = this.faults(stream, events);
    // A log is never as quick as a variable: whoever relies on that must not pass.
    await new Promise((resolve) => setImmediate(resolve));
    if (fault.type === 'stall') await fault.until;
    if (fault.type === 'refuse') throw new EventLogError('unavailable', 'the log is away');
    if (fault.type === 'reject') throw new EventLogError('invalid', 'over the limits');
    if (fault.type === 'drop') throw new EventLogError('ambiguous', 'the connection broke');
    if (fault.type === 'precede') this.write(stream, fault.events);
    const result = this.#decide(stream, expected, events);
    if (fault.type === 'lose') throw new EventLogError('ambiguous', 'the acknowledgement was lost');
    return result;
  }

  /** Appends as another writer would, at whatever the stream's revision is. */
  write(stream: StreamName, events: readonly ProposedEvent[]): void {
    const written = this.#streamOf(stream);
    for (const { id, type, data, metadata } of events) {
      const recorded = {
        id,
        type,
        data,
        metadata,
        stream,
        revision: revision(written.length),
        // Positions are ordered and not contiguous.
        position: position(this.events.length * 10 + 3),
      };
      written.push(recorded);
      this.events.push(recorded);
    }
    for (const subscriber of this.#subscribers) subscriber.wake();
  }

  /** Is put back to a state of before its last events, under whoever reads it. */
  lose(events: number): void {
    for (const { stream } of this.events.splice(-events)) this.#streamOf(stream).pop();
  }

  async *readStream(stream: StreamName, { direction = 'forwards', from, limit }: ReadStreamOptions = {}) {
    if (this.hidden.has(stream)) throw new HiddenStreamError(`${stream} is hidden`);
    const written = this.#streamOf(stream);
    const selected =
      direction === 'forwards'
        ? written.slice(from ?? 0)
        : written.slice(0, from === undefined ? undefined : from + 1).reverse();
    for (const event of selected.slice(0, limit)) {
      await Promise.resolve();
      yield event;
    }
  }

  async *readAll({ after = null, limit, category }: ReadAllOptions = {}) {
    const selected = this.events.filter(
      ({ position, stream }) =>
        (after === null || position > after) && (category === undefined || stream.startsWith(`${category}-`)),
    );
    for (const event of selected.slice(0, limit)) {
      await Promise.resolve();
      yield event;
    }
  }

  subscribeAll(options: SubscribeAllOptions): Subscription {
    const subscription = new MemorySubscription(this.events, options, () => this.#subscribers.delete(subscription));
    this.#subscribers.add(subscription);
    subscription.wake();
    return subscription;
  }

  async headPosition(): Promise<Position | null> {
    return this.events.at(-1)?.position ?? null;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#subscribers].map((subscriber) => subscriber.close()));
  }

  #streamOf(stream: StreamName): RecordedEvent[] {
    const written = this.#streams.get(stream) ?? [];
    this.#streams.set(stream, written);
    return written;
  }

  /** The table of contracts/event-log.ts. */
  #decide(stream: StreamName, expected: Revision, events: readonly ProposedEvent[]): AppendResult {
    const written = this.#streamOf(stream);
    const current = written.at(-1)?.revision ?? NO_STREAM;
    const conflict: AppendResult = { type: 'conflict', actualRevision: current };
    if (expected > current) return conflict;
    if (expected === current) {
      this.write(stream, events);
      return appended(written.at(-1));
    }
    const there = written.slice(expected + 1, expected + 1 + events.length);
    const isRetry = there.length === events.length && there.every((event, index) => event.id === events[index]?.id);
    return isRetry ? appended(there.at(-1)) : conflict;
  }
}

function appended(last: RecordedEvent | undefined): AppendResult {
  if (last === undefined) throw new Error('nothing was appended');
  return { type: 'appended', lastRevision: last.revision, position: last.position };
}

const BATCH_MAX = 7;

class MemorySubscription implements Subscription {
  readonly #events: readonly RecordedEvent[];
  readonly #options: SubscribeAllOptions;
  readonly #onEnd: () => void;
  #next: number;
  #pumping: Promise<void> | null = null;
  #closed = false;

  constructor(events: readonly RecordedEvent[], options: SubscribeAllOptions, onEnd: () => void) {
    this.#events = events;
    this.#options = options;
    this.#onEnd = onEnd;
    const { after } = options;
    this.#next = after === null ? 0 : events.filter((event) => event.position <= after).length;
  }

  wake(): void {
    if (this.#closed || this.#pumping !== null) return;
    this.#pumping = this.#pump().finally(() => {
      this.#pumping = null;
      if (this.#next < this.#events.length) this.wake();
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#onEnd();
    await this.#pumping;
  }

  async #pump(): Promise<void> {
    try {
      do {
        await new Promise((resolve) => setImmediate(resolve));
        const batch = this.#events.slice(this.#next, this.#next + BATCH_MAX);
        if (this.#closed) return;
        if (batch.length > 0) await this.#options.onEvents(batch);
        this.#next += batch.length;
      } while (this.#next < this.#events.length);
      if (!this.#closed) this.#options.onCaughtUp?.();
    } catch (error) {
      this.#closed = true;
      this.#onEnd();
      this.#options.onStopped?.(error instanceof Error ? error : new Error(String(error)));
    }
  }
}
