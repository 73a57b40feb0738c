import { setTimeout as delay } from 'node:timers/promises';
import { auditRun, type RunAudit } from './audit-run.ts';
import { killAtOnce, type StartedProcess } from './child-process.ts';
import { CrashClients } from './crash-clients.ts';
import { type CrashSite, layOutSite } from './crash-site.ts';
import { FaultyEventStore } from './faulty-event-store.ts';
import type { ClientKey } from './post-planned.ts';
import { SeededRandom } from './seeded-random.ts';
import { SupervisedStart } from './supervised-start.ts';

export interface CrashRunOptions {
  /** A folder of its own; what is in it afterwards is the caller's. */
  readonly folder: string;
  readonly seed: number;
  readonly kills: number;
  /** How long a gateway lives, on average, once it is ready. */
  readonly secondsBetween: number;
  /** The last gateway lives until clients have had so many answers in all, however long that takes them. */
  readonly requestsMin?: number;
  /** `eventstoredb`: over the fake server, which loses acknowledgements and connections meanwhile. */
  readonly log: 'sqlite' | 'eventstoredb';
  /** Told of each kill. */
  readonly onKill?: (kill: number, requests: number) => void;
}

export interface CrashAudit extends RunAudit {
  /** Starts that a supervisor had to repeat: the gateway ended by itself, or was not ready in time. */
  readonly failedStarts: number;
}

const ACCOUNTS = ['acct_ada', 'acct_bob'];
const KEYS_PER_ACCOUNT = 2;
/** So many of the gateways are killed while they start, recover or have just begun to serve. */
const EARLY_KILL_SHARE = 0.25;
const EARLY_MS_MAX = 900;
/** In so many lives an operator grants credits beside the running gateway. */
const GRANT_SHARE = 0.6;
/** A gateway is not killed before so many of its requests have ended, unless it is killed early: then others are under way. */
const REQUESTS_PER_LIFE_MIN = 12;
/** After the last kill clients go on for so long at least before they stop. */
const LAST_LIFE_MS = 1_000;

/**
 * Kills a gateway under mixed load again and again, each at an instant that the seed draws, starts it on the same
 * folder, and audits in the end what it has written. Stops by itself; leaves no process.
 */
export async function crashRun(options: CrashRunOptions): Promise<CrashAudit> {
  const random = new SeededRandom(options.seed);
  const store = options.log === 'eventstoredb' ? await FaultyEventStore.start(random.fork()) : null;
  const site = await layOutSite({
    folder: options.folder,
    accountIds: ACCOUNTS,
    ...(store === null ? {} : { store }),
  }).catch(async (error: unknown) => {
    await store?.close();
    throw error;
  });
  let gateway: StartedProcess | null = null;
  const start = (): StartedProcess => {
    gateway = site.startGateway();
    return gateway;
  };
  try {
    const keys = await firstKeys(site);
    const clients = new CrashClients({ random: random.fork(), keys, models: site.catalog.models });
    const killsMs: number[] = [];
    const supervised = new SupervisedStart();
    const lives = { site, clients, random, start, supervised };
    for (let kill = 1; kill <= options.kills; kill++) {
      killsMs.push(await liveAndDie(lives, options));
      await clients.refillKeys((accountId) => site.issueKey(accountId));
      options.onKill?.(kill, clients.sent.length);
    }
    const { life: last, url } = await supervised.untilReady(start);
    clients.useGateways([url]);
    await delay(LAST_LIFE_MS);
    await clients.untilSent(options.requestsMin ?? 0);
    await clients.stop();
    await site.calmLog();
    const audit = await auditRun({ site, last, url, sent: clients.sent, killsMs, keys, start });
    return { ...audit, failedStarts: supervised.failed };
  } finally {
    if (gateway !== null) await killAtOnce(gateway);
    await site.close();
    await store?.close();
  }
}

async function firstKeys(site: CrashSite): Promise<ClientKey[]> {
  const issueOf = async (accountId: string): Promise<ClientKey[]> => {
    const keys: ClientKey[] = [];
    while (keys.length < KEYS_PER_ACCOUNT) keys.push(await site.issueKey(accountId));
    return keys;
  };
  return (await Promise.all(site.accountIds.map(issueOf))).flat();
}

interface Lives {
  readonly site: CrashSite;
  readonly clients: CrashClients;
  readonly random: SeededRandom;
  readonly start: () => StartedProcess;
  readonly supervised: SupervisedStart;
}

/** One life of a gateway. Returns when it was killed, in ms since 1970. */
async function liveAndDie(
  { site, clients, random, start, supervised }: Lives,
  { secondsBetween }: CrashRunOptions,
): Promise<number> {
  const isEarly = random.chance(EARLY_KILL_SHARE);
  const earlyMs = random.whole(0, EARLY_MS_MAX);
  const lifeMs = (0.2 + 1.6 * random.next()) * secondsBetween * 1_000;
  const grantTo = random.chance(GRANT_SHARE) ? (ACCOUNTS[random.whole(0, ACCOUNTS.length - 1)] ?? null) : null;
  const priority = random.whole(1, 200);
  const gateway = isEarly ? startUnawaited(start, clients) : await startServing(supervised, start, clients);
  const granted = grantTo === null || isEarly ? null : site.grant(grantTo, priority);
  // Told below.
  granted?.catch(() => undefined);
  const sentBefore = clients.sent.length;
  await delay(isEarly ? earlyMs : lifeMs);
  if (!isEarly) await clients.untilSent(sentBefore + REQUESTS_PER_LIFE_MIN);
  const atMs = Date.now();
  await killAtOnce(gateway);
  clients.useGateways([]);
  await granted;
  return atMs;
}

/** It may not be ready when it is killed, and that is meant. */
function startUnawaited(start: () => StartedProcess, clients: CrashClients): StartedProcess {
  const gateway = start();
  gateway.firstLine.then(
    ({ url }) => clients.useGateways([url]),
    () => undefined,
  );
  return gateway;
}

async function startServing(
  supervised: SupervisedStart,
  start: () => StartedProcess,
  clients: CrashClients,
): Promise<StartedProcess> {
  const { life, url } = await supervised.untilReady(start);
  clients.useGateways([url]);
  return life;
}
