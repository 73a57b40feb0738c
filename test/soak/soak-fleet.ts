import { mkdirSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../bench/processes.ts';
import { type StartedProcess, startProcess, stopInOrder } from '../crash/child-process.ts';
import { type CrashCatalog, crashCatalog } from '../crash/crash-catalog.ts';
import { GATEWAY_PROGRAM, gatewayCommand, UPSTREAM_PROGRAM } from '../crash/gateway-command.ts';
import { canMount, type MountedDisk, mountDisk } from '../shortages/mounted-disk.ts';
import { RestartedProcess } from './restarted-process.ts';
import { SOAK_ENVIRONMENT, type SoakConfigurationParts, writeSoakConfiguration } from './soak-configuration.ts';

export interface SoakProxy {
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

const EVENT_STORE_PROGRAM = fileURLToPath(new URL('../eventstoredb/main.ts', import.meta.url));
const MODELS = 200;
/** Of the first proxy: its journal with a reserve and its views, and as much again. */
const DISK_KIB = 64 * 1_024;
const RELAYS = ['relay-a', 'relay-b'];
/** Relays are killed far more often than any should be: the other one need not wait as long as it usually would. */
const CLAIM_SECONDS = 15;

/** The processes of the soak, each with its own configuration and folder, around one event store and one broker. */
export class SoakFleet {
  readonly catalog: CrashCatalog = crashCatalog(MODELS);
  /** What the upstream saw, one JSON line each. */
  readonly recordPath: string;
  /** What the event store holds. */
  readonly eventsPath: string;
  readonly store: RestartedProcess;
  readonly relays: readonly RestartedProcess[];
  readonly proxies: SoakProxy[] = [];
  readonly #parts: SoakConfigurationParts;
  readonly #stderrFd: number;
  readonly #upstream: StartedProcess;
  readonly #commandConfig: string;

  private constructor(parts: SoakConfigurationParts, storePort: number, upstream: StartedProcess, stderrFd: number) {
    const { folder } = parts;
    this.#parts = parts;
    this.#stderrFd = stderrFd;
    this.#upstream = upstream;
    this.recordPath = recordPathOf(folder);
    this.eventsPath = join(folder, 'events.jsonl');
    const storeArguments = [EVENT_STORE_PROGRAM, '--port', String(storePort), '--file', this.eventsPath];
    this.store = new RestartedProcess(
      'event store',
      () => startProcess(storeArguments, { stderrFd }),
      () => undefined,
    );
    writeFileSync(parts.catalogPath, JSON.stringify(this.catalog.file));
    this.relays = RELAYS.map((name) => this.#relay(name));
    this.#commandConfig = writeSoakConfiguration(parts, 'commands', 'log').configPath;
  }

  /** Starts the upstream and the event store, and nothing else yet. */
  static async layOut(folder: string, brokers: readonly string[], topic: string): Promise<SoakFleet> {
    mkdirSync(folder, { recursive: true });
    const stderrFd = openSync(join(folder, 'stderr.log'), 'a');
    const recordPath = recordPathOf(folder);
    writeFileSync(recordPath, '');
    const upstream = startProcess([UPSTREAM_PROGRAM, '--port', '0', '--record', recordPath], { stderrFd });
    const { url: upstreamUrl } = await upstream.firstLine;
    const storePort = await freePort();
    const connectionString = `esdb://127.0.0.1:${storePort}?tls=false`;
    const catalogPath = join(folder, 'catalog.json');
    const parts = { folder, catalogPath, upstreamUrl, connectionString, brokers, topic };
    const fleet = new SoakFleet(parts, storePort, upstream, stderrFd);
    fleet.store.start();
    await fleet.store.whenReady();
    return fleet;
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
    );
  }

  #startGateway(configPath: string, ...command: readonly string[]): StartedProcess {
    const program = ['--max-semi-space-size=64', GATEWAY_PROGRAM, ...command, '--config', configPath, '--json'];
    return startProcess(program, { stderrFd: this.#stderrFd, environment: SOAK_ENVIRONMENT });
  }
}

const recordPathOf = (folder: string): string => join(folder, 'upstream.jsonl');
