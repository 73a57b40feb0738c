import { expect, it } from 'vitest';
import { startBrokerPath } from '../kafka/broker-path.ts';
import { eventually } from '../kafka/eventually.ts';
import { lostBroker } from '../kafka/lost-broker.ts';
import { newTopicName } from '../kafka/new-topic-name.ts';
import { type Broker, startBroker } from '../kafka/start-broker.ts';
import { planMessage, TopicWriter } from '../kafka/topic-writer.ts';
import { TopicRecord } from './topic-record.ts';

const COORDINATOR_NOT_AVAILABLE = 15;

const broker: Broker | null = await startBroker();

it.skipIf(broker === null)(
  'reads a topic past a first seed that is silent and without a coordinator of groups, each message once',
  async () => {
    if (broker === null) return;
    const topic = newTopicName('record');
    await broker.createTopic(topic);
    const lost = await lostBroker('silent');
    const path = await startBrokerPath(broker.brokers[0] ?? '');
    path.coordinatorFault = () => COORDINATOR_NOT_AVAILABLE;
    const writer = new TopicWriter(broker.brokers, topic);
    const record = TopicRecord.start([lost.address, ...path.brokers], topic);
    const has = (revision: number) => () =>
      ['acct_1', 'acct_2'].every((account) => record.lastRevisions().get(`account-${account}`) === revision);
    try {
      await writer.write(planMessage('acct_1', 0), planMessage('acct_2', 0));
      await eventually('the first message of both partitions is read', has(0));
      path.fallSilent();
      await writer.write(planMessage('acct_1', 1), planMessage('acct_2', 1));
      await eventually('a silent broker is told', () => record.unread.length > 0);
      path.goOn();
      await eventually('the second message of both is read', has(1));
      await eventually('all partitions are read again', () => record.unread.length === 0);
    } finally {
      await record.close();
      await writer.close();
      await path.close();
      lost.close();
      await broker.stop();
    }
    expect(record.messages.map(({ stream, revision }) => `${stream} ${revision}`).sort()).toEqual([
      'account-acct_1 0',
      'account-acct_1 1',
      'account-acct_2 0',
      'account-acct_2 1',
    ]);
  },
);
