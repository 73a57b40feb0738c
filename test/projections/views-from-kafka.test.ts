import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Partitioners } from 'kafkajs';
import pino from 'pino';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import type { RecordedEvent } from '../../contracts/event-log.ts';
import { feedMessage } from '../../contracts/feed-message.ts';
import { revision } from '../../contracts/ids.ts';
import type { KafkaConfiguration } from '../../contracts/kafka-configuration.ts';
import { LIMITS } from '../../contracts/limits.ts';
import { kafkaClient } from '../../ledger/feed/kafka-client.ts';
import { viewSourceOf } from '../../projections/sources/view-source-of.ts';
import { readConfiguration } from '../../proxy/program/configuration/read-configuration.ts';
import { Gateway } from '../../proxy/program/serve/gateway.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { LogWithOutages } from '../fixtures/ledger/log-with-outages.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { startBrokerPath } from '../kafka/broker-path.ts';
import { lostBroker } from '../kafka/lost-broker.ts';
import { newTopicName } from '../kafka/new-topic-name.ts';
import { startBroker, TOPIC_PARTITIONS } from '../kafka/start-broker.ts';
import { dump, rowsOf, viewsFile } from './example-ledger.ts';
import { exampleLog, LEDGER, LIVES, published } from './example-log.ts';
import { startedViews } from './started-views.ts';

const broker = await startBroker();
afterAll(() => broker?.stop());

const [A] = LIVES.keys();
if (A === undefined) throw new Error('no example lives');
const PLACE = { eventLog: { kind: 'sqlite' }, data: '/data' } as const;
const SOURCE = { projections: { source: 'kafka', maxAgeMs: LIMITS.viewsAgeMs } } as const;

/** A topic of its own for each test, as a relay would make and fill it. */
async function topicOf(events: readonly RecordedEvent[]) {
  const kafka: KafkaConfiguration = {
    brokers: broker?.brokers ?? [],
    topic: newTopicName('views'),
    partitions: TOPIC_PARTITIONS,
    replicationFactor: 1,
    doubtfulTopic: 'warn',
    compression: 'gzip',
    ssl: false,
    sasl: null,
  };
  await broker?.createTopic(kafka.topic);
  const producer = kafkaClient({ kafka, clientId: 'test' }).producer({
    createPartitioner: Partitioners.DefaultPartitioner,
  });
  await producer.connect();
  onTestFinished(() => producer.disconnect());
  const send = async (some: readonly RecordedEvent[]): Promise<void> => {
    const messages = some.map((event) => {
      const { key, value, headers } = feedMessage(event, { source: 'urn:test', relayEpoch: 1, ledger: LEDGER });
      return { key, value, headers: { ...headers } };
    });
    await producer.send({ topic: kafka.topic, messages, acks: -1 });
  };
  await send(events);
  return { kafka, send };
}

async function start(log: LogWithOutages, path: string, kafka: KafkaConfiguration | null) {
  const from =
    kafka === null
      ? { ...PLACE, projections: { ...SOURCE.projections, source: 'log' as const }, kafka }
      : { ...PLACE, ...SOURCE, kafka };
  const source = await viewSourceOf(from, { log, clientId: 'views', ledger: Promise.resolve(LEDGER) });
  return startedViews({ log, source, path });
}

async function followed(log: LogWithOutages, path: string, kafka: KafkaConfiguration | null): Promise<void> {
  const { projections } = await start(log, path, kafka);
  await projections.whenCaughtUp();
  await projections.close();
}

/** Resolves when so many things were told; the test's own time bounds it. */
async function next(told: readonly string[], count: number): Promise<void> {
  while (told.length < count) await new Promise((resolve) => setTimeout(resolve, 20));
}

