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
  /** The same of the further listeners, by their names. */
  readonly listeners: Readonly<Record<string, readonly string[]>>;
  /** SIGSTOP, SIGCONT, SIGKILL to one of them. Resolves when one that was killed is gone. */
  signal(broker: number, signal: NodeJS.Signals): Promise<void>;
  /** Starts one that was killed again, with what it had. Resolves when it serves. */
  startAgain(broker: number): Promise<void>;
  pid(broker: number): number;
  /** Kills what lives, and removes what they have written. */
  stop(): Promise<void>;
}

/** Beside the one without TLS and credentials. */
interface FurtherListeners {
  /** Of each listener, by a name in capitals. */
  readonly protocols: Readonly<Record<string, 'SSL' | 'SASL_SSL'>>;
  readonly properties: Readonly<Record<string, string | number>>;
}

const NONE: FurtherListeners = { protocols: {}, properties: {} };

/** A broker takes five seconds of CPU, which a machine that is far too busy was seen to give it in two minutes. */
const START_MS = 300_000;
/** Another program may take a port between its choice and the broker's start; and see `startAgain`. */
const TRIES_MAX = 3;

/** Null where Kafka was not fetched. @throws Error with what the brokers have said, where they do not start */
export async function startRealBrokers(count: number, further = NONE): Promise<RealBrokers | null> {
  const jars = fetchedKafka();
  if (jars === null) return null;
  for (let attempt = 1; ; attempt++) {
    const cluster = await Cluster.layOut(jars, count, further);
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
  readonly listeners: Readonly<Record<string, readonly string[]>>;
  readonly #folder: string;
  readonly #jars: string;
  readonly #processes: (BrokerProcess | null)[];

  static async layOut(jars: string, count: number, further: FurtherListeners): Promise<Cluster> {
    const names = ['PLAINTEXT', 'CONTROLLER', ...Object.keys(further.protocols)];
    const free = await freePorts(names.length * count);
    return new Cluster(jars, further, new Map(names.map((name) => [name, free.splice(0, count)])));
  }

  /** @param ports of each listener, by the brokers' numbers */
  private constructor(jars: string, further: FurtherListeners, ports: ReadonlyMap<string, readonly number[]>) {
    this.#jars = jars;
    this.#folder = mkdtempSync(join(tmpdir(), 'kafka-'));
    this.listeners = Object.fromEntries([...ports].map(([name, ofName]) => [name, ofName.map(addressOf)]));
    this.brokers = this.listeners.PLAINTEXT ?? [];
    this.#processes = this.brokers.map(() => null);
    for (const number of this.brokers.keys()) {
      const data = join(this.#folder, String(number));
      mkdirSync(data);
      // What `kafka-storage format` writes; starting Java for it would cost as much again as the broker.
      writeFileSync(join(data, 'meta.properties'), lines({ version: 1, 'cluster.id': CLUSTER_ID, 'node.id': number }));
      const properties = propertiesOf({ number, data, listeners: this.listeners, further });
      writeFileSync(this.#propertiesOf(number), lines(properties));
    }
  }

  async start(): Promise<void> {
    await Promise.all(this.#processes.keys().map((number) => this.#startOne(number)));
  }

  async startAgain(broker: number): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#startOne(broker);
      } catch (error) {
        // On a machine that is far too busy a broker and its controller can miss each other's times for good.
        await this.#processes[broker]?.kill();
        if (attempt === TRIES_MAX) throw error;
      }
    }
  }

  async #startOne(broker: number): Promise<void> {
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

const addressOf = (port: number): string => `127.0.0.1:${port}`;

interface Layout {
  readonly number: number;
  readonly data: string;
  readonly listeners: RealBrokers['listeners'];
  readonly further: FurtherListeners;
}

/** As a cluster's operators would set it where it is about safety, and as small as can be in everything else. */
function propertiesOf({ number, data, listeners, further }: Layout): Record<string, string | number | boolean> {
  const { CONTROLLER: controllers = [] } = listeners;
  const replicas = Math.min(3, controllers.length);
  const protocols = Object.entries({ CONTROLLER: 'PLAINTEXT', PLAINTEXT: 'PLAINTEXT', ...further.protocols });
  return {
    'node.id': number,
    'process.roles': 'broker,controller',
    listeners: protocols.map(([name]) => `${name}://${listeners[name]?.[number]}`).join(),
    'controller.listener.names': 'CONTROLLER',
    'listener.security.protocol.map': protocols.map(([name, protocol]) => `${name}:${protocol}`).join(),
    'controller.quorum.voters': controllers.map((address, at) => `${at}@${address}`).join(),
    'log.dirs': data,
    'auto.create.topics.enable': false,
    'default.replication.factor': replicas,
    'min.insync.replicas': Math.ceil(replicas / 2),
    'offsets.topic.replication.factor': replicas,
    'offsets.topic.num.partitions': 1,
    // A first member is not to wait for others, and one with a short session is let in.
    'group.initial.rebalance.delay.ms': 0,
    'group.min.session.timeout.ms': 1_000,
    // A broker that is stopped or dead loses its partitions soon; one that is alone, and busy, has nobody to lose them to.
    'broker.session.timeout.ms': controllers.length > 1 ? 4_000 : 60_000,
    'broker.heartbeat.interval.ms': 1_000,
    // A broker with nothing to do does next to nothing.
    'metadata.max.idle.interval.ms': 0,
    'num.network.threads': 1,
    'num.io.threads': 2,
    'background.threads': 1,
    'log.cleaner.enable': false,
    ...further.properties,
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
