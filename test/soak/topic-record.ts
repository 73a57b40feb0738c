import { type EachBatchPayload, Kafka, logLevel } from 'kafkajs';

/** A message of the topic as the auditor reads it: by the headers that the feed promises, and by nothing of ours. */
export interface TopicMessage {
  readonly partition: number;
  readonly offset: bigint;
  readonly key: string;
  readonly stream: string;
  readonly revision: number;
  readonly position: number;
  readonly type: string;
  readonly data: string;
  /** When the auditor had it, in ms since 1970. */
  readonly atMs: number;
}

const CONNECT_MS = 5_000;
const WAIT_MS = 250;

/**
 * Everything that comes onto the topic, read while the run lasts: a broker for tests keeps only the newest few megabytes
 * of a partition.
 */
export class TopicRecord {
  readonly messages: TopicMessage[] = [];
  readonly #next = new Map<number, bigint>();
  readonly #last = new Map<string, number>();
  readonly #stop: () => Promise<void>;

  private constructor(stop: () => Promise<void>) {
    this.#stop = stop;
  }

  /** The topic must be there. */
  static async start(brokers: readonly string[], topic: string): Promise<TopicRecord> {
    const kafka = new Kafka({
      clientId: 'soak-auditor',
      brokers: [...brokers],
      connectionTimeout: CONNECT_MS,
      logLevel: logLevel.NOTHING,
    });
    const consumer = kafka.consumer({ groupId: `soak-auditor-${topic}`, maxWaitTimeInMs: WAIT_MS });
    const record = new TopicRecord(() => consumer.disconnect());
    await consumer.connect();
    await consumer.subscribe({ topic, fromBeginning: true });
    await consumer.run({
      autoCommit: false,
      eachBatch: async (payload) => record.#take(payload),
    });
    return record;
  }

  /** The highest revision of each stream that has come. */
  lastRevisions(): ReadonlyMap<string, number> {
    return this.#last;
  }

  async close(): Promise<void> {
    await this.#stop();
  }

  #nextOf(partition: number): bigint {
    return this.#next.get(partition) ?? 0n;
  }

  #take({ batch }: EachBatchPayload): void {
    const atMs = Date.now();
    for (const { offset, key, value, headers } of batch.messages) {
      // A group that was rebalanced may be given the same offsets again.
      if (BigInt(offset) < this.#nextOf(batch.partition)) continue;
      this.#next.set(batch.partition, BigInt(offset) + 1n);
      const header = (name: string): string => String(headers?.[name] ?? '');
      const stream = header('ce_stream');
      const revision = Number(header('ce_revision'));
      this.#last.set(stream, Math.max(this.#last.get(stream) ?? -1, revision));
      this.messages.push({
        partition: batch.partition,
        offset: BigInt(offset),
        key: key?.toString('utf8') ?? '',
        stream,
        revision,
        position: Number(header('ce_position')),
        type: header('ce_type'),
        data: value?.toString('utf8') ?? '',
        atMs,
      });
    }
  }
}
