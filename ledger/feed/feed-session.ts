import type { Batch, Consumer, EachBatchPayload, TopicPartitionOffset } from 'kafkajs';
import { type FeedEvent, FeedMessageError, readFeedMessage } from '../../contracts/feed-message.ts';
import { closeWithin } from './close-within.ts';
import type { KafkaClient } from './kafka-client.ts';
import type { FetchedPartition } from './kafkajs-internals.ts';
import { FEED_LIMITS } from './limits.ts';
import type { FeedRecord } from './record-decoder.ts';
import { recordsOf, UnreadableMessageError } from './unreadable-message.ts';

interface SessionOptions {
  readonly client: KafkaClient;
  readonly topic: string;
  readonly groupId: string;
  /** The broker gives a member's partitions to others when it has been silent for so long. */
  readonly sessionMs: number;
  /** The group has given this member its partitions, now or again: whatever was known of their offsets is void. */
  readonly onJoined: (session: FeedSession) => void;
  /** One call at a time. What it throws ends the session, and is told apart from what happens to the connection. */
  readonly onBatch: (batch: FeedBatch) => Promise<void>;
  /** Called now and then while the session lasts, beside the batches. A HandlingError ends the reading, anything else nothing. */
  readonly onLook?: (() => Promise<void>) | undefined;
  readonly lookMs?: number | undefined;
  /** Without an answer of any kind for so long a start has failed. Not where others of the group may be waited for. */
  readonly joinSilenceMs?: number;
}

/** What one fetch brought of one partition, or a piece of it. */
export interface FeedBatch {
  readonly partition: number;
  readonly firstOffset: bigint;
  /** The offset behind the batch. */
  readonly nextOffset: bigint;
  readonly events: readonly FeedEvent[];
  /** Takes the partition elsewhere: the batch counts as not read. */
  readonly seek: (offset: bigint) => void;
  /** Commits the offset to the group. What it throws the handler lets pass: the session is lost with it, and comes again. */
  readonly commit: () => Promise<void>;
}

/** What ends the reading for good: the handler's own error, or a message that is none of the feed's. */
export class HandlingError extends Error {
  override readonly name = 'HandlingError';
  override readonly cause: Error;

  constructor(cause: unknown) {
    super('the handler of the feed has failed', { cause });
    this.cause = cause instanceof Error ? cause : new Error(String(cause));
  }
}

/** The broker is gone, or the group has given the partition to another: a loss of the session, and no fault of the handler. */
class CommitError extends Error {}

/**
 * One consumer of the driver, from its connection to its loss. The driver's own restarts are off: after them it reads
 * from the group's committed offsets, of which there may be none, and it does not tell. A broker that accepts requests
 * and answers none is told by the silence.
 */
export class FeedSession {
  readonly #consumer: Consumer;
  readonly #options: SessionOptions;
  readonly #lost = Promise.withResolvers<never>();
  readonly #heartbeatMs: number;
  #watch: NodeJS.Timeout | null = null;
  #looks: NodeJS.Timeout | null = null;
  #isLooking = false;
  #heardAtMs = Date.now();
  #hasJoined = false;
  #handling: Promise<void> | null = null;
  #isOver = false;

