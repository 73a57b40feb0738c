import { setTimeout as delay } from 'node:timers/promises';
import type { StoredEvent } from '../../ledger/audit/stored-event.ts';
import type { GivenEventStore } from '../eventstoredb/given-event-store.ts';
import type { SeededRandom } from '../fixtures/seeded-random.ts';
import { leadToGiven, type StoreOfRun, type TakenAway } from '../soak/store-of-run.ts';
import type { CrashStore } from './crash-store.ts';

const REST_MS = [300, 2_500] as const;
const AWAY_MS = [1, 700] as const;
const CUT_SHARE = 0.6;

/**
 * The server of `EVENTSTOREDB_URL`: what the fake does to calls and to itself is done to connections on their way to it, which
 * break or fall silent between `begin` and `calm`. Where they cannot be led along a way of ours, there is no trouble.
 */
export class GivenStore implements CrashStore {
  readonly #store: StoreOfRun;
  readonly #random: SeededRandom;
  #trouble: Promise<void> | null = null;
  #calming = new AbortController();
  #cuts = 0;
  #silences = 0;

  private constructor(store: StoreOfRun, random: SeededRandom) {
    this.#store = store;
    this.#random = random;
  }

  static async start(given: GivenEventStore, random: SeededRandom): Promise<GivenStore> {
    return new GivenStore(await leadToGiven(given), random);
  }

  get eventLog(): StoreOfRun['eventLog'] {
    return this.#store.eventLog;
  }

  get struck(): Readonly<Record<string, number>> {
    return { 'ways cut': this.#cuts, 'ways silent': this.#silences };
  }

  begin(): void {
    this.#calming = new AbortController();
    const { taken } = this.#store;
    if (taken !== null) this.#trouble = this.#makeTrouble(taken, this.#calming.signal);
  }

  async calm(): Promise<void> {
    this.#calming.abort();
    await this.#trouble;
    this.#trouble = null;
  }

  async accountEvents(accountId: string): Promise<StoredEvent[]> {
    const streams = await this.#store.streams();
    return [...(streams.find(({ stream }) => stream === `account-${accountId}`)?.events ?? [])];
  }

  async close(): Promise<void> {
    await this.calm();
    await this.#store.stop();
  }

  async #makeTrouble(way: TakenAway, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const restMs = this.#random.whole(...REST_MS);
      const awayMs = this.#random.whole(...AWAY_MS);
      const isCut = this.#random.chance(CUT_SHARE);
      await delay(restMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      if (isCut) {
        this.#cuts++;
        await way.kill();
        await delay(awayMs);
        way.start();
        await way.whenReady();
      } else {
        this.#silences++;
        way.pause();
        await delay(awayMs);
        way.resume();
      }
    }
  }
}
