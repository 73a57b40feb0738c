import { decodeMetadata } from '../../contracts/event-codec.ts';
import { type EventLog, EventLogError, type RecordedEvent } from '../../contracts/event-log.ts';
import type { Position } from '../../contracts/ids.ts';
import { NowAndThen } from '../now-and-then.ts';
import { RELAY_LIMITS } from './limits.ts';
import { OldestUnpublished } from './oldest-unpublished.ts';
import type { RelayMetrics } from './relay-metrics.ts';

/**
 * How far the log is ahead of Kafka, told by an active relay and by one that stands by: the oldest event that waits, from
 * what the relay has in its hands or, where that is nothing, from a look into the log every few seconds.
 */
export class LagWatch {
  readonly #log: EventLog;
  readonly #metrics: RelayMetrics;
  readonly #oldest: OldestUnpublished;
  readonly #looks: NowAndThen<void>;
  #acknowledged: Position | null = null;
  #isWaiting = false;
  /** What the last look found to be the oldest. */
  #found: Position | null = null;
  #hasLooked = false;

  constructor(log: EventLog, metrics: RelayMetrics) {
    this.#log = log;
    this.#metrics = metrics;
    this.#oldest = new OldestUnpublished(log);
    this.#looks = new NowAndThen(RELAY_LIMITS.lagCheckMs, () => this.#look());
  }

  /** What the active relay has acknowledged, as far as its checkpoint tells. */
  acknowledgedElsewhere(position: Position | null): void {
    this.acknowledged(position);
    if (!this.#hasLooked) void this.#looks.now();
  }

  acknowledged(position: Position | null): void {
    this.#acknowledged = position;
    this.#metrics.acknowledged = position;
    if (!this.#isWaiting && this.#found !== null && this.#isAcknowledged(this.#found)) this.#show(null);
  }

  /** The oldest event that the relay has in its hands; null when it has none. */
  waiting(event: RecordedEvent | null): void {
    this.#isWaiting = event !== null;
    this.#metrics.oldestUnpublishedMs = event === null ? null : recordedMs(event);
  }

  close(): Promise<void> {
    return this.#looks.close();
  }

  async #look(): Promise<void> {
    this.#hasLooked = true;
    try {
      this.#metrics.head = await this.#log.headPosition();
      if (this.#isWaiting) return;
      const oldest = await this.#oldest.after(this.#acknowledged);
      // Meanwhile the relay may have been given something, which it knows better, or have published this.
      if (!this.#isWaiting) this.#show(oldest === null || this.#isAcknowledged(oldest.position) ? null : oldest);
    } catch (error) {
      // A log that is away tells nothing; what was known stands.
      if (!(error instanceof EventLogError)) throw error;
    }
  }

  #show(oldest: RecordedEvent | null): void {
    this.#found = oldest?.position ?? null;
    this.#metrics.oldestUnpublishedMs = oldest === null ? null : recordedMs(oldest);
  }

  #isAcknowledged(position: Position): boolean {
    return this.#acknowledged !== null && position <= this.#acknowledged;
  }
}

/** An event that does not say when it was written down counts from the first moment on, until it is published. */
function recordedMs(event: RecordedEvent): number {
  try {
    return Date.parse(decodeMetadata(event).recordedAt);
  } catch {
    return 0;
  }
}