// Without a broker there is nothing to show; the same rules stand on a topic in memory in topic-view-source.test.ts.
describe.skipIf(broker === null)('views that are fed from Kafka', () => {
  test('are those that are fed from the log, byte for byte, over a restart and with events that come again', async () => {
    const log = exampleLog();
    const events = published(log);
    const [fromLog, fromKafka] = [viewsFile(), viewsFile()];
    await followed(log, fromLog, null);
    const { kafka, send } = await topicOf(events.slice(0, 80));
    const first = await start(log, fromKafka, kafka);
    await expect.poll(() => first.projections.accounts.hasFolded(A, revision(7))).toBe(true);
    await first.projections.close();
    // The relay was killed before its checkpoint: what it had sent comes again.
    await send(events.slice(40, 100));
    await send(events.slice(100));
    const { projections, stopped } = await start(log, fromKafka, kafka);
    await projections.whenCaughtUp();
    expect(projections.ageMs(Date.now())).toBe(0);
    await projections.close();
    expect(stopped).toEqual([]);
    expect(rowsOf(fromKafka)).toEqual(rowsOf(fromLog));
    expect(dump(fromKafka)).not.toEqual(dump(fromLog));
  });

  test('are as old as the time since the broker fell silent, and are live again when it answers', async () => {
    const way = endedLater(await startBrokerPath(broker?.brokers[0] ?? ''));
    const log = exampleLog();
    const { kafka } = await topicOf(published(log));
    const { projections, told } = await start(log, viewsFile(), { ...kafka, brokers: way.brokers });
    await projections.whenCaughtUp();
    await next(told, 1);
    const silencedMs = Date.now();
    way.fallSilent();
    await next(told, 2);
    const nowMs = Date.now();
    expect(projections.ageMs(nowMs + 60_000)).toBeGreaterThanOrEqual(60_000);
    expect(projections.ageMs(nowMs + 60_000)).toBeLessThanOrEqual(nowMs + 60_000 - silencedMs);
    way.goOn();
    await next(told, 3);
    expect(told).toEqual(['live', expect.stringMatching(/^dropped: /), 'live']);
    expect(projections.ageMs(Date.now())).toBe(0);
  });

  test('are fed where the first of the brokers is silent', async () => {
    const lost = endedLater(await lostBroker('silent'));
    const log = exampleLog();
    const { kafka } = await topicOf(published(log));
    const { projections } = await start(log, viewsFile(), { ...kafka, brokers: [lost.address, ...kafka.brokers] });
    await projections.whenCaughtUp();
  });

  test('tell whether the log is there, which they are compared with', async () => {
    const log = new LogWithOutages();
    const { kafka } = await topicOf([]);
    const data = temporaryFolder();
    const file = join(data, 'gateway.json');
    const { brokers, topic, partitions } = kafka;
    const settings = { listen: { port: 0 }, kafka: { brokers, topic, partitions }, projections: { source: 'kafka' } };
    writeFileSync(file, JSON.stringify({ data, ...settings }));
    const configuration = readConfiguration({ file, environment: {}, callsProviders: true });
    const clock = Date.now;
    const lines: string[] = [];
    const logger = pino({}, { write: (line: string) => lines.push(JSON.parse(line).msg) });
    const options = { configuration, log, logger, clock, monotonic: clock, reserveBytes: 1_024 };
    const gateway = endedLater(await Gateway.start(options));
    await gateway.whenReady();
    const { breaker } = gateway.process;
    expect(breaker.isAway).toBe(false);
    await log.goAway();
    await expect.poll(() => breaker.isAway, { timeout: 60_000 }).toBe(true);
    await expect.poll(() => lines, { timeout: 60_000 }).toContain('the event log is away; it is looked for');
    expect(await (await fetch(`${gateway.url}/readyz`)).text()).toMatch(/"the event log has been away for \d+ s; /);
    expect(lines).not.toContain('the source of the views is away; it is looked for');
    log.comeBack();
    await expect.poll(() => breaker.isAway, { timeout: 60_000 }).toBe(false);
  });

  test.skipIf(broker?.kind === 'mock')('are not made from a topic that has lost its beginning', async () => {
    const log = exampleLog();
    const { kafka } = await topicOf(published(log));
    await broker?.deleteBefore(kafka.topic, 2);
    const { projections } = await start(log, viewsFile(), kafka);
    await expect(projections.whenCaughtUp()).rejects.toThrow(
      /^the topic \S+ lacks its beginning \(partition \d begins at offset 2, what stood before it was deleted\)/,
    );
    expect(projections.accounts.read(A).revision).toBe(-1);
  });
});
