import { type EventLog, EventLogError } from '../../contracts/event-log.ts';
import { FeedMessageError, readFeedMessage } from '../../contracts/feed-message.ts';
import { CopyError } from '../copy/copy-error.ts';
import { copyEvents } from '../copy/copy-events.ts';
import { fetchStretches, PartitionStretch } from '../feed/fetch-stretches.ts';
import { type FeedKafka, kafkaClient } from '../feed/kafka-client.ts';
import { reasonOf } from '../feed/kafka-fault.ts';
import { lookAtTopic, NoTopicError } from '../feed/topic-look.ts';
import { UnreadableTopicError } from '../feed/topic-settings.ts';
import { readLedgerState } from '../identity/ledger-state.ts';
import { TopicAwayError } from './topic-away-error.ts';
import { TopicEvents, type TopicGap } from './topic-events.ts';

interface TopicRefill {
  readonly kafka: FeedKafka;
  /** A file that may be made, for what is not in order yet. */
  readonly file: string;
  /** Appends under way at once. */
  readonly atOnce: number;
  readonly onRefilled: (events: number) => void;
}

export interface RefilledFromTopic {
  readonly events: number;
  /** Before which event it had to stop; null where it has all that the topic has. */
  readonly gap: TopicGap | null;
}

/**
 * What a ledger's topic has and the ledger lacks, appended in the log's order. The topic has what accounts, the catalog and the
 * ledger itself say; seals and claims of proxies and relays are not in it.
 * @throws CopyError where it is another ledger's, the ledger went on by itself, or it is no such topic; TopicAwayError; EventLogError
 */
export async function refillFromTopic(log: EventLog, options: TopicRefill): Promise<RefilledFromTopic> {
  const { kafka, file, atOnce, onRefilled } = options;
  const { identity } = await readLedgerState(log);
  const events = new TopicEvents(file, log, identity);
  try {
    await readTopic(kafka, events);
    let count = 0;
    const onCopied = (copied: number): void => {
      count += copied;
      onRefilled(copied);
    };
    await copyEvents(events, log, { after: null, atOnce, onCopied });
    return { events: count, gap: events.gap };
  } finally {
    events.close();
  }
}

/** Kafka has answered, and to ask again does not help. */
const READ = [NoTopicError, UnreadableTopicError, FeedMessageError];

/** All that it has by now. @throws CopyError, TopicAwayError, EventLogError */
async function readTopic(kafka: FeedKafka, events: TopicEvents): Promise<void> {
  const client = kafkaClient({ kafka, clientId: 'ledger-restore' });
  const { topic } = kafka;
  try {
    const { partitions } = await lookAtTopic(client, topic, new AbortController().signal);
    const wanted = [...partitions].map(
      ([partition, { low, high }]) =>
        new PartitionStretch({ partition, from: low, to: high }, (records) =>
          events.take(records.map(readFeedMessage)),
        ),
    );
    await fetchStretches(client, topic, wanted);
  } catch (error) {
    if (error instanceof CopyError || error instanceof EventLogError) throw error;
    const isReached = READ.some((Fault) => error instanceof Fault);
    const message = `the topic ${topic} cannot be read: ${reasonOf(error)}`;
    throw new (isReached ? CopyError : TopicAwayError)(message, { cause: error });
  } finally {
    client.cut();
  }
}
