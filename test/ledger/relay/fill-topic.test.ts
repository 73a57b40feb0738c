import { afterAll, describe, expect, it } from 'vitest';
import { relayStream } from '../../../contracts/ids.ts';
import { newTopicName } from '../../kafka/new-topic-name.ts';
import { firstRevisions, readTopic } from '../../kafka/read-topic.ts';
import { type Broker, startBroker } from '../../kafka/start-broker.ts';
import { LedgerFile } from './ledger-file.ts';
import { RelayProcess, type RelaySite } from './relay-process.ts';

const broker: Broker | null = await startBroker();

// The mock adds no partitions.
describe.skipIf(broker === null || broker.kind === 'mock')('a topic that gets partitions once it has messages', () => {
  const start = (site: RelaySite): RelayProcess => new RelayProcess(site);

  afterAll(() => broker?.stop());

  it('is written to no more, and followed by another, which is filled whole and in order, and gone on with', async () => {
    if (broker === null) return;
    const ledger = await LedgerFile.open();
    for (const at of [1, 2, 3, 4, 5, 6]) await ledger.append(`acct_${at}`, 3);
    const site: RelaySite = { folder: ledger.folder, brokers: broker.brokers, topic: newTopicName('grown') };
    const running = start(site);
    await running.published(19);
    await broker.addPartitions(site.topic, 9);
    const followed = start({ ...site, partitions: 9 });
    expect(await followed.exit()).toBe(2);
    await followed.says('where it does not belong among 9');

    const next = newTopicName('next');
    const filling = start({ ...site, claimSeconds: 500, fill: [next, '--partitions', '9'] });
    expect(await filling.exit()).toBe(0);
    await filling.says(`the topic ${next} has all that the ledger had, in 9 partitions`);
    const [claimed] = await Array.fromAsync(ledger.log.readStream(relayStream(next)));
    const { until } = JSON.parse(claimed?.data ?? '');
    expect(Date.parse(until) - Date.parse(JSON.parse(claimed?.metadata ?? '').recordedAt)).toBe(500_000);
    const topic = readTopic(broker.brokers, next);
    await topic.until('all that the ledger had', (events) => events.length >= 19);
    expect(topic.events.length).toBe(19);

    await running.kill();
    await ledger.append('acct_1', 2);
    const switched = start({ ...site, topic: next, partitions: 9 });
    await topic.until('what is new', (events) => events.length >= 21);
    expect(await switched.metric('gateway_relay_published_total')).toBe(2);
    await topic.close();
    const log = await Array.fromAsync(ledger.log.readAll());
    const own = new Set([relayStream(site.topic), relayStream(next)]);
    const inOrder = new Map<string, number[]>();
    for (const { stream, revision } of log)
      if (!own.has(stream)) inOrder.set(stream, [...(inOrder.get(stream) ?? []), revision]);
    expect(firstRevisions(topic.events)).toEqual(inOrder);
  });

  it('cannot be filled under the name that is in use', async () => {
    const ledger = await LedgerFile.open();
    const site: RelaySite = { folder: ledger.folder, brokers: broker?.brokers ?? [], topic: newTopicName('same') };
    const filling = start({ ...site, fill: [site.topic] });
    expect(await filling.exit()).toBe(2);
    await filling.says('is the topic in use (kafka.topic)');
  });
});
