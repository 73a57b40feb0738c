import { setTimeout as delay } from 'node:timers/promises';
import { killAtOnce, type StartedProcess } from '../../fixtures/processes/child-process.ts';
import { SeededRandom } from '../../fixtures/seeded-random.ts';
import { CrashClients } from '../crash-clients.ts';
import { type CrashSite, layOutSite, type SiteOptions } from '../crash-site.ts';
import { MeWatch } from '../me-watch.ts';
import type { ClientKey } from '../post-planned.ts';
import type { RequestCase } from '../request-cases.ts';

export interface SceneOptions {
  /** A folder of its own; what is in it afterwards is the caller's. */
  readonly folder: string;
  readonly seed: number;
  /** What some of the requests are. */
  readonly cases: readonly RequestCase[];
  readonly say: (text: string) => void;
}

export interface SceneAudit {
  /** Empty where everything is as it should be. */
  readonly faults: readonly string[];
  /** What there was, in one line. */
  readonly told: string;
}

/** A site with clients and a look at `/me`, and whatever processes were started on it. */
export interface Stage {
  readonly site: CrashSite;
  readonly clients: CrashClients;
  readonly watch: MeWatch;
  readonly keys: readonly ClientKey[];
  /** Remembers a process, so that it does not outlive the scene. */
  started(life: StartedProcess): StartedProcess;
}

const ACCOUNTS = ['acct_ada', 'acct_bob'];
/** Whoever is refused again and again uses up models and keys. */
const REST_MS_MAX = 400;
const LOOK_MS = 500;

/** Lays a stage out, has the scene played on it, and ends whatever is left. */
export async function onStage<T>(
  { folder, seed, cases }: SceneOptions,
  siteOptions: Pick<SiteOptions, 'store'>,
  play: (stage: Stage) => Promise<T>,
): Promise<T> {
  const random = new SeededRandom(seed);
  const site = await layOutSite({ folder, accountIds: ACCOUNTS, ...siteOptions });
  const lives: StartedProcess[] = [];
  let watch: MeWatch | null = null;
  try {
    const keys = await Promise.all(site.accountIds.map((accountId) => site.issueKey(accountId)));
    site.troubleLog();
    const clients = new CrashClients({ random, keys, models: site.catalog.models, cases, restMsMax: REST_MS_MAX });
    watch = new MeWatch({ keys, urls: () => clients.urls });
    const started = (life: StartedProcess): StartedProcess => {
      lives.push(life);
      return life;
    };
    return await play({ site, clients, watch, keys, started });
  } finally {
    await watch?.stop();
    await Promise.all(lives.map(killAtOnce));
    await site.close();
  }
}

/** Looks again and again, for so long, for something that is not null; gives the clients keys meanwhile. */
export async function lookFor<T>({ site, clients }: Stage, msMax: number, look: () => T | null): Promise<T | null> {
  const untilMs = Date.now() + msMax;
  for (;;) {
    const found = look();
    if (found !== null || Date.now() > untilMs) return found;
    await clients.refillKeys((accountId) => site.issueKey(accountId));
    await delay(LOOK_MS);
  }
}
