/** Kafka's Produce request, versions 3 to 7 (https://kafka.apache.org/protocol.html#The_Messages_Produce). */
export interface ProducedPartition {
  readonly topic: string;
  readonly partition: number;
  /** The records of the batch, counted by its header. */
  readonly records: number;
}

/** Length, api key, api version, correlation id; then the client id. */
const HEADER_BYTES = 12;
/** From a record batch's first byte to its record count (v2). */
const RECORD_COUNT_AT = 57;

export function producedPartitions(frame: Buffer): ProducedPartition[] {
  const reader = new Reader(frame, HEADER_BYTES);
  reader.text();
  reader.text();
  reader.skip(2 + 4);
  return reader
    .list(() => {
      const topic = reader.text();
      return reader.list(() => {
        const partition = reader.int32();
        const bytes = reader.int32();
        const records = frame.readInt32BE(reader.at + RECORD_COUNT_AT);
        reader.skip(bytes);
        return { topic, partition, records };
      });
    })
    .flat();
}

/** The answer to a produce request that says the same of all its partitions. */
export function refusal(frame: Buffer, errorCode: number): Buffer {
  const version = frame.readInt16BE(6);
  const byTopic = Map.groupBy(producedPartitions(frame), ({ topic }) => topic);
  const parts = [int32(frame.readInt32BE(8)), int32(byTopic.size)];
  for (const [topic, partitions] of byTopic) {
    parts.push(int16(topic.length), Buffer.from(topic), int32(partitions.length));
    for (const { partition } of partitions)
      parts.push(int32(partition), int16(errorCode), int64(-1n), int64(-1n), ...(version >= 5 ? [int64(-1n)] : []));
  }
  parts.push(int32(0));
  const body = Buffer.concat(parts);
  return Buffer.concat([int32(body.length), body]);
}

class Reader {
  readonly #bytes: Buffer;
  at: number;

  constructor(bytes: Buffer, at: number) {
    this.#bytes = bytes;
    this.at = at;
  }

  skip(bytes: number): void {
    this.at += bytes;
  }

  int32(): number {
    this.at += 4;
    return this.#bytes.readInt32BE(this.at - 4);
  }

  /** Empty where it is null. */
  text(): string {
    const length = Math.max(0, this.#bytes.readInt16BE(this.at));
    this.at += 2 + length;
    return this.#bytes.toString('utf8', this.at - length, this.at);
  }

  list<T>(read: () => T): T[] {
    return Array.from({ length: this.int32() }, read);
  }
}

const int16 = (value: number): Buffer => {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
};

const int32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
};

const int64 = (value: bigint): Buffer => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(value);
  return bytes;
};
