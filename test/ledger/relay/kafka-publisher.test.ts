import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { KafkaPublisher } from '../../../ledger/relay/kafka-publisher.ts';
import { newTopicName } from '../../kafka/new-topic-name.ts';
import { readTopic } from '../../kafka/read-topic.ts';
import { startBroker, TOPIC_PARTITIONS } from '../../kafka/start-broker.ts';
import { planMessage } from '../../kafka/topic-writer.ts';

const broker = await startBroker();

describe.skipIf(broker === null)('what the relay has published', () => {
  const closing: { close(): Promise<void> }[] = [];
  afterEach(async () => {
    for (const one of closing.splice(0)) await one.close();
  });
  afterAll(() => broker?.stop());

  it('is read from one topic, whatever it was compressed with', async () => {
    const topic = newTopicName('codecs');
    const brokers = broker?.brokers ?? [];
    await broker?.createTopic(topic);
    const accounts = ['acct_1', 'acct_2', 'acct_3'];
    const written: string[] = [];
    for (const [revision, compression] of (['none', 'gzip', 'zstd'] as const).entries()) {
      const publisher = new KafkaPublisher({
        kafka: {
          brokers,
          topic,
          partitions: TOPIC_PARTITIONS,
          replicationFactor: -1,
          doubtfulTopic: 'warn',
          compression,
          ssl: false,
          sasl: null,
        },
        clientId: 'test',
      });
      closing.push(publisher);
      await publisher.connect();
      const messages = accounts.map((account) => planMessage(account, revision));
      await publisher.publish(messages);
      written.push(...messages.map(({ headers, value }) => `${headers.ce_stream} ${headers.ce_revision} ${value}`));
    }
    const reader = readTopic(brokers, topic);
    closing.push(reader);
    await reader.until('all of it', (events) => events.length >= written.length);
    const read = reader.events.map(({ stream, revision, data }) => `${stream} ${revision} ${data}`);
    expect(read.toSorted()).toEqual(written.toSorted());
  });
});
