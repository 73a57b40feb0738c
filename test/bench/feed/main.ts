import { dirname } from 'node:path';
import kafkajs from 'kafkajs';
import pino from 'pino';
import { Registry } from 'prom-client';
import type { EventLog, RecordedEvent } from '../../../contracts/event-log.ts';
import { type FeedMessage, feedMessage } from '../../../contracts/feed-message.ts';
import type { LedgerIdentity } from '../../../contracts/ledger-identity.ts';
import { SQLITE_LIMITS } from '../../../ledger/event-log/sqlite/limits.ts';
import { openSqliteEventLog } from '../../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { registerZstd } from '../../../ledger/feed/zstd-codec.ts';
import { readLedgerState } from '../../../ledger/identity/ledger-state.ts';
import { batches } from '../../../ledger/relay/batches.ts';
import { KafkaPublisher } from '../../../ledger/relay/kafka-publisher.ts';
import { RELAY_LIMITS } from '../../../ledger/relay/limits.ts';
import { isPublished } from '../../../ledger/relay/published.ts';
import type { Publisher } from '../../../ledger/relay/publisher.ts';
import { runRelay } from '../../../ledger/relay/relay.ts';
import { RelayMetrics } from '../../../ledger/relay/relay-metrics.ts';
import { Projections } from '../../../projections/projections.ts';
import { viewSourceOf } from '../../../projections/sources/view-source-of.ts';
import type { FeedJob, FeedResult, FillJob } from './feed-protocol.ts';
import { Stretch } from './stretch.ts';

/** One contender of one round: does its job, says what that took, and ends. */
const job = JSON.parse(process.argv[2] ?? '') as FeedJob;
const result = await (job.type === 'views' ? buildViews(job) : job.writer === 'relay' ? relay(job) : driver(job));
process.send?.(result);
process.disconnect?.();

type ViewsJob = Extract<FeedJob, { type: 'views' }>;

async function relay(fill: FillJob): Promise<FeedResult> {
  const stretch = new Stretch(fill);
  const log = await openSqliteEventLog({ path: fill.ledger });
  const kafka = { ...fill.kafka, compression: fill.codec };
  const inner = new KafkaPublisher({ kafka, clientId: 'bench-relay' });
  const publisher: Publisher = {
    connect: (signal) => inner.connect(signal),
    look: () => inner.look(),
    publish: async (messages) => {
      await inner.publish(messages);
      stretch.acknowledged(messages.length);
    },
    close: () => inner.close(),
  };
  const stop = new AbortController();
  const running = runRelay({
    log,
    publisher,
    feed: kafka.topic,
    place: { where: fill.ledger, looks: 1 },
    relay: 'bench',
    claimMs: RELAY_LIMITS.claimMs,
    metrics: new RelayMetrics(new Registry(), Date.now),
    logger: pino({ level: 'silent' }),
    clock: Date.now,
    signal: stop.signal,
  });
  const measured = await Promise.race([stretch.done, running.then(() => Promise.reject(new Error('the relay ended')))]);
  stop.abort();
  await running;
  await log.close();
  return measured;
}

/** kafkajs as it comes, with the relay's settings, messages and batches. */
async function driver(fill: FillJob): Promise<FeedResult> {
  const { kafka } = fill;
  registerZstd();
  const { Kafka, CompressionTypes, Partitioners, logLevel } = kafkajs;
  const client = new Kafka({ clientId: 'bench-kafkajs', brokers: [...kafka.brokers], logLevel: logLevel.NOTHING });
  const producer = client.producer({
    allowAutoTopicCreation: false,
    maxInFlightRequests: 1,
    createPartitioner: Partitioners.DefaultPartitioner,
  });
  const made = await messagesOf(fill.ledger);
  const stretch = new Stretch(fill);
  await producer.connect();
  for (const messages of made) {
    await producer.sendBatch({
      acks: -1,
      compression: fill.codec === 'gzip' ? CompressionTypes.GZIP : CompressionTypes.ZSTD,
      topicMessages: [{ topic: kafka.topic, messages }],
    });
    stretch.acknowledged(messages.length);
  }
  await producer.disconnect();
  return await stretch.done;
}

type DriverMessage = Pick<FeedMessage, 'key' | 'value'> & { headers: Record<string, string> };

async function messagesOf(ledger: string): Promise<DriverMessage[][]> {
  const log = await openSqliteEventLog({ path: ledger });
  const events: RecordedEvent[] = [];
  for await (const event of log.readAll({ after: null })) if (isPublished(event)) events.push(event);
  const origin = { source: '/model-gateway/bench', relayEpoch: 1, ledger: await identityOf(log) };
  await log.close();
  const pages: RecordedEvent[][] = [];
  // The relay makes batches of what it is handed over, which is a page of the log.
  for (let at = 0; at < events.length; at += SQLITE_LIMITS.pageEvents)
    pages.push(events.slice(at, at + SQLITE_LIMITS.pageEvents));
  return pages
    .flatMap((page) => [...batches(page)])
    .map((batch) =>
      batch.map((event) => {
        const { key, value, headers } = feedMessage(event, origin);
        return { key, value, headers: { ...headers } };
      }),
    );
}

async function buildViews({ kafka, ledger, source, views }: ViewsJob): Promise<FeedResult> {
  const log = await openSqliteEventLog({ path: ledger });
  const maxAgeMs = 300_000;
  const from = {
    projections: { source: source === 'log' ? ('log' as const) : ('kafka' as const), maxAgeMs },
    kafka,
    eventLog: { kind: 'sqlite' as const },
    data: dirname(ledger),
  };
  const startMs = performance.now();
  const startCpu = process.cpuUsage();
  const feed = await viewSourceOf(from, { log, clientId: 'bench-views', ledger: identityOf(log) });
  const failed = Promise.withResolvers<never>();
  const projections = await Projections.start({ log, source: feed, path: views, persist: true });
  projections.follow({ onStopped: (error) => failed.reject(error) });
  await Promise.race([projections.whenCaughtUp(), failed.promise]);
  const seconds = (performance.now() - startMs) / 1000;
  const { user, system } = process.cpuUsage(startCpu);
  const events = (await log.headPosition()) ?? 0;
  await projections.close();
  await log.close();
  return { seconds, cpuUs: user + system, events, batches: 0 };
}

async function identityOf(log: EventLog): Promise<LedgerIdentity> {
  const { identity } = await readLedgerState(log);
  if (identity === null) throw new Error('the ledger has no identity');
  return identity;
}
