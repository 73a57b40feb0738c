import assert from 'node:assert/strict';
import type { Logger } from 'pino';
import { decodeRecorded, type EventMetadata } from '../../contracts/event-codec.ts';
import type { RecordedEvent } from '../../contracts/event-log.ts';
import { type FeedMessage, feedMessage } from '../../contracts/feed-message.ts';
import { accountOfStream } from '../../contracts/ids.ts';
import type { LedgerIdentity } from '../../contracts/ledger-identity.ts';
import { UnreadableEventError } from '../../contracts/unreadable-event-error.ts';
import { BackOff } from '../back-off.ts';
import { pauseMsMaxAfter } from '../feed/kafka-fault.ts';
import { FEED_LIMITS } from '../feed/limits.ts';
import { PublishError, type Publisher, type TopicState } from './publisher.ts';
import type { RelayClaim } from './relay-claim.ts';
import type { RelayMetrics } from './relay-metrics.ts';

interface PublicationOptions {
  readonly publisher: Publisher;
  readonly claim: RelayClaim;
  /** The CloudEvents source. */
  readonly source: string;
  /** Whose events they are, once the topic has proved to be that ledger's. */
  readonly ledgerOf: (state: TopicState) => Promise<LedgerIdentity>;
  readonly metrics: RelayMetrics;
  readonly logger: Logger;
  /** How long Kafka may be away. */
  readonly awayMsMax: number;
  readonly clock: () => number;
  /** Ends waiting for Kafka. */
  readonly signal: AbortSignal;
}

export interface PreparedBatch {
  readonly batch: readonly RecordedEvent[];
  readonly messages: readonly FeedMessage[];
  readonly fault: UnpublishableEventError | null;
}

const nameOf = ({ stream, revision, position, type }: RecordedEvent): string =>
  `${stream} revision ${revision} (${type}, position ${position})`;

/** Kafka was away for too long: another relay may reach it. */
export class KafkaAwayError extends Error {
  override readonly name = 'KafkaAwayError';
}

/** An event that cannot be published: the relay stops at it, for what is skipped is missing for ever. */
export class UnpublishableEventError extends Error {
  override readonly name = 'UnpublishableEventError';

  constructor(event: RecordedEvent, cause: Error) {
    super(`${nameOf(event)} cannot be published, so nothing behind it is: ${cause.message}`, { cause });
  }
}

/**
 * Publishes batches one after the other, each until it is acknowledged. Where Kafka is away for longer than it may be,
 * `connect` and `publish` throw KafkaAwayError.
 */
export class EventPublication {
  readonly #options: PublicationOptions;
  readonly #backOff = new BackOff(FEED_LIMITS.backOff);
  /** Resolves when the relay is told to stop: a connection is not waited for then, as a send is. */
  readonly #stopped: Promise<null>;
  #isConnected = false;
  #ledger: LedgerIdentity | null = null;
  /** When the first of the tries since the last success has failed; null where the last one did not. */
  #awaySinceMs: number | null = null;
  #hasPublished = false;

