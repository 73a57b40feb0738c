import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { eventually } from '../../kafka/eventually.ts';
import { TOPIC_PARTITIONS } from '../../kafka/start-broker.ts';

const PROGRAM = fileURLToPath(new URL('../../../proxy/main.mjs', import.meta.url));

export interface RelaySite {
  /** Where the ledger's file is. */
  readonly folder: string;
  readonly brokers: readonly string[];
  readonly topic: string;
  readonly partitions?: number;
  readonly replicationFactor?: number;
  readonly doubtfulTopic?: 'warn' | 'refuse';
  /** Of its claim. A test that waits for the end of one makes it short; by default none ends while a test runs. */
  readonly claimSeconds?: number;
  /** `gateway relay fill` with these arguments, beside the relay of the site. */
  readonly fill?: readonly string[];
}

/** `gateway relay` as a process of its own. */
export class RelayProcess {
  readonly lines: string[] = [];
  readonly #child: ChildProcess;
  readonly #exit: Promise<number | null>;

  /** One that ends with the test at the latest. */
  constructor({ folder, claimSeconds = 600, fill, ...site }: RelaySite) {
    const { topic, partitions = TOPIC_PARTITIONS } = site;
    const config = join(folder, `${topic}-${partitions}.json`);
    writeFileSync(
      config,
      JSON.stringify({ data: folder, kafka: { ...site, partitions }, metrics: { relay: { port: 0 } } }),
    );
    const command = [...(fill === undefined ? [] : ['fill', ...fill]), '--claim-seconds', String(claimSeconds)];
    this.#child = spawn(process.execPath, [PROGRAM, 'relay', ...command, '--config', config], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [this.#child.stdout, this.#child.stderr])
      if (stream !== null) createInterface({ input: stream }).on('line', (line) => this.lines.push(line));
    this.#exit = once(this.#child, 'exit').then(([code]) => code as number | null);
    onTestFinished(() => this.kill());
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Resolves when a line of its log holds the text. */
  async says(text: string, withinMs?: number): Promise<void> {
    await eventually(
      `the relay says "${text}"; it said\n${this.lines.join('\n')}`,
      () => this.lines.some((line) => line.includes(text)),
      withinMs,
    );
  }

  /** The value of one of its metrics. */
  async metric(name: string): Promise<number> {
    const response = await fetch(`${await this.metricsUrl()}/metrics`);
    const text = await response.text();
    return Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1] ?? Number.NaN);
  }

  /** Where they are. */
  async metricsUrl(): Promise<string> {
    await this.says('"msg":"metrics"');
    const line = this.lines.find((text) => text.includes('"msg":"metrics"')) ?? '{}';
    return (JSON.parse(line) as { url: string }).url;
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  async kill(): Promise<void> {
    this.signal('SIGKILL');
    await this.#exit;
  }

  /** Resolves when it has published so many messages, by its own count. */
  async published(count: number): Promise<void> {
    const told = async (): Promise<boolean> => (await this.metric('gateway_relay_published_total')) === count;
    await eventually(`${count} are published`, told);
  }

  /** Its exit code; null when a signal ended it. */
  exit(): Promise<number | null> {
    return this.#exit;
  }

  async stop(): Promise<number | null> {
    this.signal('SIGTERM');
    return await this.#exit;
  }
}
