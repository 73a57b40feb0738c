import { counted } from '../../../contracts/money.ts';
import { type Examined, type Finding, fault, lackingHere, looked, ok, warn } from './finding.ts';

/** Whether brokers answer, and whether the topic keeps what it is given. */
export async function lookAtKafka({ configuration: { kafka }, isServed, timeMs }: Examined): Promise<Finding> {
  if (kafka === null) return { check: 'kafka', ...ok('not configured') };
  if (kafka.unread !== undefined) return { check: 'kafka', ...lackingHere(kafka.unread, { isServed }) };
  // Loaded here, because without a topic nothing of it is needed.
  const [{ kafkaClient }, { reasonOf }, { doubtsOf, refusalOf }, { lookAtTopic, NoTopicError }] = await Promise.all([
    import('../../../ledger/feed/kafka-client.ts'),
    import('../../../ledger/feed/kafka-fault.ts'),
    import('../../../ledger/feed/topic-faults.ts'),
    import('../../../ledger/feed/topic-look.ts'),
  ]);
  const client = kafkaClient({ kafka, clientId: 'doctor', requestMs: timeMs });
  const { topic, brokers } = kafka;
  try {
    return await looked(timeMs, {
      check: 'kafka',
      advice: 'look whether the brokers run, and at kafka.brokers',
      look: async (signal) => {
        try {
          const look = await lookAtTopic(client, topic, signal);
          const refused = refusalOf(topic, look, kafka.doubtfulTopic);
          if (refused !== null) return fault(refused);
          const says = `the topic ${topic} has ${counted(look.partitions.size, 'partition')}`;
          const doubts = doubtsOf(look);
          return doubts.length === 0 ? ok(says) : warn(`${says}, and can lose messages: ${doubts.join('; ')}`);
        } catch (error) {
          if (error instanceof NoTopicError) return warn(error.message);
          throw new Error(`${brokers.join(', ')}: ${reasonOf(error)}`, { cause: error });
        }
      },
    });
  } finally {
    client.cut();
  }
}