  constructor(options: SessionOptions) {
    this.#options = options;
    this.#heartbeatMs = options.sessionMs / FEED_LIMITS.heartbeatPart;
    this.#lost.promise.catch(() => undefined);
    this.#consumer = options.client.consumer({
      groupId: options.groupId,
      allowAutoTopicCreation: false,
      sessionTimeout: options.sessionMs,
      heartbeatInterval: this.#heartbeatMs,
      maxWaitTimeInMs: FEED_LIMITS.fetchWaitMs,
      maxBytesPerPartition: FEED_LIMITS.partitionBytes,
      maxBytes: FEED_LIMITS.fetchBytes,
      retry: { retries: 3, initialRetryTime: FEED_LIMITS.backOff.firstMs, restartOnFailure: async () => false },
    });
  }

  /** Resolves when the partitions are assigned; rejects at once when the signal is aborted before. */
  async start(signal: AbortSignal): Promise<void> {
    const abort = (): void => this.#lose(new Error('closed'));
    signal.addEventListener('abort', abort);
    if (signal.aborted) abort();
    this.#heardAtMs = Date.now();
    this.#watch = setInterval(() => this.#checkSilence(), FEED_LIMITS.silenceCheckMs);
    try {
      await Promise.race([this.#run(), this.#lost.promise]);
    } finally {
      signal.removeEventListener('abort', abort);
    }
    this.#hasJoined = true;
    this.#heardAtMs = Date.now();
    const { onLook, lookMs = FEED_LIMITS.topicLookMs } = this.#options;
    if (onLook !== undefined) this.#looks = setInterval(() => void this.#look(onLook), lookMs);
  }

  async #run(): Promise<void> {
    const { topic, onJoined } = this.#options;
    const consumer = this.#consumer;
    consumer.on(consumer.events.GROUP_JOIN, () => onJoined(this));
    consumer.on(consumer.events.CRASH, ({ payload }) => this.#lose(payload.error));
    consumer.on(consumer.events.REQUEST, ({ payload }) => {
      if (!this.#hasJoined || payload.apiName === 'Fetch') this.#heardAtMs = Date.now();
    });
    consumer.on(consumer.events.REQUEST_TIMEOUT, ({ payload: { broker, apiName } }) => {
      // The driver would ask that broker three times more, though the others may have another leader by then.
      if (this.#hasJoined) this.#lose(new Error(`${broker} has not answered a request (${apiName}) in time`));
    });
    await consumer.connect();
    await consumer.subscribe({ topics: [topic], fromBeginning: true });
    await consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      partitionsConsumedConcurrently: 1,
      eachBatch: (payload) => this.#take(payload),
    });
  }

  /** Rejects when the session is lost; HandlingError where the handler is the cause. Never resolves. */
  get lost(): Promise<never> {
    return this.#lost.promise;
  }

  seek(partition: number, offset: bigint): void {
    this.#consumer.seek({ topic: this.#options.topic, partition, offset: offset.toString() });
  }

  /** Resolves when no handler runs and none will be called. */
  async close(): Promise<void> {
    this.#isOver = true;
    if (this.#watch !== null) clearInterval(this.#watch);
    if (this.#looks !== null) clearInterval(this.#looks);
    await this.#handling;
    await closeWithin(FEED_LIMITS.closeMs, () => this.#consumer.disconnect());
    this.#options.client.cut();
  }

  #lose(error: unknown): void {
    this.#isOver = true;
    this.#lost.reject(error);
  }

  #checkSilence(): void {
    // While the handler works nothing is fetched.
    if (this.#handling !== null) this.#heardAtMs = Date.now();
    const silenceMs = Date.now() - this.#heardAtMs;
    const { joinSilenceMs = Number.POSITIVE_INFINITY } = this.#options;
    if (silenceMs > (this.#hasJoined ? FEED_LIMITS.silenceMs : joinSilenceMs))
      this.#lose(new Error(`Kafka has not answered for ${silenceMs} ms`));
  }

  async #look(onLook: () => Promise<void>): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      await onLook();
    } catch (error) {
      // Whether the broker is there, the fetches tell.
      if (error instanceof HandlingError) this.#lose(error);
    } finally {
      this.#isLooking = false;
    }
  }

  async #take(payload: EachBatchPayload): Promise<void> {
    if (this.#isOver || payload.isStale()) return;
    const refusal = new AbortController();
    const handling = this.#handle(payload, refusal.signal);
    this.#handling = handling;
    // A group gives the partitions of a member that is silent to others, however long a handler may take. One that it knows
    // no more takes no further piece: the next heartbeat of the driver's own meets the same error, and the driver joins again.
    const beat = setInterval(() => void payload.heartbeat().catch(() => refusal.abort()), this.#heartbeatMs);
    try {
      await handling;
    } finally {
      clearInterval(beat);
      this.#handling = null;
      this.#heardAtMs = Date.now();
    }
  }

  /** Does not reject: what the driver is told it would try again. */
  async #handle(payload: EachBatchPayload, refusal: AbortSignal): Promise<void> {
    try {
      for await (const run of runsOf(payload.batch)) {
        if (this.#isOver || refusal.aborted || payload.isStale()) return;
        const hasLeft = await this.#handOver(payload.batch, run);
        if (hasLeft) return;
        payload.resolveOffset(String(run.nextOffset - 1n));
      }
    } catch (error) {
      this.#lose(error instanceof CommitError ? error.cause : new HandlingError(error));
    }
  }

  /** Whether the partition was taken elsewhere. */
  async #handOver({ topic, partition }: Batch, { firstOffset, nextOffset, records }: HandedRun): Promise<boolean> {
    let hasLeft = false;
    await this.#options.onBatch({
      partition,
      firstOffset,
      nextOffset,
      events: records.map((record) => eventOf(record, { topic, partition })),
      seek: (offset) => {
        hasLeft = true;
        this.seek(partition, offset);
      },
      commit: () => this.#commit({ topic, partition, offset: String(nextOffset) }),
    });
    return hasLeft;
  }

  /** Not longer than the session lasts: the driver would ask a broker that is silent again and again. @throws CommitError */
  async #commit(offset: TopicPartitionOffset): Promise<void> {
    try {
      await Promise.race([this.#consumer.commitOffsets([offset]), this.#lost.promise]);
    } catch (error) {
      throw new CommitError('the group has not taken an offset', { cause: error });
    }
  }
}

/** What is handed over at once. */
interface HandedRun {
  readonly firstOffset: bigint;
  readonly nextOffset: bigint;
  readonly records: readonly FeedRecord[];
}

/** Batches as they were sent are put together, because for a handler each call may be a transaction. */
async function* runsOf(fetched: Batch): AsyncGenerator<HandedRun, void, undefined> {
  const { topic, partition } = fetched;
  const { fetchedOffset, messages } = fetched as unknown as FetchedPartition;
  let firstOffset = BigInt(fetchedOffset);
  let nextOffset = firstOffset;
  let records: FeedRecord[] = [];
  for (const batch of messages) {
    records = records.concat(await recordsOf(batch, { topic, partition, offset: nextOffset }));
    ({ nextOffset } = batch);
    if (records.length < FEED_LIMITS.handedEvents) continue;
    yield { firstOffset, nextOffset, records };
    [firstOffset, records] = [nextOffset, []];
  }
  if (nextOffset > firstOffset) yield { firstOffset, nextOffset, records };
}

function eventOf(record: FeedRecord, { topic, partition }: { topic: string; partition: number }): FeedEvent {
  try {
    return readFeedMessage(record);
  } catch (error) {
    if (!(error instanceof FeedMessageError)) throw error;
    throw new UnreadableMessageError({ topic, partition, offset: record.offset }, error);
  }
}
