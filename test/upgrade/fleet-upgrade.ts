import { execFile } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type FakeEventStore, startFakeEventStore } from '../eventstoredb/fake-event-store.ts';
import { textOf } from '../eventstoredb/stored-event.ts';
import { HIGH_LIMITS } from '../fixtures/gateway/high-limits.ts';
import { postMessage } from '../fixtures/gateway/post-message.ts';
import { TEST_CATALOG } from '../fixtures/gateway/start-gateway.ts';
import { killStarted, type StartedProcess, startProcess, stopInOrder } from '../fixtures/processes/child-process.ts';
import { startUpstream, type Upstream } from '../upstream/upstream.ts';
import { newTree, type ProgramTree, todaysTree } from './program-trees.ts';

const PROXIES = 3;
const ACCOUNT = 'acct_upgraded';
/** Between two requests of one client: little work, and some under way at every step. */
const PAUSE_MS = 40;
/** Leases that a busy machine's stops and starts do not outlast. */
const LEASES = { reclaimMs: 3_000, waitMs: 60_000 };
const ENVIRONMENT = { UPGRADE_KEY: 'upstream-secret' };
const EVENT_MS_MAX = 120_000;

/** A line of the run's table: what was done, and what had come of it when it was done. */
export interface UpgradeStep {
  readonly what: string;
  readonly programs: string;
  readonly sent: number;
  readonly refused: number;
  /** Debits in the ledger, by schema version. */
  readonly debits: Readonly<Record<string, number>>;
  readonly faults: readonly string[];
}

interface Slot {
  readonly index: number;
  program: ProgramTree;
  process: StartedProcess;
  url: string;
  /** Behind the balancer: new requests come. */
  isServing: boolean;
  underWay: number;
}

/**
 * Three proxies on one event store under load are upgraded one by one, rolled back, upgraded again; then the new form is
 * adopted. A client's requests go to the proxies that are not being changed, as a balancer has it. `onStep` hears each step.
 */
export async function fleetUpgrade(
  { folder, old }: { readonly folder: string; readonly old: ProgramTree },
  onStep: (step: UpgradeStep) => void,
): Promise<void> {
  const site = await Site.start(folder, old);
  try {
    const newer = newTree(join(folder, 'new'));
    const next = async (what: string, isAsked: () => Promise<readonly string[]>): Promise<void> =>
      onStep(await site.step(what, isAsked));
    await next('all old', async () => site.onlyOldForm());
    for (const index of [0, 1, 2])
      await next(`proxy ${index} upgraded`, async () => site.change(index, newer).then(() => site.onlyOldForm()));
    for (const index of [0, 1, 2])
      await next(`proxy ${index} rolled back`, async () => site.change(index, old).then(() => site.onlyOldForm()));
    for (const index of [0, 1])
      await next(`proxy ${index} upgraded again`, async () => site.change(index, newer).then(() => site.onlyOldForm()));
    await next('adopting is refused while one is old', () => site.adoptionRefused(newer));
    await next('proxy 2 upgraded again', async () => site.change(2, newer).then(() => site.onlyOldForm()));
    await next('adopted', () => site.adopted(newer));
    await next('old and today start no more', () => site.startNoMore([old, todaysTree()]));
    await next('all stopped', () => site.allBilledOnce());
  } finally {
    await site.close();
  }
}

class Site {
  readonly #folder: string;
  readonly #store: FakeEventStore;
  readonly #upstream: Upstream;
  readonly #stderrFd: number;
  readonly #slots: Slot[] = [];
  #key = '';
  #sent = 0;
  #refusals: string[] = [];
  #isLoading = true;
  #clients: Promise<void>[] = [];

  private constructor(folder: string, store: FakeEventStore, upstream: Upstream) {
    this.#folder = folder;
    this.#store = store;
    this.#upstream = upstream;
    this.#stderrFd = openSync(join(folder, 'stderr.log'), 'a');
  }

  static async start(folder: string, program: ProgramTree): Promise<Site> {
    const site = new Site(folder, await startFakeEventStore(), await startUpstream());
    writeFileSync(join(folder, 'catalog.json'), JSON.stringify(TEST_CATALOG));
    for (let index = 0; index <= PROXIES; index++) site.#configure(index);
    await site.#run(program, 'account', 'open', '--email', 'fleet@example.com', '--id', ACCOUNT, '--trial-usd', '0');
    await site.#run(program, 'credits', 'grant', ACCOUNT, '--usd', '1000', '--source', 'purchase');
    site.#key = JSON.parse((await site.#run(program, 'key', 'issue', ACCOUNT)).stdout).key;
    for (let index = 0; index < PROXIES; index++) {
      const process = site.#serve(index, program);
      const { url } = await process.firstLine;
      site.#slots.push({ index, program, process, url, isServing: true, underWay: 0 });
    }
    site.#clients = [0, 1].map((client) => site.#client(client));
    return site;
  }

