import { setTimeout as delay } from 'node:timers/promises';
import type { SeededRandom } from '../crash/seeded-random.ts';
import { canLimit, leaveDescriptors } from '../shortages/descriptor-limit.ts';
import type { SoakFleet } from './soak-fleet.ts';

export interface SoakKillsOptions {
  readonly fleet: SoakFleet;
  readonly random: SeededRandom;
  /** How many proxies may be lost for good. */
  readonly lostMax: number;
  /** Told whenever a proxy is ready, or no longer. */
  readonly onChange: () => void;
}

const KINDS = [
  ['proxy', 6],
  ['relay', 3],
  ['event store', 2],
  ['lost proxy', 1],
  ['full disk', 2],
  ['few descriptors', 2],
] as const;
const PAUSE_MS = [1_500, 6_000] as const;
const AWAY_MS = [50, 1_500] as const;
/** Descriptors that are left to a proxy that has few. */
const FEW = 2;

/**
 * `kill -9` to proxies, relays and the event store, at instants and for times that a seed draws; disks that are full, and
 * descriptors that are few, for such times, where the machine lets that be done.
 */
export class SoakKills {
  /** When a proxy was killed, in ms since 1970. */
  readonly proxiesMs: number[] = [];
  relays = 0;
  stores = 0;
  lost = 0;
  fullDisks = 0;
  fewDescriptors = 0;
  readonly #options: SoakKillsOptions;

  constructor(options: SoakKillsOptions) {
    this.#options = options;
  }

  /** Of any kind. */
  get count(): number {
    return this.proxiesMs.length + this.relays + this.stores;
  }

  get summary(): string {
    return `kills: ${this.proxiesMs.length} proxies (${this.lost} for good), ${this.relays} relays, ${this.stores} event store; ${this.fullDisks} full disks, ${this.fewDescriptors} times few descriptors`;
  }

  /** Kills until the signal; whatever it has killed by then is up again when it returns. */
  async rage(signal: AbortSignal): Promise<void> {
    const { random } = this.#options;
    while (!signal.aborted) {
      await delay(random.whole(...PAUSE_MS), undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      await this.#killOne(random.weighted(KINDS), random.next(), random.whole(...AWAY_MS));
    }
  }

  async #killOne(kind: (typeof KINDS)[number][0], which: number, awayMs: number): Promise<void> {
    const { fleet, lostMax, onChange } = this.#options;
    if (kind === 'event store') {
      this.stores++;
      await fleet.store.kill();
      await delay(awayMs);
      fleet.store.start();
      await fleet.store.whenReady();
      return;
    }
    if (kind === 'relay') {
      this.relays++;
      const relay = pick(fleet.relays, which);
      await relay.kill();
      await delay(awayMs);
      relay.start();
      return;
    }
    if (kind === 'full disk') return this.#fillDisk(awayMs);
    if (kind === 'few descriptors') return this.#takeDescriptors(which, awayMs);
    // A lost one is replaced by one with an empty folder, whose views only the log can fill from the beginning.
    const isLost = kind === 'lost proxy' && this.lost < lostMax;
    const proxy = pick(isLost ? fleet.kept.filter(({ viewsFrom }) => viewsFrom === 'log') : fleet.kept, which);
    this.proxiesMs.push(await proxy.process.kill());
    await delay(awayMs);
    if (isLost) {
      this.lost++;
      proxy.isLost = true;
      fleet.addProxy('log', onChange).process.start();
    } else {
      proxy.process.start();
    }
  }

  /** Of a proxy that serves; it goes on by itself when there is room. */
  async #fillDisk(fullMs: number): Promise<void> {
    const disk = this.#options.fleet.kept.find(({ disk: own, url }) => own !== null && url !== null)?.disk ?? null;
    if (disk === null) return;
    this.fullDisks++;
    disk.leaveFree(0);
    await delay(fullMs);
    disk.clear();
  }

  /** From a proxy that serves: one that starts cannot, and says so. */
  async #takeDescriptors(which: number, fewMs: number): Promise<void> {
    const serving = this.#options.fleet.kept.filter(({ url }) => url !== null);
    const pid = serving.length === 0 ? null : pick(serving, which).process.pid;
    if (pid === null || !canLimit) return;
    this.fewDescriptors++;
    const end = leaveDescriptors(pid, FEW);
    await delay(fewMs);
    end();
  }
}

function pick<T>(from: readonly T[], which: number): T {
  const one = from[Math.floor(which * from.length)];
  if (one === undefined) throw new RangeError('nothing to choose from');
  return one;
}
