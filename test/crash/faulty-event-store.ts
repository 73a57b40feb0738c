import { setTimeout as delay } from 'node:timers/promises';
import type { StoredEvent } from '../../ledger/audit/stored-event.ts';
import { type FakeEventStore, startFakeEventStore } from '../eventstoredb/fake-event-store.ts';
import type { SeededRandom } from '../fixtures/seeded-random.ts';
import type { CrashStore } from './crash-store.ts';
import { storedEventsOf } from './stored-events-of.ts';

/** Chances of an append: more than one in three meets a fault, and most of those were stored all the same. */
const APPEND_FAULTS = {
  'lose-ack': 0.1,
  'lose-ack-cancelled': 0.05,
  'store-and-cut': 0.05,
  'store-and-commit-timeout': 0.03,
  'store-and-stall': 0.002,
  refuse: 0.05,
  cut: 0.03,
  busy: 0.02,
  'commit-timeout': 0.02,
  internal: 0.01,
  unknown: 0.01,
  stall: 0.002,
};
const READ_FAULTS = { refuse: 0.03, break: 0.03, cut: 0.02, withinEvents: 30 };
/** A subscription lives long and is made seldom: few of them see their end. */
const SUBSCRIPTION_FAULTS = { refuse: 0.1, break: 0.3, cut: 0.2, withinEvents: 400 };

const PAUSE_MS_MAX = 700;
/** Calls that reach it between one trouble and the next: on a slow machine, too, there is time for something to succeed. */
const CALLS_BETWEEN = 12;
const LOOK_MS = 10;
const AWAY_SHARE = 0.2;
const AWAY_MS_MAX = 500;

/**
 * An event store in this process that loses acknowledgements, cuts connections, breaks reads and goes away for moments,
 * all drawn from a seed, between `begin` and `calm`.
 */
export class FaultyEventStore implements CrashStore {
  readonly #store: FakeEventStore;
  readonly #random: SeededRandom;
  #trouble: Promise<void> | null = null;
  #calming = new AbortController();
  #cuts = 0;
  #outages = 0;

  private constructor(store: FakeEventStore, random: SeededRandom) {
    this.#store = store;
    this.#random = random;
  }

  static async start(random: SeededRandom): Promise<FaultyEventStore> {
    return new FaultyEventStore(await startFakeEventStore(), random);
  }

  get eventLog(): CrashStore['eventLog'] {
    return { kind: 'eventstoredb', connectionString: this.#store.connectionString };
  }

  /** How often each kind of trouble has struck. */
  get struck(): Readonly<Record<string, number>> {
    return {
      ...Object.fromEntries(this.#store.faults.struck),
      'connections cut': this.#cuts,
      'moments away': this.#outages,
    };
  }

  begin(): void {
    this.#store.faults.byChance({
      seed: this.#random.whole(0, 2 ** 31),
      append: APPEND_FAULTS,
      read: READ_FAULTS,
      subscription: SUBSCRIPTION_FAULTS,
    });
    this.#calming = new AbortController();
    this.#trouble = this.#makeTrouble(this.#calming.signal);
  }

  /** From here on the store does nothing wrong. */
  async calm(): Promise<void> {
    this.#calming.abort();
    await this.#trouble;
    this.#trouble = null;
    this.#store.faults.clear();
  }

  /** What the store holds of an account: no gateway is asked. */
  async accountEvents(accountId: string): Promise<StoredEvent[]> {
    return storedEventsOf(this.#store.events(), `account-${accountId}`);
  }

  async close(): Promise<void> {
    await this.calm();
    await this.#store.stop();
  }

  async #makeTrouble(signal: AbortSignal): Promise<void> {
    for (;;) {
      const pauseMs = this.#random.whole(0, PAUSE_MS_MAX);
      const isAway = this.#random.chance(AWAY_SHARE);
      const awayMs = this.#random.whole(1, AWAY_MS_MAX);
      await delay(pauseMs, undefined, { signal }).catch(() => undefined);
      await this.#untilCalled(CALLS_BETWEEN, signal);
      if (signal.aborted) return;
      if (isAway) {
        this.#outages++;
        await this.#store.kill();
        await delay(awayMs, undefined, { signal }).catch(() => undefined);
        await this.#store.restart();
      } else {
        this.#cuts++;
        this.#store.cutConnections();
      }
    }
  }

  async #untilCalled(calls: number, signal: AbortSignal): Promise<void> {
    const from = this.#store.calls.count;
    while (!signal.aborted && this.#store.calls.count < from + calls) await delay(LOOK_MS);
  }
}
