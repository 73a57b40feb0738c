import { mkdirSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { EXIT } from '../../proxy/program/command-error.ts';
import { type CrashCatalog, crashCatalog } from '../crash/crash-catalog.ts';
import type { GivenEventStore } from '../eventstoredb/given-event-store.ts';
import { type StartedProcess, startProcess, stopInOrder } from '../fixtures/processes/child-process.ts';
import { GATEWAY_PROGRAM, gatewayCommand, UPSTREAM_PROGRAM } from '../fixtures/processes/gateway-command.ts';
import { nodeFlagsOf } from '../fixtures/processes/node-flags.ts';
import { canMount, type MountedDisk, mountDisk } from '../shortages/mounted-disk.ts';
import { RestartedProcess } from './restarted-process.ts';
import { SOAK_ENVIRONMENT, type SoakConfigurationParts, writeSoakConfiguration } from './soak-configuration.ts';
import { type StoreOfRun, startStoreOfRun } from './store-of-run.ts';

interface SoakProxy {
  readonly process: RestartedProcess;
  readonly viewsFrom: 'log' | 'kafka';
  readonly data: string;
  /** What its data folder lies on, where that can be filled; null where it is the machine's own. */
  readonly disk: MountedDisk | null;
  /** Every address it ever had, so that a request finds the proxy that it went to. */
  readonly urls: Set<string>;
  /** Null while it is not ready. */
  url: string | null;
  /** Killed for good: nobody starts it again, and its journal is gone with its machine. */
  isLost: boolean;
}

/** Where a soak happens. */
export interface SoakPlaces {
  readonly folder: string;
  readonly brokers: readonly string[];
  readonly topic: string;
  /** An event store that is there already; null: one is started. */
  readonly given: GivenEventStore | null;
}

const MODELS = 200;
/** Of the first proxy: its journal with a reserve and its views, and as much again. */
const DISK_KIB = 64 * 1_024;
const RELAYS = ['relay-a', 'relay-b'];
/** Relays are killed far more often than any should be: the other one need not wait as long as it usually would. */
export const CLAIM_SECONDS = 15;

/** The processes of the soak, each with its own configuration and folder, around one event store and one broker. */
export class SoakFleet {
  readonly catalog: CrashCatalog = crashCatalog(MODELS);
  /** What the upstream saw, one JSON line each. */
  readonly recordPath: string;
  readonly store: StoreOfRun;
  readonly relays: readonly RestartedProcess[];
  readonly proxies: SoakProxy[] = [];
  readonly #parts: SoakConfigurationParts;
  readonly #stderrFd: number;
  readonly #upstream: StartedProcess;
  readonly #commandConfig: string;

  private constructor(parts: SoakConfigurationParts, store: StoreOfRun, upstream: StartedProcess, stderrFd: number) {
    const { folder } = parts;
    this.#parts = parts;
    this.#stderrFd = stderrFd;
    this.#upstream = upstream;
    this.recordPath = recordPathOf(folder);
    this.store = store;
    writeFileSync(parts.catalogPath, JSON.stringify(this.catalog.file));
    this.relays = RELAYS.map((name) => this.#relay(name));
    this.#commandConfig = writeSoakConfiguration(parts, 'commands', 'log').configPath;
  }

  /** Starts the upstream and the event store, where none is given, and nothing else yet. */
  static async layOut({ folder, brokers, topic, given }: SoakPlaces): Promise<SoakFleet> {
    mkdirSync(folder, { recursive: true });
    const stderrFd = openSync(join(folder, 'stderr.log'), 'a');
    const recordPath = recordPathOf(folder);
    writeFileSync(recordPath, '');
    const upstream = startProcess([UPSTREAM_PROGRAM, '--port', '0', '--record', recordPath], { stderrFd });
    const { url: upstreamUrl } = await upstream.firstLine;
    const store = await startStoreOfRun(folder, stderrFd, given);
    const catalogPath = join(folder, 'catalog.json');
    const parts = { folder, catalogPath, upstreamUrl, eventLog: store.eventLog, brokers, topic };
    return new SoakFleet(parts, store, upstream, stderrFd);
  }

  /** Those that are ready, for clients. */
  get urls(): string[] {
    return this.proxies.flatMap(({ url }) => (url === null ? [] : [url]));
  }

  /** Those that somebody starts again. */
  get kept(): SoakProxy[] {
    return this.proxies.filter(({ isLost }) => !isLost);
  }

  /** Another proxy, with a folder of its own; not started. `onChange` is told whenever one is ready, or no longer. */
  addProxy(viewsFrom: SoakProxy['viewsFrom'], onChange: () => void): SoakProxy {
    const name = `proxy-${this.proxies.length + 1}`;
    const { configPath, data } = writeSoakConfiguration(this.#parts, name, viewsFrom);
    const disk = canMount && this.proxies.length === 0 ? mountDisk(data, DISK_KIB) : null;
    const process = new RestartedProcess(
      name,
      () => this.#startGateway(configPath, 'serve'),
      (line) => {
        proxy.url = line?.url ?? null;
        if (proxy.url !== null) proxy.urls.add(proxy.url);
        onChange();
      },
    );
    const proxy: SoakProxy = { process, viewsFrom, data, disk, urls: new Set(), url: null, isLost: false };
    this.proxies.push(proxy);
    return proxy;
  }

  /** Runs a command of the gateway program, as an operator does from anywhere. @throws Error when it fails. */
  command(...args: readonly string[]): Promise<string> {
    return gatewayCommand(this.#commandConfig, ...args);
  }

  /** The disks of proxies, with what is on them; last of all. */
  unmount(): void {
    for (const { disk } of this.proxies) disk?.unmount();
  }

  async stopRest(): Promise<void> {
    await this.store.stop();
    await stopInOrder(this.#upstream);
  }

  #relay(name: string): RestartedProcess {
    const { configPath } = writeSoakConfiguration(this.#parts, name, 'log');
    return new RestartedProcess(
      name,
      () => this.#startGateway(configPath, 'relay', '--claim-seconds', String(CLAIM_SECONDS)),
      () => undefined,
      // Its claim ran out on a busy machine, and the other relay has taken it.
      EXIT.refused,
    );
  }

  #startGateway(configPath: string, ...command: readonly string[]): StartedProcess {
    const program = [...nodeFlagsOf(GATEWAY_PROGRAM), GATEWAY_PROGRAM, ...command, '--config', configPath, '--json'];
    return startProcess(program, { stderrFd: this.#stderrFd, environment: SOAK_ENVIRONMENT });
  }
}

const recordPathOf = (folder: string): string => join(folder, 'upstream.jsonl');
