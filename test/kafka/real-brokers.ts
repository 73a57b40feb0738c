import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fetchedKafka } from './fetched-kafka.ts';
import { freePorts } from './free-ports.ts';
import { processIdIn, spawnWithItsParent } from './with-its-parent.ts';

/** Apache Kafka on this machine: brokers that are controllers, too, so that a majority of them is a cluster. */
export interface RealBrokers {
  /** By their number, host:port. */
  readonly brokers: readonly string[];
  /** SIGSTOP, SIGCONT, SIGKILL to one of them. Resolves when one that was killed is gone. */
  signal(broker: number, signal: NodeJS.Signals): Promise<void>;
  /** Starts one that was killed again, with what it had. Resolves when it serves. */
  startAgain(broker: number): Promise<void>;
  pid(broker: number): number;
  /** Kills what lives, and removes what they have written. */
  stop(): Promise<void>;
}

const START_MS = 120_000;
/** Another program may take a port between its choice and the broker's start. */
const TRIES_MAX = 3;

/** Null where Kafka was not fetched. @throws Error with what the brokers have said, where they do not start */
export async function startRealBrokers(count: number): Promise<RealBrokers | null> {
  const jars = fetchedKafka();
  if (jars === null) return null;
  for (let attempt = 1; ; attempt++) {
    const cluster = await Cluster.layOut(jars, count);
    try {
      await cluster.start();
      return cluster;
    } catch (error) {
      await cluster.stop();
      if (attempt === TRIES_MAX) throw error;
    }
  }
}

class Cluster implements RealBrokers {
  readonly brokers: readonly string[];
  readonly #folder: string;
  readonly #jars: string;
  readonly #processes: (BrokerProcess | null)[];

  static async layOut(jars: string, count: number): Promise<Cluster> {
    const ports = await freePorts(2 * count);
    return new Cluster(jars, ports.slice(0, count), ports.slice(count));
  }

  private constructor(jars: string, ports: readonly number[], controllerPorts: readonly number[]) {
    this.#jars = jars;
    this.#folder = mkdtempSync(join(tmpdir(), 'kafka-'));
    this.brokers = ports.map((port) => `127.0.0.1:${port}`);
    this.#processes = ports.map(() => null);
    for (const number of ports.keys()) {
      const data = join(this.#folder, String(number));
      mkdirSync(data);
      // What `kafka-storage format` writes; starting Java for it would cost as much again as the broker.
      writeFileSync(join(data, 'meta.properties'), lines({ version: 1, 'cluster.id': CLUSTER_ID, 'node.id': number }));
      writeFileSync(this.#propertiesOf(number), lines(propertiesOf({ number, data, ports, controllerPorts })));
    }
  }

  async start(): Promise<void> {
    await Promise.all(this.#processes.keys().map((number) => this.startAgain(number)));
  }

  async startAgain(broker: number): Promise<void> {
    const started = new BrokerProcess(this.#jars, this.#propertiesOf(broker));
    this.#processes[broker] = started;
    await started.serves;
  }

  async signal(broker: number, signal: NodeJS.Signals): Promise<void> {
    process.kill(this.pid(broker), signal);
    if (signal === 'SIGKILL') await this.#processes[broker]?.ended;
  }

  pid(broker: number): number {
    const pid = this.#processes[broker]?.pid ?? null;
    if (pid === null) throw new RangeError(`no broker ${broker} was started`);
    return pid;
  }

  async stop(): Promise<void> {
    await Promise.all(this.#processes.map((started) => started?.kill()));
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #propertiesOf(number: number): string {
    return join(this.#folder, `${number}.properties`);
  }
}

const CLUSTER_ID = 'Z2F0ZXdheS10ZXN0cy0wMA';

interface Layout {
  readonly number: number;
  readonly data: string;
  readonly ports: readonly number[];
  readonly controllerPorts: readonly number[];
}

/** As a cluster's operators would set it where it is about safety, and as small as can be in everything else. */
function propertiesOf({ number, data, ports, controllerPorts }: Layout): Record<string, string | number | boolean> {
  const replicas = Math.min(3, ports.length);
  return {
    'node.id': number,
    'process.roles': 'broker,controller',
    listeners: `PLAINTEXT://127.0.0.1:${ports[number]},CONTROLLER://127.0.0.1:${controllerPorts[number]}`,
    'controller.listener.names': 'CONTROLLER',
    'listener.security.protocol.map': 'CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT',
    'controller.quorum.voters': controllerPorts.map((port, at) => `${at}@127.0.0.1:${port}`).join(),
    'log.dirs': data,
    'auto.create.topics.enable': false,
    'default.replication.factor': replicas,
    'min.insync.replicas': Math.ceil(replicas / 2),
    'offsets.topic.replication.factor': replicas,
    'offsets.topic.num.partitions': 1,
    // A first member is not to wait for others, and one with a short session is let in.
    'group.initial.rebalance.delay.ms': 0,
    'group.min.session.timeout.ms': 1_000,
    // A broker that is stopped or dead loses its partitions soon.
    'broker.session.timeout.ms': 4_000,
    'broker.heartbeat.interval.ms': 1_000,
    // A broker with nothing to do does next to nothing.
    'metadata.max.idle.interval.ms': 0,
    'num.network.threads': 1,
    'num.io.threads': 2,
    'background.threads': 1,
    'log.cleaner.enable': false,
  };
}

const lines = (properties: Record<string, string | number | boolean>): string =>
  Object.entries(properties)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('');

const JAVA = [
  '-Xmx256m',
  '-XX:+UseSerialGC',
  '-XX:TieredStopAtLevel=1',
  '-XX:-UsePerfData',
  '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn',
  '-Dorg.slf4j.simpleLogger.log.kafka.server.KafkaRaftServer=info',
];

const LINES_KEPT = 40;

class BrokerProcess {
  /** Rejects when it ends before it serves, or takes too long. */
  readonly serves: Promise<void>;
  readonly ended: Promise<unknown>;
  pid: number | null = null;
  readonly #child: ChildProcess;
  readonly #said: string[] = [];

  constructor(jars: string, properties: string) {
    const java = ['java', ...JAVA, '-cp', join(jars, '*'), 'kafka.Kafka', properties];
    this.#child = spawnWithItsParent(...java);
    this.ended = once(this.#child, 'close');
    this.serves = this.#untilItServes();
    // Whoever kills it before does not wait for it.
    this.serves.catch(() => undefined);
  }

  async kill(): Promise<void> {
    this.#child.stdin?.end();
    await this.ended;
  }

  async #untilItServes(): Promise<void> {
    const serves = Promise.withResolvers<void>();
    const timer = setTimeout(() => serves.reject(this.#failure(`does not serve after ${START_MS} ms`)), START_MS);
    this.ended.then(
      () => serves.reject(this.#failure('has ended')),
      (error: unknown) => serves.reject(error),
    );
    // They are read to the end, for a full pipe would stop the broker.
    for (const stream of [this.#child.stdout, this.#child.stderr])
      if (stream !== null)
        createInterface({ input: stream }).on('line', (line) => {
          this.#said.push(line);
          if (this.#said.length > LINES_KEPT) this.#said.shift();
          this.pid ??= processIdIn(line);
          if (line.includes('Kafka Server started')) serves.resolve();
        });
    try {
      await serves.promise;
    } finally {
      clearTimeout(timer);
    }
  }

  #failure(what: string): Error {
    return new Error(`the broker ${what}; it said\n${this.#said.join('\n')}`);
  }
}
