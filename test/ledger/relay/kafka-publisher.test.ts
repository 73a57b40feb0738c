import { afterAll, afterEach, describe, expect, it } from 'vitest';
import type { KafkaConfiguration } from '../../../contracts/kafka-configuration.ts';
import { kafkaClient } from '../../../ledger/feed/kafka-client.ts';
import { lookAtTopic } from '../../../ledger/feed/topic-look.ts';
import { KafkaPublisher } from '../../../ledger/relay/kafka-publisher.ts';
import { newTopicName } from '../../kafka/new-topic-name.ts';
import { readTopic } from '../../kafka/read-topic.ts';
import { startBroker, TOPIC_PARTITIONS } from '../../kafka/start-broker.ts';
import { planMessage } from '../../kafka/topic-writer.ts';

const broker = await startBroker();

describe.skipIf(broker === null)('what the relay has published', () => {
  const closing: { close(): Promise<void> }[] = [];
  const configured = (topic: string, compression: KafkaConfiguration['compression']): KafkaConfiguration => ({
    brokers: broker?.brokers ?? [],
    topic,
    partitions: TOPIC_PARTITIONS,
    replicationFactor: -1,
    doubtfulTopic: 'warn',
    compression,
    ssl: false,
    sasl: null,
  });
  const publisherOf = (kafka: KafkaConfiguration): KafkaPublisher => {
    const publisher = new KafkaPublisher({ kafka, clientId: 'test' });
    closing.push(publisher);
    return publisher;
  };
  afterEach(async () => {
    for (const one of closing.splice(0)) await one.close();
  });
  afterAll(() => broker?.stop());

  it('is read from one topic, whatever it was compressed with', async () => {
    const topic = newTopicName('codecs');
    await broker?.createTopic(topic);
    const accounts = ['acct_1', 'acct_2', 'acct_3'];
    const written: string[] = [];
    for (const [revision, compression] of (['none', 'gzip', 'zstd'] as const).entries()) {
      const publisher = publisherOf(configured(topic, compression));
      await publisher.connect(new AbortController().signal);
      const messages = accounts.map((account) => planMessage(account, revision));
      await publisher.publish(messages);
      written.push(...messages.map(({ headers, value }) => `${headers.ce_stream} ${headers.ce_revision} ${value}`));
    }
    const reader = readTopic(broker?.brokers ?? [], topic);
    closing.push(reader);
    await reader.until('all of it', (events) => events.length >= written.length);
    const read = reader.events.map(({ stream, revision, data }) => `${stream} ${revision} ${data}`);
    expect(read.toSorted()).toEqual(written.toSorted());
  });

  // The mock makes any topic that is asked for.
  it.skipIf(broker?.kind === 'mock')('has no topic where it was told to stop while it looked for one', async () => {
    const stop = new AbortController();
    const kafka = {
      ...configured(newTopicName('stopped'), 'none'),
      /** Asked for when there is found to be no topic. */
      get replicationFactor() {
        stop.abort();
        return -1;
      },
    };
    await expect(publisherOf(kafka).connect(stop.signal)).rejects.toThrow('aborted');
    const client = kafkaClient({ kafka, clientId: 'test' });
    await expect(lookAtTopic(client, kafka.topic, new AbortController().signal)).rejects.toThrow('there is no topic');
  });
});
