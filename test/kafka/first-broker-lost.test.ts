import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { kafkaClient } from '../../ledger/feed/kafka-client.ts';
import { lookAtTopic } from '../../ledger/feed/topic-look.ts';
import { LedgerFile } from '../ledger/relay/ledger-file.ts';
import { RelayProcess } from '../ledger/relay/relay-process.ts';
import { eventually } from './eventually.ts';
import { fetchedKafka } from './fetched-kafka.ts';
import { newTopicName } from './new-topic-name.ts';
import { firstRevisions, readTopic } from './read-topic.ts';
import { type RealBrokers, startRealBrokers } from './real-brokers.ts';
import { createTopicOn } from './start-broker.ts';

/**
 * Asked for by `KAFKA_CLUSTER=3`, for it costs half a minute of CPU; with stand-ins for the lost broker the same rules
 * stand in the tests of what reads and publishes. Three brokers of one cluster, of which the first is lost while a relay publishes and a reader reads, and before others
 * start: killed, or stopped, so that it accepts connections and does not answer.
 */
describe.skipIf(fetchedKafka() === null || process.env.KAFKA_CLUSTER !== '3')('a cluster of three brokers', () => {
  let cluster: RealBrokers;
  const readers: { close(): Promise<void> }[] = [];

  beforeAll(async () => {
    const started = await startRealBrokers(3);
    if (started === null) throw new Error('Kafka is gone');
    cluster = started;
  });

  afterEach(async () => {
    for (const reader of readers.splice(0)) await reader.close();
  });

  afterAll(() => cluster.stop());

  // First: the last of the others leaves two brokers.
  it('makes its topic with three replicas, of which two have to have a message', async () => {
    const ledger = await LedgerFile.open();
    const topic = newTopicName('made');
    const relay = new RelayProcess({ folder: ledger.folder, brokers: cluster.brokers, topic });
    await relay.published(1);
    const kafka = { brokers: [...cluster.brokers], topic, ssl: false, sasl: null };
    const look = await lookAtTopic(kafkaClient({ kafka, clientId: 'test' }), topic, new AbortController().signal);
    expect([look.replicas, look.settings]).toEqual([
      3,
      {
        cleanupPolicy: 'delete',
        retentionMs: -1,
        retentionBytes: -1,
        minInsyncReplicas: 2,
        compressionType: 'producer',
      },
    ]);
    expect(relay.lines.filter((line) => line.includes('can lose messages'))).toEqual([]);
    await relay.stop();
  });

  it.each(['SIGSTOP', 'SIGKILL'] as const)('serves relays and readers when its first has got %s', async (signal) => {
    const ledger = await LedgerFile.open();
    const topic = newTopicName('first-lost');
    const { brokers } = cluster;
    await createTopicOn(brokers, topic);
    const start = (): RelayProcess => {
      const relay = new RelayProcess({ folder: ledger.folder, brokers, topic });
      return relay;
    };
    const read = () => {
      const reader = readTopic(brokers, topic);
      readers.push(reader);
      return reader;
    };
    const first = start();
    const early = read();
    await ledger.append('acct_1', 3);
    await early.until('three events', (events) => events.length >= 3);

    await cluster.signal(0, signal);
    await ledger.append('acct_1', 4);
    await early.until('seven revisions', (events) => revisionsOf(events) === 7);
    await eventually('it says that all is published', async () => (await first.metric('gateway_relay_kafka_up')) === 1);
    expect(await first.stop()).toBe(0);

    const second = start();
    await ledger.append('acct_1', 2);
    await second.says('the active relay');
    const late = read();
    await late.until('nine revisions', (events) => revisionsOf(events) === 9);
    expect(firstRevisions(late.events).get('account-acct_1')).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);

    if (signal === 'SIGSTOP') await cluster.signal(0, 'SIGCONT');
  });
});

const revisionsOf = (events: Parameters<typeof firstRevisions>[0]): number =>
  firstRevisions(events).get('account-acct_1')?.length ?? 0;
