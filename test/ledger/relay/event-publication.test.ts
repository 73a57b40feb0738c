import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { FeedEvent } from '../../../contracts/feed-message.ts';
import { LEDGER_STREAM } from '../../../contracts/ids.ts';
import { type BrokerPath, startBrokerPath } from '../../kafka/broker-path.ts';
import { eventually } from '../../kafka/eventually.ts';
import { newTopicName } from '../../kafka/new-topic-name.ts';
import { firstRevisions, readTopic } from '../../kafka/read-topic.ts';
import { type Broker, startBroker } from '../../kafka/start-broker.ts';
import { LedgerFile } from './ledger-file.ts';
import { RelayProcess, type RelaySite } from './relay-process.ts';

const MESSAGE_TOO_LARGE = 10;
const NOT_LEADER = 6;

const broker: Broker | null = await startBroker();

describe.skipIf(broker === null)('a relay on a bad way to its broker', () => {
  let ledger: LedgerFile;
  let path: BrokerPath;
  let site: RelaySite;

  const start = (other: Partial<RelaySite> = {}): RelayProcess => new RelayProcess({ ...site, ...other });
  const topicRevisions = async (atLeast: number): Promise<{ first: Map<string, number[]>; messages: number }> => {
    const topic = readTopic(broker?.brokers ?? [], site.topic);
    const ofAccounts = (read: readonly FeedEvent[]): FeedEvent[] =>
      read.filter(({ stream }) => stream !== LEDGER_STREAM);
    await topic.until(`${atLeast} messages`, (read) => ofAccounts(read).length >= atLeast);
    await topic.close();
    return { first: firstRevisions(ofAccounts(topic.events)), messages: ofAccounts(topic.events).length };
  };
  const upTo = (account: string, events: number): Map<string, number[]> =>
    new Map([[`account-${account}`, Array.from({ length: events }, (_, index) => index)]]);

  beforeEach(async () => {
    if (broker === null) return;
    ledger = await LedgerFile.open();
    path = await startBrokerPath(broker.brokers[0] ?? '');
    site = { folder: ledger.folder, brokers: path.brokers, topic: newTopicName('path') };
    await broker.createTopic(site.topic);
  });

  afterEach(async () => {
    await path.close();
  });

  afterAll(() => broker?.stop());

  it('sends again what was not acknowledged: nothing is lost, something may come twice', async () => {
    let produced = 0;
    path.onProduce = () => (++produced === 1 ? 'lose-answer' : 'pass');
    await ledger.append('acct_1', 5);
    const relay = start();
    await relay.published(6);
    const { first, messages } = await topicRevisions(10);
    expect(first).toEqual(upTo('acct_1', 5));
    expect(messages).toBe(10);
  });

  it('keeps its checkpoint behind what is acknowledged: killed while a send is under way, it sends it again', async () => {
    await ledger.append('acct_1', 3);
    // A send waits for its answer for half of the claim.
    const killed = start({ claimSeconds: 1 });
    await killed.published(4);
    let swallowed = 0;
    path.onProduce = () => {
      swallowed++;
      return 'swallow';
    };
    await ledger.append('acct_1', 4);
    // The send waits for its answer for half a second, and the relay looks at its checkpoint four times a second.
    await eventually('a second send', () => swallowed >= 2);
    await killed.kill();
    path.onProduce = () => 'pass';
    start({ claimSeconds: 1 });
    expect((await topicRevisions(7)).first).toEqual(upTo('acct_1', 7));
  });

  it('has never more than one send under way', async () => {
    let underWay = 0;
    let most = 0;
    path.onProduce = () => {
      most = Math.max(most, ++underWay);
      return 'pass';
    };
    path.onAnswer = () => {
      underWay--;
    };
    // The relay's process looks for what this one has written ten times a second: several looks fall into one send.
    path.answerMs = 300;
    const relay = start();
    await relay.says('the active relay');
    for (let append = 0; append < 20; append++) {
      await ledger.append(`acct_${append % 5}`, 1);
      await delay(50);
    }
    await relay.published(21);
    expect(most).toBe(1);
  });

  it('tries again at once after an error that passes', async () => {
    let produced = 0;
    path.onProduce = () => (++produced === 1 ? { refuseWith: NOT_LEADER } : 'pass');
    await ledger.append('acct_1', 2);
    const relay = start();
    await relay.published(3);
    expect(await topicRevisions(2)).toEqual({ first: upTo('acct_1', 2), messages: 2 });
  });

  it('sends a batch that the broker finds too large in pieces, in order', async () => {
    path.onProduce = (partitions) =>
      partitions.some(({ records }) => records > 4) ? { refuseWith: MESSAGE_TOO_LARGE } : 'pass';
    await ledger.append('acct_1', 30);
    const relay = start();
    await relay.published(31);
    expect(await topicRevisions(30)).toEqual({ first: upTo('acct_1', 30), messages: 30 });
  });

  it('stops at a message that is too large by itself, says which, and publishes what stands before it', async () => {
    let single = 0;
    path.onProduce = (partitions) => {
      const records = partitions.reduce((sum, partition) => sum + partition.records, 0);
      return records > 1 || ++single > 3 ? { refuseWith: MESSAGE_TOO_LARGE } : 'pass';
    };
    await ledger.append('acct_1', 4);
    const relay = start();
    expect(await relay.exit()).toBe(3);
    await relay.says('account-acct_1 revision 2 (PlanChanged, position 4) cannot be published');
    expect((await topicRevisions(2)).first).toEqual(upTo('acct_1', 2));
  });
});
