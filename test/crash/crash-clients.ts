import { setTimeout as delay } from 'node:timers/promises';
import type { RequestCase } from './planned-cases.ts';
import { planRequest } from './planned-request.ts';
import { type ClientKey, postPlanned, type SentRequest } from './post-planned.ts';
import { RequestSlots } from './request-slots.ts';
import type { SeededRandom } from './seeded-random.ts';

export interface CrashClientsOptions {
  readonly random: SeededRandom;
  /** To begin with; each is used by CLIENTS_PER_KEY clients at once. */
  readonly keys: readonly ClientKey[];
  readonly models: readonly string[];
  /** How long a client rests after a request, at most. */
  readonly restMsMax?: number;
  /** What some of the requests are; plain ones only where it is left out. */
  readonly cases?: readonly RequestCase[];
}

const CLIENTS_PER_KEY = 3;
/** After a refused connection or a gateway that is not ready yet. */
const RETRY_MS = 15;
/** After an answer that says to come back later: SDKs wait about as long. */
const OVERLOADED_MS = 400;
/** So long clients may get no answer at all before `untilSent` no longer waits for them. */
const STANDSTILL_MS = 60_000;
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
  #urls: readonly string[] = [];
  #urlWanted = Promise.withResolvers<void>();
  #isStopping = false;
  #requests = 0;

  constructor({ random, keys, models, restMsMax = 0, cases = [] }: CrashClientsOptions) {
    this.#cases = cases;
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

  /** Resolves when so many requests have ended in all. @throws Error when none has ended for a minute */
  untilSent(count: number): Promise<void> {
    return this.#untilCounted(count, () => true);
  }

  /** Resolves when so many have been answered with 200 and heard to the end. @throws Error when none has ended for a minute */
  untilServed(count: number): Promise<void> {
    return this.#untilCounted(count, ({ status, heard }) => status === 200 && heard === 'complete');
  }

  /** Lets every client finish what it is at. @throws Error when one of them failed. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#urlWanted.resolve();
    await this.#running;
  }

  async #untilCounted(count: number, counts: (request: SentRequest) => boolean): Promise<void> {
    let seen = this.sent.length;
    let sinceMs = performance.now();
    while (this.sent.filter(counts).length < count) {
      await delay(RETRY_MS);
      if (this.sent.length > seen) [seen, sinceMs] = [this.sent.length, performance.now()];
      if (performance.now() - sinceMs > STANDSTILL_MS)
        throw new Error(`${seen} requests have ended, ${count} were waited for, and none has for ${STANDSTILL_MS} ms`);
    }
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
