import type { Admin } from 'kafkajs';

export interface PartitionOffsets {
  /** Of the first message that is kept. */
  readonly low: bigint;
  /** Of the next message that will be written. */
  readonly high: bigint;
}

/** Of a topic that is there, by partition. */
export async function offsetsOf(admin: Admin, topic: string): Promise<ReadonlyMap<number, PartitionOffsets>> {
  const offsets = await admin.fetchTopicOffsets(topic);
  return new Map(offsets.map(({ partition, low, high }) => [partition, { low: BigInt(low), high: BigInt(high) }]));
}

/** Whether nothing was ever written. */
export const isEmptyTopic = (partitions: ReadonlyMap<number, PartitionOffsets>): boolean =>
  [...partitions.values()].every(({ high }) => high === 0n);