  /** What is asked, and what nobody may be refused meanwhile. A few requests go through before it is looked at. */
  async step(what: string, asked: () => Promise<readonly string[]>): Promise<UpgradeStep> {
    const faults = [...(await asked())];
    faults.push(...this.#refusals.splice(0));
    const programs = this.#slots.map(({ program }) => program.name).join(' ');
    return { what, programs, sent: this.#sent, refused: faults.length, debits: this.#debitsByVersion(), faults };
  }

  /** Takes a proxy out of the balancer, ends it in order, and starts another program on its folder. */
  async change(index: number, program: ProgramTree): Promise<void> {
    const slot = this.#slots[index];
    if (slot === undefined) throw new RangeError(`there is no proxy ${index}`);
    slot.isServing = false;
    await until('its requests are answered', () => slot.underWay === 0);
    await stopInOrder(slot.process);
    slot.process = this.#serve(index, program);
    slot.url = (await slot.process.firstLine).url;
    slot.program = program;
    slot.isServing = true;
  }

  async onlyOldForm(): Promise<readonly string[]> {
    const before = this.#debits().length;
    // Each of the proxies has had its turn, and written.
    await until('requests go on', () => this.#debits().length >= before + 2 * PROXIES);
    return this.#isAnyNewForm() ? ['a debit of the new form is in the ledger, and nothing was adopted'] : [];
  }

  async adoptionRefused(program: ProgramTree): Promise<readonly string[]> {
    const { exitCode, stderr } = await this.#run(program, 'ledger', 'forms', '--adopt').catch(failureOf);
    const isRefused = exitCode === 3 && stderr.includes('CreditsDebited 3');
    return [...(isRefused ? [] : [`ended with ${exitCode}: ${stderr}`]), ...(await this.onlyOldForm())];
  }

  async adopted(program: ProgramTree): Promise<readonly string[]> {
    const { stdout } = await this.#run(program, 'ledger', 'forms', '--adopt');
    await until('the new form is written', () => this.#isAnyNewForm());
    const adoptedAt = this.#store.events().findIndex(({ type }) => type === 'FormsAdopted');
    const isAfter = this.#store.events().every((event, at) => versionOf(event) < 3 || at > adoptedAt);
    const isSaid = JSON.parse(stdout).adopted.CreditsDebited === 3;
    return [...(isAfter ? [] : ['the new form stands before its adoption']), ...(isSaid ? [] : [stdout])];
  }

  async startNoMore(programs: readonly ProgramTree[]): Promise<readonly string[]> {
    const faults: string[] = [];
    for (const program of programs) {
      const from = statSync(join(this.#folder, 'stderr.log')).size;
      const started = this.#serve(PROXIES, program);
      const code = await started.ended;
      const said = readFileSync(join(this.#folder, 'stderr.log'), 'utf8').slice(from);
      const [line = ''] = said.split('\n').filter((one) => one.startsWith('gateway: '));
      const isNamed = program.name === 'old' ? line.includes('FormsAdopted') : line.includes('CreditsDebited 3');
      if (code === 0 || code === null || !isNamed || said.includes('    at '))
        faults.push(`${program.name} ended with ${code}: ${said}`);
    }
    return [...faults, ...this.#afterwards()];
  }

  async allBilledOnce(): Promise<readonly string[]> {
    this.#isLoading = false;
    await Promise.all(this.#clients);
    for (const { process } of this.#slots) await stopInOrder(process);
    const usages = this.#ofType('UsageRecorded');
    const debits = this.#debits().map((event) => String(JSON.parse(textOf(event)).requestId));
    const faults: string[] = [];
    const answered = this.#sent - this.#refusals.length;
    if (usages.length !== answered) faults.push(`${answered} answered, ${usages.length} recorded`);
    if (debits.length !== answered) faults.push(`${answered} answered, ${debits.length} debited`);
    if (new Set(debits).size !== debits.length) faults.push('a request is debited twice');
    return faults;
  }

  async close(): Promise<void> {
    this.#isLoading = false;
    await Promise.allSettled(this.#clients);
    killStarted();
    await this.#upstream.close();
    await this.#store.stop();
    closeSync(this.#stderrFd);
  }

  /** One request after the other, each to the next proxy that the balancer has. */
  async #client(first: number): Promise<void> {
    for (let turn = first; this.#isLoading; turn++) {
      const serving = this.#slots.filter(({ isServing }) => isServing);
      const slot = serving[turn % serving.length];
      if (slot !== undefined) await this.#post(slot);
      await delay(PAUSE_MS);
    }
  }

  async #post(slot: Slot): Promise<void> {
    slot.underWay++;
    this.#sent++;
    try {
      const answer = await postMessage({ url: slot.url, key: this.#key }, { stream: this.#sent % 2 === 0 });
      const body = await answer.rest();
      if (answer.status !== 200) this.#refusals.push(`proxy ${slot.index}: ${answer.status} ${body.toString('utf8')}`);
    } catch (error) {
      this.#refusals.push(`proxy ${slot.index}: ${error instanceof Error ? error.message : String(error)}`);
    } finally {
      slot.underWay--;
    }
  }

  /** Whoever serves goes on meanwhile. */
  #afterwards(): readonly string[] {
    return this.#slots.flatMap(({ index, process }) =>
      process.child.exitCode === null ? [] : [`proxy ${index} has ended`],
    );
  }

  #configure(index: number): void {
    const data = join(this.#folder, `data-${index}`);
    mkdirSync(data);
    const test = { protocol: 'messages', baseUrl: this.#upstream.url, apiKeyEnv: 'UPGRADE_KEY', countTokens: false };
    const configuration = {
      ...{ listen: { port: 0 }, rateLimits: HIGH_LIMITS, data, catalog: join(this.#folder, 'catalog.json') },
      ...{ eventLog: { kind: 'eventstoredb', connectionString: this.#store.connectionString } },
      ...{ providers: { test }, leases: LEASES, logLevel: 'error' },
    };
    writeFileSync(this.#configurationOf(index), JSON.stringify(configuration));
  }

  #configurationOf(index: number): string {
    return join(this.#folder, `gateway-${index}.json`);
  }

  #serve(index: number, { main }: ProgramTree): StartedProcess {
    return startProcess([main, 'serve', '--config', this.#configurationOf(index), '--json'], {
      stderrFd: this.#stderrFd,
      environment: ENVIRONMENT,
    });
  }

  /** A command of a program, in a process of its own: another tree's cannot run in this one. */
  #run({ main }: ProgramTree, ...args: readonly string[]): Promise<Ran> {
    const all = [main, '--config', this.#configurationOf(PROXIES), '--json', ...args];
    return new Promise((resolve, reject) => {
      execFile(process.execPath, all, { env: { ...process.env, ...ENVIRONMENT } }, (error, stdout, stderr) => {
        if (error === null) resolve({ exitCode: 0, stdout, stderr });
        else reject(new CommandFailure({ exitCode: Number(error.code), stdout, stderr }));
      });
    });
  }

  #ofType(type: string) {
    return this.#store.events().filter((event) => event.stream === `account-${ACCOUNT}` && event.type === type);
  }

  #debits() {
    return this.#ofType('CreditsDebited');
  }

  #isAnyNewForm(): boolean {
    return this.#debits().some((event) => versionOf(event) > 2 || textOf(event).includes('"note"'));
  }

  #debitsByVersion(): Readonly<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (const event of this.#debits()) counts[versionOf(event)] = (counts[versionOf(event)] ?? 0) + 1;
    return counts;
  }
}

interface Ran {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

class CommandFailure extends Error {
  readonly ran: Ran;

  constructor(ran: Ran) {
    super(`a command ended with ${ran.exitCode}: ${ran.stderr}`);
    this.ran = ran;
  }
}

function failureOf(error: unknown): Ran {
  if (error instanceof CommandFailure) return error.ran;
  throw error;
}

/** 0 for what is none of the gateway's events. */
const versionOf = ({ type, metadata }: { readonly type: string; readonly metadata: Uint8Array }): number =>
  type === 'CreditsDebited' ? Number(JSON.parse(Buffer.from(metadata).toString('utf8')).schemaVersion) : 0;

async function until(what: string, isSo: () => boolean): Promise<void> {
  const endMs = performance.now() + EVENT_MS_MAX;
  while (!isSo()) {
    if (performance.now() > endMs) throw new Error(`in vain for ${EVENT_MS_MAX} ms: ${what}`);
    await delay(20);
  }
}
