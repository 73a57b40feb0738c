import { setTimeout as delay } from 'node:timers/promises';
import { closeWithin } from '../../ledger/feed/close-within.ts';
import { kafkaClient } from '../../ledger/feed/kafka-client.ts';
import { type Cluster, clusterOf } from '../../ledger/feed/kafkajs-internals.ts';
import type { RecordBatch } from '../../ledger/feed/record-batch.ts';
import type { FeedRecord } from '../../ledger/feed/record-decoder.ts';
import { TOPIC_PARTITIONS } from '../kafka/start-broker.ts';

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

/** A broker that stands still is given up for whoever leads its partitions then. */
const REQUEST_MS = 5_000;
const WAIT_MS = 250;
const AGAIN_MS = 200;
const CLOSE_MS = 1_000;
const PARTITION_BYTES = 1_000_000;

/**
 * Everything that comes onto the topic, read while the run lasts: a broker for tests keeps only the newest few megabytes
 * of a partition. Each partition is read for itself and in no group: a group's coordinator may be the broker that is
 * killed, and how long the driver then takes to come back would be told as the topic's lag.
 */
export class TopicRecord {
  readonly messages: TopicMessage[] = [];
  readonly #last = new Map<string, number>();
  readonly #unread = new Map<number, string>();
  readonly #closing = new AbortController();
  #reading: Promise<unknown> = Promise.resolve();

  /** The topic must be there, with TOPIC_PARTITIONS partitions. */
  static start(brokers: readonly string[], topic: string): TopicRecord {
    const record = new TopicRecord();
    const partitions = Array.from({ length: TOPIC_PARTITIONS }, (_, partition) => partition);
    record.#reading = Promise.all(partitions.map((partition) => record.#read({ brokers, topic, partition })));
    return record;
  }

  private constructor() {}

  /** The highest revision of each stream that has come. */
  lastRevisions(): ReadonlyMap<string, number> {
    return this.#last;
  }

  /** What keeps partitions from being read, as far as the last try of each tells. */
  get unread(): readonly string[] {
    return [...this.#unread].map(([partition, reason]) => `topic: partition ${partition} is not read: ${reason}`);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#reading;
  }

  /** Until it is closed, with another connection after whatever goes wrong. */
  async #read({ brokers, topic, partition }: { brokers: readonly string[]; topic: string; partition: number }) {
    const { signal } = this.#closing;
    let next = 0n;
    while (!signal.aborted) {
      const kafka = { brokers: [...brokers], topic, ssl: false, sasl: null };
      const client = kafkaClient({ kafka, clientId: 'soak-auditor', requestMs: REQUEST_MS });
      const cut = (): void => client.cut();
      signal.addEventListener('abort', cut);
      const cluster = clusterOf(client);
      try {
        await cluster.connect();
        await cluster.addTargetTopic(topic);
        await cluster.refreshMetadata();
        while (!signal.aborted) {
          const fetched = await fetchOnce(cluster, { topic, partition, next });
          this.#unread.delete(partition);
          next = await this.#take(partition, next, fetched);
        }
      } catch (error) {
        if (!signal.aborted) this.#unread.set(partition, error instanceof Error ? error.message : String(error));
      } finally {
        signal.removeEventListener('abort', cut);
        await closeWithin(CLOSE_MS, () => cluster.disconnect());
        client.cut();
      }
      await delay(AGAIN_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Returns the offset of the next message. */
  async #take(partition: number, from: bigint, fetched: readonly RecordBatch[]): Promise<bigint> {
    const atMs = Date.now();
    let next = from;
    for (const batch of fetched) {
      for (const record of await batch.records(next)) this.#add(partition, record, atMs);
      next = batch.nextOffset;
    }
    return next;
  }

  #add(partition: number, { offset, key, value, headers }: FeedRecord, atMs: number): void {
    const header = (name: string): string => String(headers?.[name] ?? '');
    const stream = header('ce_stream');
    const revision = Number(header('ce_revision'));
    this.#last.set(stream, Math.max(this.#last.get(stream) ?? -1, revision));
    this.messages.push({
      partition,
      offset,
      key: String(key ?? ''),
      stream,
      revision,
      position: Number(header('ce_position')),
      type: header('ce_type'),
      data: String(value ?? ''),
      atMs,
    });
  }
}

interface Place {
  readonly topic: string;
  readonly partition: number;
  readonly next: bigint;
}

async function fetchOnce(cluster: Cluster, { topic, partition, next }: Place): Promise<readonly RecordBatch[]> {
  const [nodeId] = Object.keys(cluster.findLeaderForPartitions(topic, [partition]));
  if (nodeId === undefined) throw new Error(`partition ${partition} has no leader`);
  const broker = await cluster.findBroker({ nodeId });
  const { responses } = await broker.fetch({
    replicaId: -1,
    isolationLevel: 1,
    maxWaitTime: WAIT_MS,
    minBytes: 1,
    maxBytes: PARTITION_BYTES,
    topics: [{ topic, partitions: [{ partition, fetchOffset: String(next), maxBytes: PARTITION_BYTES }] }],
  });
  return responses.flatMap(({ partitions }) => partitions.flatMap(({ messages }) => messages));
}
