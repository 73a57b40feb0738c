import type { EventLog, Subscription } from '../../contracts/event-log.ts';
import type { FeedEvent } from '../../contracts/feed-message.ts';
import type { Position } from '../../contracts/ids.ts';
import type { KafkaConfiguration } from '../../contracts/kafka-configuration.ts';
import type { LedgerIdentity } from '../../contracts/ledger-identity.ts';
import { beginningLost, refusalOf } from '../../ledger/feed/topic-faults.ts';
import { NoTopicError, type TopicLook } from '../../ledger/feed/topic-look.ts';
import type { LedgerPlace } from '../../ledger/identity/assert-own-topic.ts';
import { ViewGapError } from '../view-gap-error.ts';
import { OwnMessages } from './own-messages.ts';
import { TopicCheckpoint } from './topic-checkpoint.ts';
import { TopicComparison } from './topic-comparison.ts';
import { SourceMissingError, type ViewSource, type ViewSourceOptions } from './view-source.ts';

/** Reads every partition of a topic, as ledger/feed does. */
export type OpenTopic = (options: TopicOptions) => Subscription;

export interface TopicOptions {
  /** Partition → offset of the first message; what is not named is read from its beginning. */
  readonly from: ReadonlyMap<number, bigint> | 'beginning';
  /** Each time that the topic comes into sight, before anything of it is handed over, awaited; and now and then while it is. */
  readonly onSeen: (look: TopicLook) => Promise<void>;
  /** One call at a time, awaited. */
  readonly onBatch: (partition: number, events: readonly FeedEvent[], nextOffset: bigint) => Promise<void>;
  /** All that was there at the start, or after a drop, has been handed over. */
  readonly onCaughtUp: () => void;
  readonly onDropped: (error: Error) => void;
  readonly onStopped: (error: Error) => void;
}

export interface TopicViewSourceOptions {
  readonly topic: string;
  readonly open: OpenTopic;
  /** Asked now and then whether the topic lags behind it. */
  readonly log: EventLog;
  readonly place: LedgerPlace;
  /** What becomes of a topic that can lose messages. */
  readonly doubtful: KafkaConfiguration['doubtfulTopic'];
  /** Each time that the topic is looked at, and not refused. */
  readonly onLook?: (look: TopicLook) => void;
  /** Resolves once the ledger is known to have everything that is known of it: nothing is read before. */
  readonly ledger: Promise<LedgerIdentity>;
}

/** The log's feed in Kafka; the checkpoint is each partition's. The log is only compared with: once in full. */
export class TopicViewSource implements ViewSource {
  readonly name: string;
  readonly isLedger = false;
  readonly #options: TopicViewSourceOptions;

  constructor(options: TopicViewSourceOptions) {
    this.#options = options;
    this.name = `kafka ${options.topic}`;
  }

  throughOf(checkpoint: string): Position | null {
    return TopicCheckpoint.parse(checkpoint).verified;
  }

  open(options: ViewSourceOptions): Subscription {
    return new TopicReading(this.#options, options);
  }
}

const NEEDS_ALL =
  'views need a topic from its beginning, with nothing deleted or compacted. Fill a new one (`gateway relay fill NEW`) and name it in ' +
  'kafka.topic, or read the views from the log (projections.source: log)';

/** The topic is not the one that the checkpoint was made of. */
class ForeignTopicError extends Error {}

class TopicReading implements Subscription {
  readonly #topic: TopicViewSourceOptions;
  readonly #options: ViewSourceOptions;
  readonly #comparison: TopicComparison;
  readonly #own: OwnMessages;
  readonly #closing = new AbortController();
  #checkpoint: TopicCheckpoint;
  /** Partitions whose last folded message has not yet come again, by which they are known. */
  readonly #unverified: Set<number>;
  #inner: Subscription;
  #restarting: Promise<void> | null = null;
  #isOver = false;

