import { z } from 'zod';
import { type Position, position } from '../../contracts/ids.ts';

/** How far one partition of the feed's topic is folded. */
interface PartitionMark {
  /** The offset of the next message. */
  readonly next: bigint;
  /** The position of the message before it, by which the partition is known again. */
  readonly last: Position;
}

const schema = z.strictObject({
  verified: z.int().min(0).nullable(),
  partitions: z.record(z.string().regex(/^\d{1,9}$/), z.tuple([z.string().regex(/^[1-9]\d{0,18}$/), z.int().min(0)])),
});

/**
 * The checkpoint of views that are fed from a topic, a value. As text it is the same for the same marks, in whatever
 * order they were made:
 *
 *   {"verified":187,"partitions":{"0":["17",203],"4":["2",91]}}       partition → next offset, position of the one before
 */
export class TopicCheckpoint {
  /** The views were found to hold every event of the log up to here; null before they were first compared. */
  readonly verified: Position | null;
  /** Those partitions that have had an event. */
  readonly partitions: ReadonlyMap<number, PartitionMark>;

  constructor(verified: Position | null = null, partitions: ReadonlyMap<number, PartitionMark> = new Map()) {
    this.verified = verified;
    this.partitions = partitions;
  }

  /** @throws Error on anything but what `toString` gives. */
  static parse(text: string): TopicCheckpoint {
    const { verified, partitions } = schema.parse(JSON.parse(text));
    const marks = Object.entries(partitions).map(
      ([partition, [next, last]]) => [Number(partition), { next: BigInt(next), last: position(last) }] as const,
    );
    return new TopicCheckpoint(verified === null ? null : position(verified), new Map(marks));
  }

  toString(): string {
    const marks = [...this.partitions].sort(([one], [other]) => one - other);
    const partitions = Object.fromEntries(marks.map(([partition, { next, last }]) => [partition, [`${next}`, last]]));
    return JSON.stringify({ verified: this.verified, partitions });
  }

  with(verified: Position | null, partition: number, mark: PartitionMark): TopicCheckpoint {
    return new TopicCheckpoint(verified, new Map(this.partitions).set(partition, mark));
  }

  /** The highest position of the marks; null where there is none. */
  get highest(): Position | null {
    const all = [...this.partitions.values()].map(({ last }) => last);
    return all.length === 0 ? null : position(Math.max(...all));
  }
}
