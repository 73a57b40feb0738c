import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LEDGER_STREAM, relayStream } from '../../../contracts/ids.ts';
import { type BrokerPath, startBrokerPath } from '../../kafka/broker-path.ts';
import { eventually } from '../../kafka/eventually.ts';
import { lostBroker, WAYS_TO_BE_LOST } from '../../kafka/lost-broker.ts';
import { newTopicName } from '../../kafka/new-topic-name.ts';
import { firstRevisions, readTopic, type TopicReader } from '../../kafka/read-topic.ts';
import { type Broker, startBroker } from '../../kafka/start-broker.ts';
import { planMessage, TopicWriter } from '../../kafka/topic-writer.ts';
import { LedgerFile } from './ledger-file.ts';
import { RelayProcess, type RelaySite } from './relay-process.ts';

const NOT_LEADER = 6;

const broker: Broker | null = await startBroker();

/** But that a topic of a single broker can lose messages. */
const unusualLines = ({ lines }: RelayProcess): string[] =>
  lines.filter((line) => !line.startsWith('{"level":30') && !line.includes('the topic can lose messages'));

describe.skipIf(broker === null)('gateway relay', () => {
  let ledger: LedgerFile;
  let site: RelaySite;
  const readers: TopicReader[] = [];

  const start = (other: Partial<RelaySite> = {}): RelayProcess => new RelayProcess({ ...site, ...other });
  const read = (): TopicReader => {
    const reader = readTopic(site.brokers, site.topic);
    readers.push(reader);
    return reader;
  };
  const relayEvents = async (): Promise<string[]> => {
    const types: string[] = [];
    for await (const { type } of ledger.log.readStream(relayStream(site.topic))) types.push(type);
    return types;
  };

  beforeEach(async () => {
    if (broker === null) return;
    ledger = await LedgerFile.open();
    site = { folder: ledger.folder, brokers: broker.brokers, topic: newTopicName('ledger') };
    await broker.createTopic(site.topic);
  });

  afterEach(async () => {
    for (const reader of readers.splice(0)) await reader.close();
  });

  afterAll(() => broker?.stop());

  it('publishes what is in the log and what comes, in order per account, and never its own stream', async () => {
    await ledger.append('acct_1', 3);
    await ledger.append('acct_2', 2);
    const relay = start();
    const topic = read();
    await topic.until('six events', (events) => events.length === 6);
    await ledger.append('acct_1', 2);
    await topic.until('eight events', (events) => events.length === 8);
    expect(firstRevisions(topic.events)).toEqual(
      new Map([
        ['ledger', [0]],
        ['account-acct_1', [0, 1, 2, 3, 4]],
        ['account-acct_2', [0, 1]],
      ]),
    );
    expect(await relay.stop()).toBe(0);
    const log = await Array.fromAsync(ledger.log.readAll());
    const published = log.filter(({ stream }) => stream !== relayStream(site.topic));
    const byPosition = topic.events
      .map(({ relayEpoch: _, ledger: __, ...event }) => event)
      .sort((a, b) => a.position - b.position);
    expect(byPosition).toEqual(published);
  });

  it('says nothing on the console but its own log, writes a checkpoint and releases its claim when it stops', async () => {
    await ledger.append('acct_1', 3);
    const relay = start();
    await relay.published(4);
    expect(await relay.stop()).toBe(0);
    expect(unusualLines(relay)).toEqual([]);
    const types = await relayEvents();
    expect(types[0]).toBe('RelayClaimed');
    expect(types.slice(-2)).toEqual(['RelayCheckpointed', 'RelayReleased']);
  });

  it('goes on from its checkpoint, not from the beginning, when it is started again', async () => {
    await ledger.append('acct_1', 3);
    const first = start();
    await first.published(4);
    await first.stop();
    await ledger.append('acct_1', 1);
    const second = start();
    const topic = read();
    await topic.until('the fourth event', (events) => events.some(({ revision }) => revision === 3));
    expect(await second.metric('gateway_relay_published_total')).toBe(1);
    const ofAccount = topic.events.filter(({ stream }) => stream !== LEDGER_STREAM);
    expect(ofAccount.map(({ revision, relayEpoch }) => [revision, relayEpoch])).toEqual([
      [0, 1],
      [1, 1],
      [2, 1],
      [3, 2],
    ]);
  });

  it('stands by beside an active one and takes over when that is killed, once its claim is over', async () => {
    await ledger.append('acct_1', 1);
    const first = start({ claimSeconds: 6 });
    await first.says('the active relay');
    const second = start({ claimSeconds: 6 });
    await second.says('standing by');
    expect(await first.metric('gateway_relay_active')).toBe(1);
    expect(await second.metric('gateway_relay_active')).toBe(0);
    await first.kill();
    await ledger.append('acct_1', 1);
    await second.says('the active relay');
    await eventually('it publishes', async () => (await second.metric('gateway_relay_published_total')) >= 1);
    expect(await second.metric('gateway_relay_active')).toBe(1);
  });

  it('renews its claim while there is nothing to publish', async () => {
    const relay = start({ claimSeconds: 1 });
    await relay.says('the active relay');
    await eventually('it is renewed', async () => (await relayEvents()).length > 3);
    expect(new Set(await relayEvents())).toEqual(new Set(['RelayClaimed', 'RelayCheckpointed']));
  });

  it('takes over at once when the active one has released its claim, which would have lasted longer than this test', async () => {
    const first = start();
    await first.says('the active relay');
    const second = start();
    await second.says('standing by');
    await first.stop();
    await second.says('the active relay');
  });

  it('is fenced when it wakes up after another has taken over: it sends nothing more and stops', async () => {
    await ledger.append('acct_1', 1);
    const first = start({ claimSeconds: 1 });
    await first.published(2);
    first.signal('SIGSTOP');
    const second = start({ claimSeconds: 1 });
    await second.says('the active relay');
    await ledger.append('acct_1', 5);
    await eventually('the second publishes', async () => (await second.metric('gateway_relay_published_total')) >= 5);
    first.signal('SIGCONT');
    expect(await first.exit()).toBe(3);
    await first.says('is fenced: another relay has claimed the feed');
    const topic = read();
    await topic.until('seven events', (events) => events.length >= 7);
    const ofFirst = topic.events.filter(({ relayEpoch }) => relayEpoch === 1);
    expect(ofFirst.map(({ stream, revision }) => `${stream} ${revision}`).sort()).toEqual([
      'account-acct_1 0',
      'ledger 0',
    ]);
    expect(second.isRunning).toBe(true);
  });

  it('refuses a topic that has another number of partitions, also where another relay is active', async () => {
    const active = start();
    await active.says('the active relay');
    const relay = start({ partitions: 12 });
    expect(await relay.exit()).toBe(2);
    await relay.says(`the topic ${site.topic} has 4 partitions, the configuration says 12`);
  });

  describe.skipIf(broker?.kind === 'mock').each([
    ['cleanup.policy', 'compact,delete', 'is compacted (cleanup.policy=compact,delete)'],
    ['compression.type', 'lz4', 'has compression.type=lz4'],
  ])('where its topic gets %s=%s', (name, value, told) => {
    it('refuses it when it connects again and at its start', async () => {
      const path = await startBrokerPath(site.brokers[0] ?? '');
      const running = start({ brokers: path.brokers });
      await running.says('the active relay');
      await broker?.setTopic(site.topic, { [name]: value });
      path.onProduce = () => ({ refuseWith: NOT_LEADER });
      await ledger.append('acct_1', 1);
      expect(await running.exit()).toBe(2);
      await running.says(`the topic ${site.topic} ${told}`);
      await path.close();
      const second = start();
      expect(await second.exit()).toBe(2);
      await second.says(`the topic ${site.topic} ${told}`);
    });
  });

  it('refuses a topic whose last messages cannot be read, and says where they stand and what to do', async () => {
    const writer = new TopicWriter(site.brokers, site.topic);
    await writer.writeLz4(planMessage('acct_1', 0));
    await writer.close();
    const relay = start();
    expect(await relay.exit()).toBe(2);
    await relay.says(`${site.topic} partition 1 offset 0: a batch is compressed with codec 3`);
    await relay.says('(`gateway relay fill NEW`)');
  });

  it.skipIf(broker?.kind === 'mock')(
    'warns of a topic that can lose messages, and refuses it where it is told to',
    async () => {
      await broker?.setTopic(site.topic, { 'retention.ms': '600000' });
      const warned = start();
      await warned.says('the topic can lose messages');
      await warned.says('retention.ms is 600000');
      await warned.says('the active relay');
      const refused = start({ doubtfulTopic: 'refuse' });
      expect(await refused.exit()).toBe(2);
      await refused.says(`the topic ${site.topic} can lose messages (kafka.doubtfulTopic): retention.ms is 600000`);
    },
  );

  it.skipIf(broker?.kind === 'mock')('says why its topic cannot be made', async () => {
    const relay = start({ topic: newTopicName('unmade'), replicationFactor: 9 });
    await relay.says('Replication-factor is invalid');
    await relay.says('kafka.replicationFactor is more than there are brokers');
  });

  it('fills a topic from the beginning that was made anew, whatever its checkpoint says', async () => {
    await ledger.append('acct_1', 3);
    const first = start();
    await first.published(4);
    await first.stop();
    const another = await broker?.makeAnew(site.topic);
    if (another === undefined) throw new Error('no broker');
    try {
      const second = start({ brokers: another.brokers });
      await second.published(4);
      await second.says('filling it from the beginning');
    } finally {
      await another.stop();
    }
  });

  it.each(WAYS_TO_BE_LOST)('publishes at once where the first of its brokers is %s', async (how) => {
    const lost = await lostBroker(how);
    await ledger.append('acct_1', 3);
    const relay = start({ brokers: [lost.address, ...site.brokers] });
    await relay.published(4);
    expect(unusualLines(relay)).toEqual([]);
    lost.close();
  });

  describe('while Kafka is away', () => {
    let path: BrokerPath;
    beforeEach(async () => {
      path = await startBrokerPath(broker?.brokers[0] ?? '');
      site = { ...site, brokers: path.brokers };
    });
    afterEach(() => path.close());

    it('tries again, tells why and the lag, says when Kafka is back, and loses nothing', async () => {
      const relay = start();
      await relay.published(1);
      expect(await relay.metric('gateway_relay_lag_seconds')).toBe(0);
      path.fallSilent();
      await ledger.append('acct_1', 10);
      await relay.says('Kafka does not answer');
      await eventually('the lag grows', async () => (await relay.metric('gateway_relay_lag_seconds')) > 1.5);
      expect(await relay.metric('gateway_relay_kafka_up')).toBe(0);
      await eventually('the head is told', async () => (await relay.metric('gateway_relay_head_position')) >= 10);
      expect(await relay.metric('gateway_relay_acknowledged_position')).toBeLessThan(10);
      path.goOn();
      await relay.published(11);
      await eventually('no lag is left', async () => (await relay.metric('gateway_relay_lag_seconds')) === 0);
      expect(await relay.metric('gateway_relay_kafka_up')).toBe(1);
      await relay.says('Kafka answers again');
      expect(await relay.stop()).toBe(0);
    });

    it('gives its claim back after half the length of one, to a relay that reaches Kafka, and takes its turn again', async () => {
      const cut = start({ claimSeconds: 6 });
      await cut.published(1);
      const whole = start({ brokers: broker?.brokers ?? [] });
      await whole.says('standing by');
      path.fallSilent();
      await ledger.append('acct_1', 10);
      await cut.says('the claim is given back');
      await eventually('the other publishes', async () => (await whole.metric('gateway_relay_published_total')) >= 10);
      expect(await cut.metric('gateway_relay_active')).toBe(0);
      expect(await relayEvents()).toContain('RelayReleased');
      path.goOn();
      await whole.stop();
      await ledger.append('acct_1', 2);
      await cut.published(3);
      await cut.says('Kafka answers again');
      expect(await cut.stop()).toBe(0);
    });

    it('claims nothing before Kafka has answered, and stops in the middle of its tries', async () => {
      path.fallSilent();
      const waiting = start();
      await waiting.says('nothing is claimed before it does');
      const stopped = start();
      await stopped.says('nothing is claimed before it does');
      expect(await stopped.stop()).toBe(0);
      expect(await relayEvents()).toEqual([]);
      path.goOn();
      await waiting.says('the active relay');
    });
  });
});