  constructor(options: PublicationOptions) {
    this.#options = options;
    const { signal } = options;
    this.#stopped = new Promise((resolve) => {
      if (signal.aborted) resolve(null);
      signal.addEventListener('abort', () => resolve(null), { once: true });
    });
  }

  /** Whose events are published; null before the first connection. */
  get ledger(): LedgerIdentity | null {
    return this.#ledger;
  }

  /** Null when told to stop before Kafka answered. @throws PublishError `mismatch`, what `ledgerOf` throws */
  async connect(): Promise<TopicState | null> {
    const state = await this.#connect();
    if (state !== null) this.#isBack();
    return state;
  }

  async #connect(): Promise<TopicState | null> {
    const { publisher, signal, metrics, ledgerOf } = this.#options;
    while (!signal.aborted) {
      try {
        const state = await Promise.race([publisher.connect(signal), this.#stopped]);
        if (state === null) return null;
        this.#ledger = await ledgerOf(state);
        this.#isConnected = true;
        metrics.isKafkaUp = true;
        return state;
      } catch (error) {
        if (signal.aborted) return null;
        await this.#isAway(error);
      }
    }
    return null;
  }

  /** The messages of a batch; of one with an event that cannot be published those before it, and the fault. */
  prepare(batch: readonly RecordedEvent[]): PreparedBatch {
    const messages: FeedMessage[] = [];
    let fault: UnpublishableEventError | null = null;
    for (const event of batch) {
      const message = this.#messageOf(event);
      if (message instanceof UnpublishableEventError) {
        fault = message;
        break;
      }
      messages.push(message);
    }
    return { batch, messages, fault };
  }

  /**
   * Resolves with true when the whole batch is acknowledged, with false when told to stop before. Never sends under a
   * claim that is over. @throws UnpublishableEventError when all that stands before the event is acknowledged,
   * PublishError `mismatch`, and what the claim throws
   */
  async publish({ batch, messages, fault }: PreparedBatch): Promise<boolean> {
    const isDone = messages.length === 0 || (await this.#send(messages, batch));
    if (isDone && fault !== null) throw fault;
    return isDone;
  }

  /** `events` are what the messages were made of. */
  async #send(messages: readonly FeedMessage[], events: readonly RecordedEvent[]): Promise<boolean> {
    const { publisher, claim, signal, metrics } = this.#options;
    while (!signal.aborted) {
      if (!this.#isConnected && !(await this.#reconnect())) return false;
      await claim.ensure();
      try {
        await publisher.publish(messages);
        this.#hasPublished = true;
        metrics.isKafkaUp = true;
        this.#isBack();
        metrics.published(messages.length);
        return true;
      } catch (error) {
        if (error instanceof PublishError && error.kind === 'too_large')
          return await this.#sendHalves(messages, events, error);
        await this.#isAway(error);
      }
    }
    return false;
  }

  #messageOf(event: RecordedEvent): FeedMessage | UnpublishableEventError {
    try {
      const metadata = this.#read(event);
      assert(this.#ledger !== null, 'whose the topic is, is known before anything is published');
      const { source, claim } = this.#options;
      return feedMessage(event, { source, relayEpoch: claim.epoch, ledger: this.#ledger }, metadata);
    } catch (cause) {
      return new UnpublishableEventError(event, cause instanceof Error ? cause : new Error(String(cause)));
    }
  }

  /**
   * What this program cannot read it cannot vouch for, although it sends the same bytes. Of an account it goes out all the
   * same, told: a gap would stop readers of all accounts. @throws UnreadableEventError for any other
   */
  #read(event: RecordedEvent): EventMetadata | undefined {
    try {
      return decodeRecorded(event).metadata;
    } catch (error) {
      if (!isOfAccountUnread(error, event)) throw error;
      this.#options.metrics.publishedUnread();
      this.#options.logger.error({ reason: error.message }, 'an event that cannot be read is published as it is');
      return undefined;
    }
  }

  /**
   * A broker counts what a batch has for one partition: half of it may do. A single message that will not is at fault; of an
   * event that nobody can read its place is enough.
   */
  async #sendHalves(
    messages: readonly FeedMessage[],
    events: readonly RecordedEvent[],
    error: PublishError,
  ): Promise<boolean> {
    const [event, message] = [events[0], messages[0]];
    if (messages.length === 1 && event !== undefined && message !== undefined) {
      if (message.value === '' || !isUnread(event)) throw new UnpublishableEventError(event, error);
      this.#options.logger.error({ reason: error.message }, `${nameOf(event)} is published without its content`);
      return await this.#send([withoutContent(message)], events);
    }
    const middle = Math.ceil(messages.length / 2);
    if (!(await this.#send(messages.slice(0, middle), events.slice(0, middle)))) return false;
    return await this.#send(messages.slice(middle), events.slice(middle));
  }

  async #reconnect(): Promise<boolean> {
    // After a send that has failed only the next one tells that Kafka is back.
    const state = await this.#connect();
    if (state === null) return false;
    if (state.isEmpty && this.#hasPublished)
      throw new PublishError(
        'mismatch',
        'the topic was made anew while the relay ran: what it had is gone; started again, the relay fills it from the beginning',
      );
    return true;
  }

  async #isAway(error: unknown): Promise<void> {
    if (!(error instanceof PublishError) || error.kind !== 'away') throw error;
    const { logger, metrics, signal, awayMsMax } = this.#options;
    this.#isConnected = false;
    metrics.isKafkaUp = false;
    logger.warn({ tries: this.#backOff.tries + 1, reason: error.message }, 'Kafka does not answer; trying again');
    this.#awaySinceMs ??= this.#options.clock();
    const leftMs = awayMsMax - this.#awayMs();
    if (leftMs <= 0) throw new KafkaAwayError(error.message, { cause: error });
    await this.#backOff.wait(signal, Math.min(leftMs, pauseMsMaxAfter(error)));
  }

  #awayMs(): number {
    return this.#awaySinceMs === null ? 0 : this.#options.clock() - this.#awaySinceMs;
  }

  #isBack(): void {
    if (this.#awaySinceMs !== null) this.#options.logger.info({ awayMs: this.#awayMs() }, 'Kafka answers again');
    this.#awaySinceMs = null;
    this.#backOff.reset();
  }
}

const isOfAccountUnread = (error: unknown, { stream }: RecordedEvent): error is UnreadableEventError =>
  error instanceof UnreadableEventError && accountOfStream(stream) !== null;

/** An account's event that this program cannot read; ours are never too large for a topic. */
function isUnread(event: RecordedEvent): boolean {
  try {
    decodeRecorded(event);
    return false;
  } catch (error) {
    return isOfAccountUnread(error, event);
  }
}

const withoutContent = (message: FeedMessage): FeedMessage => ({
  ...message,
  value: '',
  headers: { ...message.headers, ce_eventmetadata: '' },
});
