import { once } from 'node:events';
import { join } from 'node:path';
import type { KafkaConfiguration } from '../../../contracts/kafka-configuration.ts';
import type { Processes } from '../../fixtures/processes/processes.ts';
import { newTopicName } from '../../kafka/new-topic-name.ts';
import { startRealBrokers } from '../../kafka/real-brokers.ts';
import { createTopicOn, TOPIC_PARTITIONS } from '../../kafka/start-broker.ts';
import { fillLedger } from '../fill-ledger.ts';
import type { Options } from '../options.ts';
import { machineCpuUs } from '../process-usage.ts';
import type { FeedSample } from './feed-figures.ts';
import { FEED_CODECS, FEED_WRITERS, type FeedJob, type FeedResult, VIEW_SOURCES } from './feed-protocol.ts';

/** Of which the first third is warm-up: Node compiles what runs. */
const EVENTS = 100_000;
const ACCOUNTS = 1_000;
const WARM_UP_PART = 3;

type FeedOptions = Pick<Options, 'rounds' | 'profile'>;

/**
 * A topic filled by the relay and by the driver alone, for each codec, and views from nothing, from the log and from the
 * topic: each in a process of its own, one at a time, interleaved. Null where there is no Kafka: nothing is fetched.
 */
export async function measureFeed(
  processes: Processes,
  { rounds, profile }: FeedOptions,
  profileFolder: string,
): Promise<FeedSample[] | null> {
  const given = (process.env.KAFKA_BROKERS ?? '').split(',').filter(Boolean);
  const own = given.length > 0 ? null : await startRealBrokers(1);
  const brokers = own?.brokers ?? given;
  if (brokers.length === 0) return null;
  try {
    const bench = new FeedBench(processes, brokers, profile ? profileFolder : null);
    await bench.open();
    return await bench.measure(rounds);
  } finally {
    await own?.stop();
  }
}

class FeedBench {
  readonly #processes: Processes;
  readonly #brokers: readonly string[];
  readonly #profileFolder: string | null;
  readonly #ledger: string;
  #jobs = 0;
  #events = 0;

  constructor(processes: Processes, brokers: readonly string[], profileFolder: string | null) {
    this.#processes = processes;
    this.#brokers = brokers;
    this.#profileFolder = profileFolder;
    this.#ledger = join(processes.folder, 'feed.db');
  }

  async open(): Promise<void> {
    this.#events = await fillLedger(this.#ledger, { accounts: ACCOUNTS, events: EVENTS });
  }

  async measure(rounds: number): Promise<FeedSample[]> {
    const samples: FeedSample[] = [];
    for (let round = 0; round < rounds; round++) {
      let filled: KafkaConfiguration | null = null;
      for (const codec of FEED_CODECS)
        for (const writer of round % 2 === 0 ? FEED_WRITERS : FEED_WRITERS.toReversed()) {
          const kafka = await this.#topic();
          const warmUp = Math.floor(this.#events / WARM_UP_PART);
          const job = {
            type: 'fill',
            kafka,
            ledger: this.#ledger,
            writer,
            codec,
            warmUp,
            events: this.#events,
          } as const;
          samples.push({ what: `${writer}, ${codec}`, round, ...(await this.#run(job)) });
          if (codec === 'gzip') filled = kafka;
        }
      if (filled === null) throw new Error('no topic was filled');
      for (const source of round % 2 === 0 ? VIEW_SOURCES : VIEW_SOURCES.toReversed()) {
        const views = join(this.#processes.folder, `views-${round}-${source}.db`);
        const job = { type: 'views', kafka: filled, ledger: this.#ledger, source, views } as const;
        samples.push({ what: `views from the ${source}`, round, ...(await this.#run(job)) });
      }
    }
    return samples;
  }

  async #topic(): Promise<KafkaConfiguration> {
    const topic = newTopicName('bench');
    await createTopicOn(this.#brokers, topic);
    return {
      brokers: [...this.#brokers],
      topic,
      partitions: TOPIC_PARTITIONS,
      replicationFactor: -1,
      doubtfulTopic: 'warn',
      compression: 'gzip',
      ssl: false,
      sasl: null,
    };
  }

  async #run(job: FeedJob): Promise<FeedResult & { othersShare: number }> {
    const name = `feed-${this.#jobs++}`;
    const isOurs = job.type === 'views' || job.writer === 'relay';
    const profiled = this.#profileFolder !== null && isOurs;
    const nodeOptions = profiled ? ['--cpu-prof', `--cpu-prof-dir=${this.#profileFolder}`] : [];
    const child = this.#processes.fork(name, new URL('main.ts', import.meta.url), nodeOptions, [JSON.stringify(job)]);
    const machineBefore = machineCpuUs();
    const startMs = performance.now();
    const [result] = (await Promise.race([
      once(child, 'message'),
      once(child, 'exit').then(([code]) => Promise.reject(new Error(`${name} has ended with ${code}`))),
    ])) as [FeedResult];
    const machineUs = machineCpuUs() - machineBefore;
    const seconds = (performance.now() - startMs) / 1000;
    if (child.exitCode === null) await once(child, 'exit');
    await this.#processes.stop(name);
    return { ...result, othersShare: Math.max(0, machineUs - result.cpuUs) / (seconds * 1_000_000) };
  }
}
