import { CompressionTypes, type Message, type PartitionerArgs, type Producer } from 'kafkajs';
import type { Logger } from 'pino';
import type { FeedMessage } from '../../contracts/feed-message.ts';
import type { KafkaConfiguration } from '../../contracts/kafka-configuration.ts';
import { closeWithin } from '../feed/close-within.ts';
import { type KafkaClient, kafkaClient } from '../feed/kafka-client.ts';
import { causes, faultTypes, reasonOf } from '../feed/kafka-fault.ts';
import { FEED_LIMITS } from '../feed/limits.ts';
import { partitionOfKey } from '../feed/murmur2.ts';
import { lookAtTopic, type TopicLook } from '../feed/topic-look.ts';
import { isEmptyTopic } from '../feed/topic-offsets.ts';
import { UnreadableTopicError } from '../feed/topic-settings.ts';
import { TopicWarnings } from '../feed/topic-warnings.ts';
import { changedCount } from './partition-count.ts';
import { PublishError, type Publisher, type TopicState } from './publisher.ts';
import { ensureTopic, judged } from './topic.ts';

interface KafkaPublisherOptions {
  readonly kafka: KafkaConfiguration;
  readonly clientId: string;
  readonly logger?: Logger | undefined;
  /** From a send to its acknowledgement. */
  readonly requestMs?: number;
}

/**
 * The publisher over kafkajs: `acks: -1`, one send at a time, not idempotent (its idempotent producer loses messages
 * that it reports as written), no retries of its own, keys to partitions by murmur2 as Java's clients do.
 */
export class KafkaPublisher implements Publisher {
  readonly #client: KafkaClient;
  readonly #options: KafkaPublisherOptions;
  readonly #warnings: TopicWarnings;
  #producer: Producer | null = null;

  constructor(options: KafkaPublisherOptions) {
    this.#options = options;
    this.#client = kafkaClient(options);
    this.#warnings = new TopicWarnings(options.kafka.topic, options.logger);
  }

  async connect(signal: AbortSignal): Promise<TopicState> {
    await this.close();
    const { topic, partitions } = this.#options.kafka;
    const producer = this.#client.producer({
      allowAutoTopicCreation: false,
      idempotent: false,
      maxInFlightRequests: 1,
      createPartitioner: fixedPartitioner(topic, partitions),
      retry: { retries: 0 },
    });
    this.#producer = producer;
    try {
      const look = await ensureTopic(this.#client, this.#options.kafka, signal);
      await producer.connect();
      return this.#stateOf(look);
    } catch (error) {
      throw publishErrorOf(error);
    }
  }

  async look(): Promise<TopicState> {
    const { kafka } = this.#options;
    // A client of its own: the publisher's is cut whenever it connects anew.
    const client = kafkaClient(this.#options);
    try {
      return this.#stateOf(judged(await lookAtTopic(client, kafka.topic, new AbortController().signal), kafka));
    } catch (error) {
      throw publishErrorOf(error);
    } finally {
      client.cut();
    }
  }

  #stateOf(look: TopicLook): TopicState {
    this.#warnings.warn(look);
    return { isEmpty: isEmptyTopic(look.partitions), tail: look.tail };
  }

  async publish(messages: readonly FeedMessage[]): Promise<void> {
    if (this.#producer === null) throw new PublishError('away', 'not connected');
    const { topic, compression } = this.#options.kafka;
    try {
      await this.#producer.sendBatch({
        acks: -1,
        timeout: this.#options.requestMs ?? FEED_LIMITS.requestMs,
        compression: COMPRESSION[compression],
        topicMessages: [
          // kafkajs changes none of them.
          { topic, messages: messages as unknown as Message[] },
        ],
      });
    } catch (error) {
      throw publishErrorOf(error);
    }
  }

  async close(): Promise<void> {
    const producer = this.#producer;
    this.#producer = null;
    if (producer !== null) await closeWithin(FEED_LIMITS.closeMs, () => producer.disconnect());
    this.#client.cut();
  }
}

const COMPRESSION: Readonly<Record<KafkaConfiguration['compression'], CompressionTypes>> = {
  none: CompressionTypes.None,
  gzip: CompressionTypes.GZIP,
  zstd: CompressionTypes.ZSTD,
};

/** A topic that gets partitions while the relay runs would scatter each account over two of them. */
const fixedPartitioner = (topic: string, partitions: number) => () => {
  return ({ message, partitionMetadata }: PartitionerArgs): number => {
    if (partitionMetadata.length !== partitions) throw changedCount(topic, partitionMetadata.length, partitions);
    return partitionOfKey(String(message.key), partitions);
  };
};

const TOO_LARGE = new Set(['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE']);

function publishErrorOf(error: unknown): PublishError {
  if (error instanceof PublishError) return error;
  const ours = causes(error).find((cause) => cause instanceof PublishError);
  if (ours !== undefined) return ours;
  if (error instanceof UnreadableTopicError) return new PublishError('mismatch', error.message, { cause: error });
  const kind = faultTypes(error).some((type) => TOO_LARGE.has(type)) ? 'too_large' : 'away';
  return new PublishError(kind, reasonOf(error), { cause: error });
}
