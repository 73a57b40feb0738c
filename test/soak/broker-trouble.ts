import { setTimeout as delay } from 'node:timers/promises';
import { Kafka, logLevel } from 'kafkajs';
import type { SeededRandom } from '../fixtures/seeded-random.ts';
import type { RealBrokers } from '../kafka/real-brokers.ts';

/** Who is taken: clients begin with the first seed, and write to a partition's leader. */
const PARTS = ['first seed', 'leader', 'any'] as const;
type Part = (typeof PARTS)[number];

const CONNECT_MS = 3_000;
const REQUEST_MS = 5_000;

/** Brokers of a cluster that is there for this run alone, taken away one at a time. */
export class BrokerTrouble {
  readonly #cluster: RealBrokers;
  readonly #topic: string;
  readonly #taken: string[] = [];

  constructor(cluster: RealBrokers, topic: string) {
    this.#cluster = cluster;
    this.#topic = topic;
  }

  /** As `broker 2, leader of a partition, killed`, of each that was taken. */
  get taken(): readonly string[] {
    return this.#taken;
  }

  /** `kill -9`; it serves again when this resolves. */
  async kill(random: SeededRandom, awayMs: number): Promise<void> {
    const { broker, part } = await this.#choose(random);
    await this.#cluster.signal(broker, 'SIGKILL');
    this.#taken.push(`${part} killed`);
    await delay(awayMs);
    await this.#cluster.startAgain(broker);
  }

  /** Stands still: it keeps its connections, and answers nobody. */
  async pause(random: SeededRandom, pausedMs: number): Promise<void> {
    const { broker, part } = await this.#choose(random);
    await this.#cluster.signal(broker, 'SIGSTOP');
    this.#taken.push(`${part} paused`);
    try {
      await delay(pausedMs);
    } finally {
      await this.#cluster.signal(broker, 'SIGCONT');
    }
  }

  async #choose(random: SeededRandom): Promise<{ readonly broker: number; readonly part: Part }> {
    const part = PARTS[random.whole(0, PARTS.length - 1)] ?? 'any';
    const any = random.whole(0, this.#cluster.brokers.length - 1);
    if (part === 'first seed') return { broker: 0, part };
    if (part === 'any') return { broker: any, part };
    return { broker: await this.#leader(any), part };
  }

  /** Of one of the topic's partitions; a broker's number is its id. */
  async #leader(which: number): Promise<number> {
    const admin = new Kafka({
      clientId: 'soak-trouble',
      brokers: [...this.#cluster.brokers],
      connectionTimeout: CONNECT_MS,
      requestTimeout: REQUEST_MS,
      logLevel: logLevel.NOTHING,
    }).admin();
    await admin.connect();
    try {
      const { topics } = await admin.fetchTopicMetadata({ topics: [this.#topic] });
      const partitions = topics[0]?.partitions ?? [];
      const leader = partitions[which % Math.max(1, partitions.length)]?.leader ?? -1;
      return leader < 0 ? which : leader;
    } finally {
      await admin.disconnect();
    }
  }
}
