import { Partitioners } from 'kafkajs';
import { accountOfStream } from '../../contracts/ids.ts';
import { counted } from '../../contracts/money.ts';
import type { TopicLook } from '../feed/topic-look.ts';
import { isEmptyTopic } from '../feed/topic-offsets.ts';
import type { TailEvent } from '../feed/topic-tail.ts';
import { PublishError } from './publisher.ts';

/**
 * With another number of partitions than its messages were written with, a topic has each account's events in two of them,
 * and no order any more. Also where the configuration has followed the topic: then what is there stands where it does not
 * belong.
 *
 * @throws PublishError `mismatch`
 */
export function assertPartitionCount(
  topic: string,
  look: Pick<TopicLook, 'partitions' | 'tail'>,
  configured: number,
): void {
  const found = look.partitions.size;
  if (found !== configured)
    throw isEmptyTopic(look.partitions) ? wrongCount(topic, found, configured) : changedCount(topic, found, configured);
  const misplaced = misplacedIn(look.tail.events, found);
  if (misplaced !== null) throw scattered(topic, found, misplaced);
}

const wrongCount = (topic: string, found: number, configured: number): PublishError =>
  new PublishError(
    'mismatch',
    `the topic ${topic} has ${counted(found, 'partition')}, the configuration says ${configured}: kafka.partitions must be ${found}, ` +
      'or kafka.topic another name, which is then filled from the beginning',
  );

/** Of a topic that has messages. */
export const changedCount = (topic: string, found: number, configured: number): PublishError =>
  new PublishError(
    'mismatch',
    `the topic ${topic} has ${counted(found, 'partition')}, the configuration says ${configured}, and it has messages: where partitions ` +
      `were added each account’s events would stand in two of them, so ${A_NEW_ONE}. Where it is kafka.partitions that was ` +
      'changed, put it back',
  );

const scattered = (topic: string, found: number, { stream, revision, partition }: TailEvent): PublishError =>
  new PublishError(
    'mismatch',
    `the topic ${topic} has ${stream} revision ${revision} in partition ${partition}, where it does not belong among ${found}: ` +
      `partitions were added after it had messages, and each account’s events would stand in two of them, so ${A_NEW_ONE}`,
  );

const A_NEW_ONE = 'another topic is needed: `gateway relay fill NEW` fills one, then name it in kafka.topic';

/** The first message that does not stand where the relay would write it; null where all do. */
function misplacedIn(events: readonly TailEvent[], count: number): TailEvent | null {
  const choose = Partitioners.DefaultPartitioner();
  const partitionMetadata = Array.from({ length: count }, (_, partitionId) => metadataOf(partitionId));
  return (
    events.find(({ stream, partition }) => {
      const message = { key: accountOfStream(stream) ?? stream, value: null };
      return choose({ topic: '', partitionMetadata, message }) !== partition;
    }) ?? null
  );
}

const metadataOf = (partitionId: number) => ({ partitionErrorCode: 0, partitionId, leader: 0, replicas: [], isr: [] });
