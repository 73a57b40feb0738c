import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { VIEWS_FILE } from '../../../projections/known-views.ts';
import { GATEWAY_PROGRAM } from '../../fixtures/processes/gateway-command.ts';
import { nodeFlagsOf } from '../../fixtures/processes/node-flags.ts';
import { freePort, type Processes } from '../../fixtures/processes/processes.ts';
import { configurationOf, modelOf } from '../contenders/ours.ts';
import { onMeasuredCore } from '../cores.ts';
import { MODELS } from '../fast-upstream/answers.ts';
import { fillLedger, type LedgerSize } from '../fill-ledger.ts';
import { peakRssOf, usageOf } from '../process-usage.ts';
import { type WholeRun, wholeRun } from './whole-run.ts';

const READY_MS_MAX = 600_000;
const LOOK_MS = 20;
/** As it is installed. */
const NODE = [process.execPath, ...nodeFlagsOf(GATEWAY_PROGRAM)];
const ENVIRONMENT = { BENCH_KEY: 'bench', NODE_ENV: 'production' };

/** Of a gateway, from its start to its first 200 of /readyz. */
interface Ready extends WholeRun {
  readonly peakRssBytes: number;
  readonly pid: number;
}

/** A data folder with a ledger of some size, and the gateway that is started on it. */
export class GatewayFolder {
  readonly name: string;
  readonly ledger: string;
  readonly #processes: Processes;
  readonly #data: string;
  readonly #configuration: string;
  readonly #port: number;

  private constructor(processes: Processes, name: string, port: number) {
    this.name = name;
    this.#processes = processes;
    this.#data = join(processes.folder, name);
    this.ledger = join(this.#data, 'ledger.db');
    this.#configuration = `${this.#data}.json`;
    this.#port = port;
  }

  static async make(processes: Processes, name: string, size: LedgerSize): Promise<GatewayFolder> {
    const folder = new GatewayFolder(processes, name, await freePort());
    folder.#configure();
    await fillLedger(folder.ledger, size);
    return folder;
  }

  /** Runs a command of the program to its end, on the measured core. */
  run(...words: readonly string[]): ReturnType<typeof wholeRun> {
    return wholeRun(this.#processes, onMeasuredCore([...NODE, ...this.#program(words)]), ENVIRONMENT);
  }

  /** The same on all cores. */
  runOnAll(...words: readonly string[]): ReturnType<typeof wholeRun> {
    return wholeRun(this.#processes, [...NODE, ...this.#program(words)], ENVIRONMENT);
  }

  /** Moves the ledger to an event store, and the configuration with it. */
  async moveTo(connectionString: string): Promise<void> {
    await this.run('ledger', 'copy', '--to', connectionString);
    this.#configure({ eventLog: { kind: 'eventstoredb', connectionString } });
  }

  forgetViews(): void {
    for (const end of ['', '-wal', '-shm']) rmSync(join(this.#data, `${VIEWS_FILE}${end}`), { force: true });
  }

  /** @throws Error with the end of its log when it is not ready within ten minutes */
  async start(): Promise<Ready> {
    const command = onMeasuredCore([...NODE, ...this.#program(['serve'])]);
    const startMs = performance.now();
    const child = this.#processes.spawn(this.name, command, { environment: ENVIRONMENT });
    const pid = child.pid ?? 0;
    while (!(await this.#isReady())) {
      if (child.exitCode !== null || performance.now() - startMs > READY_MS_MAX)
        throw new Error(`${this.name} is not ready:\n${this.#processes.logTail(this.name)}`);
      await setTimeout(LOOK_MS);
    }
    const seconds = (performance.now() - startMs) / 1000;
    return { seconds, cpuSeconds: usageOf([pid]).cpuUs / 1_000_000, peakRssBytes: peakRssOf(pid), pid };
  }

  /** In order: what the views hold is in their file then. */
  stop(): Promise<void> {
    return this.#processes.stop(this.name);
  }

  #program(words: readonly string[]): string[] {
    return [GATEWAY_PROGRAM, '--config', this.#configuration, ...words];
  }

  #configure(more: object = {}): void {
    mkdirSync(this.#data, { recursive: true });
    const catalog = `${this.#data}-catalog.json`;
    writeFileSync(catalog, JSON.stringify({ models: Object.values(MODELS).map(modelOf) }));
    const listen = { host: '127.0.0.1', port: this.#port };
    // No request is sent that would ask the provider.
    writeFileSync(
      this.#configuration,
      JSON.stringify({ ...configurationOf(this.#data, catalog, this.#port), listen, ...more }),
    );
  }

  #isReady(): Promise<boolean> {
    return fetch(`http://127.0.0.1:${this.#port}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  }
}
