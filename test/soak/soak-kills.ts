import { setTimeout as delay } from 'node:timers/promises';
import type { SeededRandom } from '../fixtures/seeded-random.ts';
import { canLimit, leaveDescriptors } from '../shortages/descriptor-limit.ts';
import type { BrokerTrouble } from './broker-trouble.ts';
import type { SoakFleet } from './soak-fleet.ts';
import type { TakenAway } from './store-of-run.ts';
import type { Trouble, Troubles } from './troubles.ts';

interface SoakKillsOptions {
  readonly fleet: SoakFleet;
  readonly random: SeededRandom;
  readonly troubles: Troubles;
  /** Between one and the next. */
  readonly restMs?: readonly [from: number, to: number] | undefined;
  /** Null where nobody may take the brokers away. */
  readonly brokers: BrokerTrouble | null;
  /** How many proxies may be lost for good. */
  readonly lostMax: number;
  /** Told whenever a proxy is ready, or no longer. */
  readonly onChange: () => void;
}

const REST_MS = [1_500, 6_000] as const;
const AWAY_MS = [50, 1_500] as const;
/** From less than any timeout to more than what a broker's controller waits for it. */
const PAUSED_MS = [500, 6_000] as const;
/** Descriptors that are left to a proxy that has few. */
const FEW = 2;

/**
 * Processes killed and paused, one at a time, at instants and for times that a seed draws: each kind once in an order of
 * the seed's, then each as often as its weight says. Disks that are full, and descriptors that are few, for such times, where
 * the machine lets that be done.
 */
export class SoakKills {
  /** When a proxy was killed, in ms since 1970. */
  readonly proxiesMs: number[] = [];
  /** The same of relays. */
  readonly relaysMs: number[] = [];
  lost = 0;
  readonly #options: SoakKillsOptions;
  readonly #done = new Map<Trouble, number>();
  readonly #firsts: Trouble[];

  constructor(options: SoakKillsOptions) {
    this.#options = options;
    this.#firsts = inAnyOrder(
      options.troubles.map(([kind]) => kind),
      options.random,
    );
  }

  /** Whether there was each kind of trouble that can be made here. */
  get hasDoneEach(): boolean {
    return this.#firsts.length === 0;
  }

  /** How often this was done; 0 where it cannot be done here. */
  count(kind: Trouble): number {
    return this.#done.get(kind) ?? 0;
  }

  get summary(): string {
    const counts = [...this.#done].map(([kind, count]) => `${count} ${kind}`);
    const brokers = [...Map.groupBy(this.#options.brokers?.taken ?? [], (taken) => taken)];
    const parts = brokers.map(([taken, same]) => `${same.length} ${taken}`);
    return `${counts.join(', ')}${parts.length === 0 ? '' : ` (brokers: ${parts.join(', ')})`}`;
  }

  /** Makes trouble until the signal; whatever was taken by then is up again when it returns. */
  async rage(signal: AbortSignal): Promise<void> {
    const { random, troubles, restMs = REST_MS } = this.#options;
    while (!signal.aborted) {
      await delay(random.whole(...restMs), undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      const kind = this.#firsts.at(-1) ?? random.weighted(troubles);
      const isDone = await this.#make(kind, random.fork());
      if (isDone) this.#done.set(kind, this.count(kind) + 1);
      if (this.#firsts.at(-1) === kind) this.#firsts.pop();
    }
  }

  /** Whether it could be done. */
  async #make(kind: Trouble, random: SeededRandom): Promise<boolean> {
    const { fleet, brokers } = this.#options;
    const which = random.next();
    const awayMs = random.whole(...AWAY_MS);
    const pausedMs = random.whole(...PAUSED_MS);
    switch (kind) {
      case 'proxy':
      case 'lost proxy':
        return this.#killProxy(kind === 'lost proxy', which, awayMs);
      case 'paused proxy':
        return paused(pick(fleet.kept, which).process, pausedMs);
      case 'relay':
        this.relaysMs.push(Date.now());
        return killed(pick(fleet.relays, which), awayMs);
      case 'paused relay':
        return paused(pick(fleet.relays, which), pausedMs);
      case 'event store':
        if (!(await killed(fleet.store.taken, awayMs))) return false;
        await fleet.store.taken?.whenReady();
        return true;
      case 'paused event store':
        return paused(fleet.store.taken, pausedMs);
      case 'broker':
        await brokers?.kill(random, awayMs);
        return brokers !== null;
      case 'paused broker':
        await brokers?.pause(random, pausedMs);
        return brokers !== null;
      case 'full disk':
        return this.#fillDisk(awayMs);
      case 'few descriptors':
        return this.#takeDescriptors(which, awayMs);
      default:
        return kind satisfies never;
    }
  }

  /** A lost one is replaced by one with an empty folder, whose views only the log can fill from the beginning. */
  async #killProxy(isWanted: boolean, which: number, awayMs: number): Promise<boolean> {
    const { fleet, lostMax, onChange } = this.#options;
    const isLost = isWanted && this.lost < lostMax;
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
    return true;
  }

  /** Of a proxy that serves; it goes on by itself when there is room. */
  async #fillDisk(fullMs: number): Promise<boolean> {
    const disk = this.#options.fleet.kept.find(({ disk: own, url }) => own !== null && url !== null)?.disk ?? null;
    if (disk === null) return false;
    disk.leaveFree(0);
    await delay(fullMs);
    disk.clear();
    return true;
  }

  /** From a proxy that serves: one that starts cannot, and says so. */
  async #takeDescriptors(which: number, fewMs: number): Promise<boolean> {
    const serving = this.#options.fleet.kept.filter(({ url }) => url !== null);
    const pid = serving.length === 0 ? null : pick(serving, which).process.pid;
    if (pid === null || !canLimit) return false;
    const end = leaveDescriptors(pid, FEW);
    await delay(fewMs);
    end();
    return true;
  }
}

async function killed(process: TakenAway | null, awayMs: number): Promise<boolean> {
  if (process === null) return false;
  await process.kill();
  await delay(awayMs);
  process.start();
  return true;
}

async function paused(process: TakenAway | null, pausedMs: number): Promise<boolean> {
  if (process === null) return false;
  process.pause();
  try {
    await delay(pausedMs);
  } finally {
    process.resume();
  }
  return true;
}

/** Each once, in an order that the source of chance draws. */
function inAnyOrder<T>(values: readonly T[], random: SeededRandom): T[] {
  const drawn = values.map((value) => [random.next(), value] as const);
  return drawn.sort(([a], [b]) => a - b).map(([, value]) => value);
}

function pick<T>(from: readonly T[], which: number): T {
  const one = from[Math.floor(which * from.length)];
  if (one === undefined) throw new RangeError('nothing to choose from');
  return one;
}
