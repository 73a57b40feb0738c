import { createRequire } from 'node:module';
import type { Kafka } from 'kafkajs';
import { type Encoded, encodeProduce, isPlain, type ProduceFields, type ProduceParts } from './produce-request.ts';
import { type RecordBatch, recordBatches } from './record-batch.ts';

/** What is changed in kafkajs 2.2.4 itself, from outside. Nothing else of ours knows its private parts. */
export function mendKafkajs(): void {
  if (isMended) return;
  isMended = true;
  const load = createRequire(import.meta.url);
  stopIdleTimers(load('kafkajs/src/network/requestQueue') as { prototype: RequestQueue });
  encodeFaster(load);
  replaceModule(load, 'kafkajs/src/protocol/requests/fetch/v4/decodeMessages', () => fetchedBatches);
  tellWhyNoBrokerDid(load('kafkajs/src/cluster/brokerPool') as { prototype: BrokerPool });
}

let isMended = false;

/** Puts something in the place of a module that is loaded when it is first needed: whoever loads it later gets that. */
function replaceModule<T>(load: NodeJS.Require, path: string, make: (original: T) => unknown): void {
  const original = load(path) as T;
  const module = load.cache[load.resolve(path)];
  if (module !== undefined) module.exports = make(original);
}

type ProduceRequest = (fields: ProduceFields) => { readonly encode: () => Promise<Encoded> };

interface Compression {
  lookupCodec(type: number): { compress(encoder: { readonly buffer: Buffer }): Promise<Buffer> };
}

/** Later versions of the request are made of the third, and differ in its number alone. */
function encodeFaster(load: NodeJS.Require): void {
  const { lookupCodec } = load('kafkajs/src/protocol/message/compression') as Compression;
  const parts: ProduceParts = {
    crc32c: load('kafkajs/src/protocol/recordBatch/crc32C') as ProduceParts['crc32c'],
    compress: (compression, buffer) => lookupCodec(compression).compress({ buffer }),
  };
  const make =
    (original: ProduceRequest): ProduceRequest =>
    (fields) =>
      isPlain(fields)
        ? { ...original(fields), encode: () => encodeProduce(fields, parts, Date.now()) }
        : original(fields);
  replaceModule(load, 'kafkajs/src/protocol/requests/produce/v3/request', make);
}

interface Decoder {
  /** Of a length that stands before them; null where that is -1. */
  readBytes(): Buffer | null;
}

const fetchedBatches = (decoder: Decoder): RecordBatch[] => recordBatches(decoder.readBytes() ?? Buffer.alloc(0));

interface RequestQueue {
  readonly pending: readonly unknown[];
  scheduleCheckPendingRequests(): void;
}

/**
 * It looks for waiting requests with a timer that sets itself again every millisecond, for ever, on every connection, and
 * whose delay is negative, which Node 24 warns of on the console. Where nothing waits there is nothing to look for:
 * whatever is put in the queue later sets the timer itself.
 */
function stopIdleTimers({ prototype }: { readonly prototype: RequestQueue }): void {
  const schedule = prototype.scheduleCheckPendingRequests;
  prototype.scheduleCheckPendingRequests = function (this: RequestQueue): void {
    if (this.pending.length > 0) schedule.call(this);
  };
}

type Use = (place: unknown) => Promise<unknown>;

interface BrokerPool {
  withBroker(use: Use): Promise<unknown>;
}

/**
 * Where no broker does what it is asked, it gives null and keeps what they have said: a group's coordinator that is not
 * there yet and a group that this client has no rights to were both "Failed to find group coordinator".
 */
function tellWhyNoBrokerDid({ prototype }: { readonly prototype: BrokerPool }): void {
  const withBroker = prototype.withBroker;
  prototype.withBroker = async function (this: BrokerPool, use: Use): Promise<unknown> {
    let failure: unknown = null;
    const result = await withBroker.call(this, async (place) => {
      try {
        return await use(place);
      } catch (error) {
        failure = error;
        throw error;
      }
    });
    if (result === null && failure !== null) throw failure;
    return result;
  };
}

/** What the driver's own consumer reads with, below its groups. */
export interface Cluster {
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  addTargetTopic(topic: string): Promise<void>;
  refreshMetadata(): Promise<void>;
  /** The leader's number → its partitions. */
  findLeaderForPartitions(topic: string, partitions: readonly number[]): Readonly<Record<string, number[]>>;
  findBroker(broker: { readonly nodeId: string }): Promise<FetchingBroker>;
}

interface FetchingBroker {
  fetch(request: FetchRequest): Promise<{ readonly responses: readonly FetchedTopic[] }>;
}

/** What a consumer is given as a batch of messages: whatever of its partition has come. */
export interface FetchedPartition {
  /** That was asked for. */
  readonly fetchedOffset: string;
  /** But for marks of the brokers, and transactions that were given up. */
  readonly messages: readonly RecordBatch[];
}

interface FetchRequest {
  /** -1: this is no replica. */
  readonly replicaId: -1;
  readonly isolationLevel: 0 | 1;
  readonly maxWaitTime: number;
  readonly minBytes: number;
  readonly maxBytes: number;
  readonly topics: readonly {
    readonly topic: string;
    readonly partitions: readonly {
      readonly partition: number;
      readonly fetchOffset: string;
      readonly maxBytes: number;
    }[];
  }[];
}

interface FetchedTopic {
  readonly partitions: readonly { readonly partition: number; readonly messages: readonly RecordBatch[] }[];
}

/** A connection that can fetch without joining a group, for which a relay would need rights and seconds. */
export function clusterOf(kafka: Kafka): Cluster {
  const symbols = Object.getOwnPropertySymbols(kafka);
  const create = symbols.find(({ description }) => description === 'private:Kafka:createCluster');
  if (create === undefined) throw new TypeError('this kafkajs is another version');
  const createCluster = (kafka as unknown as Record<symbol, (options: object) => Cluster>)[create];
  if (createCluster === undefined) throw new TypeError('this kafkajs is another version');
  return createCluster({ allowAutoTopicCreation: false });
}
