import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { Subscription } from '../../contracts/event-log.ts';
import type { FeedEvent } from '../../contracts/feed-message.ts';
import { FeedReading } from './feed-reading.ts';
import { type FeedBatch, FeedSession, HandlingError } from './feed-session.ts';
import { type FeedKafka, type KafkaClient, kafkaClient } from './kafka-client.ts';
import { FEED_LIMITS } from './limits.ts';
import { lookAtTopic, type TopicLook } from './topic-look.ts';
import type { PartitionOffsets } from './topic-offsets.ts';
import { UnreadableTopicError } from './topic-settings.ts';

export interface OpenFeedOptions {
  readonly kafka: FeedKafka;
  readonly clientId: string;
  /** Partition → offset of the first message to read; what is not named is read from its beginning. */
  readonly from: ReadonlyMap<number, bigint> | 'beginning';
  /**
   * Each time that the topic comes into sight, before anything of it is handed over, awaited; and every `lookMs` while it
   * is. When it throws the reading stops.
   */
  readonly onSeen?: (look: TopicLook) => Promise<void>;
  readonly lookMs?: number;
  /**
   * One call at a time over all partitions, awaited. Events come as they stand there: in order within a partition, some
   * of them more than once. When it throws the reading stops: nothing is skipped.
   */
  readonly onBatch: (partition: number, events: readonly FeedEvent[], nextOffset: bigint) => void | Promise<void>;
  /** Everything that the topic held at the start has been handed over; again after each drop. */
  readonly onCaughtUp?: () => void;
  /** Kafka is lost from sight, or was not there at the start; the reading resumes by itself. */
  readonly onDropped?: (error: Error) => void;
  /** Called at most once: `onBatch` has thrown, or a message is none of the feed's. Not called after `close`. */
  readonly onStopped?: (error: Error) => void;
  readonly logger?: Logger;
}

/**
 * Reads all partitions of the feed, shared with nobody: it has a consumer group of its own for as long as it is
 * connected, commits nothing, and goes by the offsets given and its own memory of them.
 *
 * An offset that the topic does not have (it was made anew, or has lost messages) is read from the beginning.
 */
export function openFeed(options: OpenFeedOptions): Subscription {
  const client = kafkaClient(options);
  const next = new Map(options.from === 'beginning' ? [] : options.from);
  return new FeedReading({
    open: (signal) => openSession({ client, next, options, signal }),
    onDropped: options.onDropped,
    onStopped: options.onStopped,
  });
}

interface Opening {
  readonly client: KafkaClient;
  /** Partition → offset of the next message. */
  readonly next: Map<number, bigint>;
  readonly options: OpenFeedOptions;
  readonly signal: AbortSignal;
}

async function openSession({ client, next, options, signal }: Opening): Promise<FeedSession> {
  const { topic } = options.kafka;
  const show = async (): Promise<TopicLook> => {
    const look = await lookAtTopic(client, topic, signal).catch((error: unknown) => {
      throw error instanceof UnreadableTopicError ? new HandlingError(error) : error;
    });
    await seen(look, options, signal);
    return look;
  };
  const { partitions: held } = await show();
  startWithin(next, held);
  let isJoined = false;
  let isCaughtUp = false;
  const tellCaughtUp = (): void => {
    if (!isJoined || isCaughtUp || !hasReached(next, held)) return;
    isCaughtUp = true;
    options.onCaughtUp?.();
  };
  const session = new FeedSession({
    client,
    topic,
    sessionMs: FEED_LIMITS.sessionMs,
    joinSilenceMs: FEED_LIMITS.joinSilenceMs,
    groupId: `${options.clientId}-${randomUUID()}`,
    onJoined: (joined) => {
      for (const [partition, offset] of next) joined.seek(partition, offset);
    },
    onBatch: async ({ partition, events, nextOffset }: FeedBatch) => {
      await options.onBatch(partition, events, nextOffset);
      next.set(partition, nextOffset);
      tellCaughtUp();
    },
    onLook: options.onSeen === undefined ? undefined : async () => void (await show()),
    lookMs: options.lookMs,
  });
  try {
    await session.start(signal);
  } catch (error) {
    await session.close();
    throw error;
  }
  isJoined = true;
  tellCaughtUp();
  return session;
}

/** @throws HandlingError; Error when the signal is aborted before */
async function seen(look: TopicLook, { onSeen }: OpenFeedOptions, signal: AbortSignal): Promise<void> {
  if (onSeen === undefined) return;
  const closed = Promise.withResolvers<never>();
  const close = (): void => closed.reject(new Error('closed'));
  signal.addEventListener('abort', close);
  if (signal.aborted) close();
  const handled = onSeen(look).catch((error: unknown) => {
    throw new HandlingError(error);
  });
  try {
    await Promise.race([handled, closed.promise]);
  } finally {
    signal.removeEventListener('abort', close);
  }
}

function startWithin(next: Map<number, bigint>, held: ReadonlyMap<number, PartitionOffsets>): void {
  for (const [partition, { low, high }] of held) {
    const offset = next.get(partition) ?? low;
    next.set(partition, offset < low || offset > high ? low : offset);
  }
}

const hasReached = (next: ReadonlyMap<number, bigint>, held: ReadonlyMap<number, PartitionOffsets>): boolean =>
  [...held].every(([partition, { high }]) => (next.get(partition) ?? 0n) >= high);
