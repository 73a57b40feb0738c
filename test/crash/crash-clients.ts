import { setTimeout as delay } from 'node:timers/promises';
import type { SeededRandom } from '../fixtures/seeded-random.ts';
import { planRequest } from './plan-request.ts';
import { type ClientKey, postPlanned, type SentRequest } from './post-planned.ts';
import type { RequestCase } from './request-cases.ts';
import { RequestSlots } from './request-slots.ts';

interface CrashClientsOptions {
  readonly random: SeededRandom;
  /** To begin with; each is used by CLIENTS_PER_KEY clients at once. */
  readonly keys: readonly ClientKey[];
  readonly models: readonly string[];
  /** How long a client rests after a request, at most. */
  readonly restMsMax?: number;
  /** What some of the requests are; plain ones only where it is left out. */
  readonly cases?: readonly RequestCase[];
  /** Of what is waited for, none comes for so long: then it is not waited for any more. */
  readonly standstillMs?: number;
}

const CLIENTS_PER_KEY = 3;
/** After a refused connection or a gateway that is not ready yet. */
const RETRY_MS = 15;
/** After an answer that says to come back later: SDKs wait about as long. */
const OVERLOADED_MS = 400;
/** A gateway on a machine that is busy with other things may refuse everybody for a while, and tells them to come back. */
const STANDSTILL_MS = 120_000;
/** Clients with fewer slots left than this get one more key when keys are refilled. */
const SLOTS_LEFT_MIN = 120;

/**
 * Clients that send one request after the other, each over a connection of its own, for as long as the run lasts;
 * whatever gateways are up get them, each any of them.
 */
export class CrashClients {
  readonly sent: SentRequest[] = [];
  readonly #slots: readonly RequestSlots[];
  readonly #running: Promise<unknown>;
  readonly #restMsMax: number;
  readonly #cases: readonly RequestCase[];
  readonly #standstillMs: number;
  #urls: readonly string[] = [];
  #urlWanted = Promise.withResolvers<void>();
  #isStopping = false;
  #requests = 0;

  constructor(options: CrashClientsOptions) {
    const { random, keys, models, restMsMax = 0, cases = [], standstillMs = STANDSTILL_MS } = options;
    this.#cases = cases;
    this.#standstillMs = standstillMs;
    this.#restMsMax = restMsMax;
    this.#slots = keys.map((key) => new RequestSlots(key, models));
    const clients = this.#slots.flatMap((slots) =>
      Array.from({ length: CLIENTS_PER_KEY }, () => this.#run(slots, random.fork())),
    );
    this.#running = Promise.all(clients);
    // Told by `stop`.
    this.#running.catch(() => undefined);
  }

  /** Where the gateways are now; none while there is none. */
  useGateways(urls: readonly string[]): void {
    // Where there was none already, clients wait for the same promise.
    if (urls.length === 0 && this.#urls.length > 0) this.#urlWanted = Promise.withResolvers();
    if (urls.length > 0) this.#urlWanted.resolve();
    this.#urls = urls;
  }

  get urls(): readonly string[] {
    return this.#urls;
  }

  /** What hands out keys and models, one for each key that the clients began with. */
  get slots(): readonly RequestSlots[] {
    return this.#slots;
  }

  /** Issues further keys where they will be needed soon: by then every gateway knows them. */
  async refillKeys(issueKey: (accountId: string) => Promise<ClientKey>): Promise<void> {
    for (const slots of this.#slots) if (slots.left < SLOTS_LEFT_MIN) slots.addKey(await issueKey(slots.accountId));
  }

  /** Resolves when so many requests have ended in all. @throws Error when none has for two minutes */
  untilSent(count: number): Promise<void> {
    return this.#untilCounted(count, () => true);
  }

  /**
   * Resolves when so many have been answered with 200 and heard to the end. What is refused uses up keys, too: further
   * ones are issued meanwhile. @throws Error when none has for two minutes
   */
  untilServed(count: number, issueKey: (accountId: string) => Promise<ClientKey>): Promise<void> {
    return this.#untilCounted(count, isServed, () => this.refillKeys(issueKey));
  }

  /** Lets every client finish what it is at. @throws Error when one of them failed. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#urlWanted.resolve();
    await this.#running;
  }

  async #untilCounted(
    count: number,
    counts: (request: SentRequest) => boolean,
    meanwhile?: () => Promise<void>,
  ): Promise<void> {
    let counted = -1;
    let sinceMs = performance.now();
    for (;;) {
      const now = this.sent.filter(counts).length;
      if (now >= count) return;
      if (now > counted) [counted, sinceMs] = [now, performance.now()];
      if (performance.now() - sinceMs > this.#standstillMs) throw new Error(this.#standstill(counted, count));
      await meanwhile?.();
      await delay(RETRY_MS);
    }
  }

  #standstill(counted: number, count: number): string {
    const answers = Map.groupBy(this.sent, ({ status, errorType }) => `${status} ${errorType ?? ''}`.trim());
    const told = [...answers].map(([answer, same]) => `${same.length} of ${answer}`).join(', ');
    return `${counted} of ${count} that were waited for have come, and none for ${this.#standstillMs} ms; ended: ${told}`;
  }

  async #run(slots: RequestSlots, random: SeededRandom): Promise<void> {
    // Apart, because how often it is asked is the machine's doing.
    const route = random.fork();
    while (!this.#isStopping) {
      await this.#urlWanted.promise;
      const url = this.#urls[Math.floor(route.next() * this.#urls.length)];
      const slot = url === undefined ? null : slots.take();
      if (url === undefined || slot === null) {
        // No gateway, or no slot left before the next key.
        await delay(RETRY_MS);
        continue;
      }
      if (this.#restMsMax > 0) await delay(random.whole(0, this.#restMsMax));
      const planned = planRequest(random, `r${this.#requests++}`, slot.model, this.#cases);
      const sent = await postPlanned(url, slot.key, planned);
      this.sent.push(sent);
      if (sent.status === null) await delay(RETRY_MS);
      if (sent.errorType === 'overloaded_error') await delay(OVERLOADED_MS);
    }
  }
}

const isServed = ({ status, heard }: SentRequest): boolean => status === 200 && heard === 'complete';
