import { setTimeout as delay } from 'node:timers/promises';
import { auditRun, type RunAudit } from './audit-run.ts';
import { killAtOnce, type StartedProcess } from './child-process.ts';
import { CrashClients } from './crash-clients.ts';
import { type CrashSite, layOutSite } from './crash-site.ts';
import type { ClientKey } from './post-planned.ts';
import { SeededRandom } from './seeded-random.ts';

export interface CrashRunOptions {
  /** A folder of its own; what is in it afterwards is the caller's. */
  readonly folder: string;
  readonly seed: number;
  readonly kills: number;
  /** How long a gateway lives, on average, once it is ready. */
  readonly secondsBetween: number;
  /** Told of each kill. */
  readonly onKill?: (kill: number, requests: number) => void;
}

const ACCOUNTS = ['acct_ada', 'acct_bob'];
const KEYS_PER_ACCOUNT = 2;
/** So many of the gateways are killed while they start, recover or have just begun to serve. */
const EARLY_KILL_SHARE = 0.25;
const EARLY_MS_MAX = 900;
/** In so many lives an operator grants credits beside the running gateway. */
const GRANT_SHARE = 0.6;
/** After the last kill clients go on for so long before they stop. */
const LAST_LIFE_MS = 1_000;

/**
 * Kills a gateway under mixed load again and again, each at an instant that the seed draws, starts it on the same
 * folder, and audits in the end what it has written. Stops by itself; leaves no process.
 */
export async function crashRun(options: CrashRunOptions): Promise<RunAudit> {
  const random = new SeededRandom(options.seed);
  const site = await layOutSite(options.folder, ACCOUNTS);
  let gateway: StartedProcess | null = null;
  const start = (): StartedProcess => {
    gateway = site.startGateway();
    return gateway;
  };
  try {
    const keys = await firstKeys(site);
    const clients = new CrashClients({ random: random.fork(), keys, models: site.catalog.models });
    const killsMs: number[] = [];
    for (let kill = 1; kill <= options.kills; kill++) {
      killsMs.push(await liveAndDie(start(), site, clients, random, options));
      await clients.refillKeys((accountId) => site.issueKey(accountId));
      options.onKill?.(kill, clients.sent.length);
    }
    const last = start();
    const { url } = await last.firstLine;
    clients.useGateway(url);
    await delay(LAST_LIFE_MS);
    await clients.stop();
    return await auditRun({ site, last, url, sent: clients.sent, killsMs, keys, start });
  } finally {
    if (gateway !== null) await killAtOnce(gateway);
    await site.close();
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

/** One life of a gateway. Returns when it was killed, in ms since 1970. */
async function liveAndDie(
  gateway: StartedProcess,
  site: CrashSite,
  clients: CrashClients,
  random: SeededRandom,
  { secondsBetween }: CrashRunOptions,
): Promise<number> {
  const isEarly = random.chance(EARLY_KILL_SHARE);
  const earlyMs = random.whole(0, EARLY_MS_MAX);
  const lifeMs = (0.2 + 1.6 * random.next()) * secondsBetween * 1_000;
  const grantTo = random.chance(GRANT_SHARE) ? (ACCOUNTS[random.whole(0, ACCOUNTS.length - 1)] ?? null) : null;
  const priority = random.whole(1, 200);
  const ready = gateway.firstLine.then(({ url }) => clients.useGateway(url));
  if (isEarly) {
    // It may not be ready by then, and that is meant.
    ready.catch(() => undefined);
  } else {
    await ready;
  }
  const granted = grantTo === null || isEarly ? null : site.grant(grantTo, priority);
  // Told below.
  granted?.catch(() => undefined);
  await delay(isEarly ? earlyMs : lifeMs);
  const atMs = Date.now();
  await killAtOnce(gateway);
  clients.useGateway(null);
  await granted;
  return atMs;
}