  constructor(topic: TopicViewSourceOptions, options: ViewSourceOptions) {
    this.#topic = topic;
    this.#options = options;
    this.#checkpoint = options.from === null ? new TopicCheckpoint() : TopicCheckpoint.parse(options.from);
    this.#unverified = new Set(this.#checkpoint.partitions.keys());
    this.#comparison = new TopicComparison({
      topic: topic.topic,
      log: topic.log,
      isFolded: options.isFolded,
      verified: this.#checkpoint.verified,
      highest: this.#checkpoint.highest,
      onLive: options.onCaughtUp,
      onBehind: options.onDropped,
      onFailed: (error) => this.#fail(error),
    });
    this.#own = new OwnMessages({ ...topic, signal: this.#closing.signal, onAway: options.onDropped });
    this.#inner = this.#open();
  }

  async close(): Promise<void> {
    this.#isOver = true;
    this.#closing.abort();
    await this.#comparison.close();
    await this.#restarting;
    await this.#inner.close();
  }

  #open(): Subscription {
    const marks = [...this.#checkpoint.partitions];
    // From the last message that was folded, which is known again by its position, not from the one after it: a topic
    // that was made anew has offsets, too.
    const offsets = new Map(marks.map(([partition, { next }]) => [partition, next - 1n]));
    return this.#topic.open({
      from: offsets.size === 0 ? 'beginning' : offsets,
      onSeen: (look) => this.#seen(look),
      onBatch: (partition, events, nextOffset) => this.#takeBatch(partition, events, nextOffset),
      onCaughtUp: () => this.#atEnd(),
      onDropped: (error) =>
        this.#comparison.stop(error.cause instanceof NoTopicError ? new SourceMissingError(error.message) : error),
      onStopped: (error) => this.#ended(error),
    });
  }

  /** @throws Error where the topic is none that views can be fed from; LedgerLostError */
  async #seen(look: TopicLook): Promise<void> {
    const { topic, doubtful, onLook } = this.#topic;
    const refusal = refusalOf(topic, look, doubtful);
    if (refusal !== null) throw new Error(refusal);
    // The message before the next is read again, by which a partition is known.
    const lost = beginningLost(look.partitions, (at) => (this.#checkpoint.partitions.get(at)?.next ?? 1n) - 1n);
    if (lost !== null) throw new Error(`the topic ${topic} lacks its beginning (${lost}): ${NEEDS_ALL}`);
    await this.#own.seen(look);
    onLook?.(look);
  }

  async #takeBatch(partition: number, events: readonly FeedEvent[], nextOffset: bigint): Promise<void> {
    const [first, last] = [events.at(0), events.at(-1)];
    if (first === undefined || last === undefined) return;
    const before = this.#checkpoint.partitions.get(partition);
    if (this.#unverified.has(partition) && first.position !== before?.last) throw new ForeignTopicError();
    this.#unverified.delete(partition);
    await this.#own.assertOwn(events);
    const { verified } = this.#comparison;
    const after = this.#checkpoint.with(verified, partition, { next: nextOffset, last: last.position });
    await this.#options
      .onBatch({ events, through: verified, checkpoint: () => after.toString() })
      .catch((error: unknown) => this.#explainMissing(partition, error));
    this.#checkpoint = after;
    this.#comparison.folded(events);
  }

  #explainMissing(partition: number, error: unknown): never {
    if (!(error instanceof ViewGapError)) throw error;
    throw new Error(
      `the topic ${this.#topic.topic} (partition ${partition}) lacks ${error.lacking} of ${error.stream}: ${NEEDS_ALL}`,
      { cause: error },
    );
  }

  #atEnd(): void {
    if (this.#unverified.size > 0) this.#restart();
    else this.#comparison.start();
  }

  #ended(error: Error): void {
    if (error instanceof ForeignTopicError) this.#restart();
    else this.#fail(error);
  }

  #fail(error: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#comparison.stop(null);
    this.#options.onStopped(error instanceof Error ? error : new Error(String(error)));
  }

  #restart(): void {
    this.#restarting ??= this.#startOver().catch((error: unknown) => this.#fail(error));
  }

  /** Once at most: what is read from the beginning is not compared with anything. */
  async #startOver(): Promise<void> {
    await this.#inner.close();
    if (this.#isOver) return;
    await this.#options.onForeign();
    this.#checkpoint = new TopicCheckpoint();
    this.#unverified.clear();
    this.#comparison.startOver();
    if (!this.#isOver) this.#inner = this.#open();
  }
}
