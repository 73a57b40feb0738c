import {
  type EventLog,
  EventLogError,
  type ReadAllOptions,
  type ReadStreamOptions,
  type SubscribeAllOptions,
  type Subscription,
} from '../../contracts/event-log.ts';
import type { Position, StreamName } from '../../contracts/ids.ts';
import { MemoryEventLog } from '../ledger/settlement/memory-event-log.ts';

/**
 * A log that goes away and comes back: meanwhile every call is answered with `unavailable`, and a subscription waits to
 * resume after the last event that it has handed over, as the port asks of it. Others may write to `inner` all the time.
 */
export class LogWithOutages implements EventLog {
  readonly inner: MemoryEventLog;
  /** The error that calls are answered with while it is away. */
  fault = new EventLogError('unavailable', 'the log is away');
  /** So many reads of a stream find nothing, as in a node that lags behind. */
  emptyReads = 0;
  /** How often a stream was asked for, answered or not. */
  streamReads = 0;
  readonly #subscriptions = new Set<ResumingSubscription>();
  #isAway = false;

  constructor(inner = new MemoryEventLog()) {
    this.inner = inner;
  }

  async goAway(): Promise<void> {
    this.#isAway = true;
    await Promise.all([...this.#subscriptions].map((subscription) => subscription.drop(this.fault)));
  }

  comeBack(): void {
    this.#isAway = false;
    for (const subscription of this.#subscriptions) subscription.resume();
  }

  async append(...all: Parameters<EventLog['append']>) {
    this.#reach();
    return this.inner.append(...all);
  }

  async *readStream(stream: StreamName, options?: ReadStreamOptions) {
    this.streamReads++;
    this.#reach();
    if (this.emptyReads-- > 0) return;
    yield* this.inner.readStream(stream, options);
  }

  async *readAll(options?: ReadAllOptions) {
    this.#reach();
    yield* this.inner.readAll(options);
  }

  subscribeAll(options: SubscribeAllOptions): Subscription {
    const subscription = new ResumingSubscription(this.inner, options, () => this.#subscriptions.delete(subscription));
    this.#subscriptions.add(subscription);
    if (this.#isAway) void subscription.drop(this.fault);
    else subscription.resume();
    return subscription;
  }

  async headPosition(): Promise<Position | null> {
    this.#reach();
    return this.inner.headPosition();
  }

  close(): Promise<void> {
    return this.inner.close();
  }

  #reach(): void {
    if (this.#isAway) throw this.fault;
  }
}

class ResumingSubscription implements Subscription {
  readonly #log: MemoryEventLog;
  readonly #options: SubscribeAllOptions;
  readonly #onClose: () => void;
  #after: Position | null;
  #inner: Subscription | null = null;

  constructor(log: MemoryEventLog, options: SubscribeAllOptions, onClose: () => void) {
    this.#log = log;
    this.#options = options;
    this.#onClose = onClose;
    this.#after = options.after;
  }

  resume(): void {
    if (this.#inner !== null) return;
    this.#inner = this.#log.subscribeAll({
      ...this.#options,
      after: this.#after,
      onEvents: async (events) => {
        await this.#options.onEvents(events);
        this.#after = events.at(-1)?.position ?? this.#after;
      },
    });
  }

  async drop(error: Error): Promise<void> {
    const inner = this.#inner;
    this.#inner = null;
    await inner?.close();
    this.#options.onDropped?.(error);
  }

  async close(): Promise<void> {
    this.#onClose();
    await this.#inner?.close();
  }
}
