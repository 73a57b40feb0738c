import { setTimeout as delay } from 'node:timers/promises';
import type { GivenEventStore } from '../eventstoredb/given-event-store.ts';
import { killAtOnce, type StartedProcess } from '../fixtures/processes/child-process.ts';
import { SeededRandom } from '../fixtures/seeded-random.ts';
import { auditRun, type RunAudit } from './audit-run.ts';
import { CAPPED_ACCOUNT, EARNS_REFUSALS, PLAIN_ACCOUNTS, THIN_ACCOUNT } from './crash-accounts.ts';
import { type CrashCase, requestCases } from './crash-cases.ts';
import { CrashClients } from './crash-clients.ts';
import { CrashOperators } from './crash-operators.ts';
import { type CrashSite, layOutSite } from './crash-site.ts';
import type { CrashStore } from './crash-store.ts';
import { FaultyEventStore } from './faulty-event-store.ts';
import { GivenStore } from './given-store.ts';
import { MeWatch } from './me-watch.ts';
import type { ClientKey, SentRequest } from './post-planned.ts';
import { SupervisedStart } from './supervised-start.ts';

interface CrashRunOptions {
  /** A folder of its own; what is in it afterwards is the caller's. */
  readonly folder: string;
  readonly seed: number;
  readonly kills: number;
  /** How long a gateway lives, on average, once it is ready. */
  readonly secondsBetween: number;
  /** The last gateway lives until clients have heard so many answers in all to their end, however long that takes them. */
  readonly servedMin?: number;
  /** What some of the requests are, and what operators do meanwhile. None where it is left out. */
  readonly cases?: readonly CrashCase[];
  /** `eventstoredb`: over the fake server, which loses acknowledgements and connections meanwhile, or over the given one. */
  readonly log: 'sqlite' | 'eventstoredb';
  /** An event store that is there already; the fake is started where it is left out. */
  readonly given?: GivenEventStore | null;
  /** Told of each kill. */
  readonly onKill?: (kill: number, requests: number) => void;
}

export interface CrashAudit extends RunAudit {
  /** Starts that a supervisor had to repeat: the gateway ended by itself, or was not ready in time. */
  readonly failedStarts: number;
  /** Requests sent, by their case. */
  readonly cases: Readonly<Record<string, number>>;
  /** The least that `/me` told of any account, in micro-USD, and how often it was asked. */
  readonly lowestMicroUsd: bigint | null;
  readonly looks: number;
  /** What operators did beside the load. */
  readonly limits: number;
  readonly grants: number;
}

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
const KEY_KNOWN_MS_MAX = 60_000;
const KEY_LOOK_MS = 50;

/**
 * Kills a gateway under mixed load again and again, each at an instant that the seed draws, starts it on the same
 * folder, and audits in the end what it has written. Stops by itself; leaves no process.
 */
export async function crashRun(options: CrashRunOptions): Promise<CrashAudit> {
  const random = new SeededRandom(options.seed);
  const { cases = [] } = options;
  const isMeanwhile = cases.includes('meanwhile');
  const store = options.log === 'eventstoredb' ? await startStore(options.given ?? null, random.fork()) : null;
  const site = await layOutSite({
    folder: options.folder,
    accountIds: isMeanwhile ? [...PLAIN_ACCOUNTS, CAPPED_ACCOUNT, THIN_ACCOUNT] : PLAIN_ACCOUNTS,
    ...(store === null ? {} : { store }),
  }).catch(async (error: unknown) => {
    await store?.close();
    throw error;
  });
  let gateway: StartedProcess | null = null;
  let watch: MeWatch | null = null;
  const start = (): StartedProcess => {
    gateway = site.startGateway();
    return gateway;
  };
  try {
    const keys = await firstKeys(site);
    site.troubleLog();
    const models = site.catalog.models;
    const clients = new CrashClients({ random: random.fork(), keys, models, cases: requestCases(cases) });
    watch = new MeWatch({ keys, urls: () => clients.urls });
    const operators = new CrashOperators(site, random.fork());
    const killsMs: number[] = [];
    const supervised = new SupervisedStart();
    const lives = { site, clients, random, start, supervised, operators: isMeanwhile ? operators : null };
    for (let kill = 1; kill <= options.kills; kill++) {
      killsMs.push(await liveAndDie(lives, options));
      await clients.refillKeys((accountId) => site.issueKey(accountId));
      options.onKill?.(kill, clients.sent.length);
    }
    const { life: last, url } = await supervised.untilReady(start);
    clients.useGateways([url]);
    await delay(LAST_LIFE_MS);
    await clients.untilServed(options.servedMin ?? 0, (accountId) => issueKnownKey(site, url, accountId));
    await clients.stop();
    await watch.stop();
    await site.calmLog();
    const { sent } = clients;
    const { limits, grants } = operators;
    const audit = await auditRun({ site, last, url, sent, killsMs, keys, start, limits, mayRefuse });
    return {
      ...audit,
      faults: [...audit.faults, ...watch.faults],
      failedStarts: supervised.failed,
      cases: Object.fromEntries(
        [...Map.groupBy(sent, ({ planned }) => planned.case)].map(([name, same]) => [name, same.length]),
      ),
      lowestMicroUsd: lowestOf([...watch.lowest.values()]),
      looks: watch.looks,
      limits: limits.length,
      grants,
    };
  } finally {
    await watch?.stop();
    if (gateway !== null) await killAtOnce(gateway);
    await site.close();
    await store?.close();
  }
}

const startStore = (given: GivenEventStore | null, random: SeededRandom): Promise<CrashStore> =>
  given === null ? FaultyEventStore.start(random) : GivenStore.start(given, random);

const mayRefuse = ({ accountId, errorType }: SentRequest): boolean =>
  errorType === 'billing_error' && EARNS_REFUSALS.has(accountId);

const lowestOf = (amounts: readonly bigint[]): bigint | null =>
  amounts.reduce<bigint | null>((least, one) => (least === null || one < least ? one : least), null);

async function firstKeys(site: CrashSite): Promise<ClientKey[]> {
  const issueOf = async (accountId: string): Promise<ClientKey[]> => {
    const keys: ClientKey[] = [];
    const count = PLAIN_ACCOUNTS.includes(accountId) ? KEYS_PER_ACCOUNT : 1;
    while (keys.length < count) keys.push(await site.issueKey(accountId));
    return keys;
  };
  return (await Promise.all(site.accountIds.map(issueOf))).flat();
}

/** A key that the gateway knows already: no client is told otherwise. */
async function issueKnownKey(site: CrashSite, url: string, accountId: string): Promise<ClientKey> {
  const issued = await site.issueKey(accountId);
  const untilMs = Date.now() + KEY_KNOWN_MS_MAX;
  for (;;) {
    const { status } = await fetch(`${url}/me`, { headers: { 'x-api-key': issued.key } });
    if (status === 200) return issued;
    if (Date.now() > untilMs) throw new Error(`${url} answers ${status} to the key ${issued.keyId} still`);
    await delay(KEY_LOOK_MS);
  }
}

interface Lives {
  readonly site: CrashSite;
  readonly clients: CrashClients;
  readonly random: SeededRandom;
  readonly start: () => StartedProcess;
  readonly supervised: SupervisedStart;
  /** Null where nobody works beside the load but for a grant now and then. */
  readonly operators: CrashOperators | null;
}

/** One life of a gateway. Returns when it was killed, in ms since 1970. */
async function liveAndDie(
  { site, clients, random, start, supervised, operators }: Lives,
  { secondsBetween }: CrashRunOptions,
): Promise<number> {
  const isEarly = random.chance(EARLY_KILL_SHARE);
  const earlyMs = random.whole(0, EARLY_MS_MAX);
  const lifeMs = (0.2 + 1.6 * random.next()) * secondsBetween * 1_000;
  const grantTo = random.chance(GRANT_SHARE)
    ? (PLAIN_ACCOUNTS[random.whole(0, PLAIN_ACCOUNTS.length - 1)] ?? null)
    : null;
  const priority = random.whole(1, 200);
  const gateway = isEarly ? startUnawaited(start, clients) : await startServing(supervised, start, clients);
  const granted = grantTo === null || isEarly ? null : site.grant(grantTo, priority);
  const worked = operators?.work() ?? null;
  // Told below.
  granted?.catch(() => undefined);
  worked?.catch(() => undefined);
  const sentBefore = clients.sent.length;
  await delay(isEarly ? earlyMs : lifeMs);
  if (!isEarly) await clients.untilSent(sentBefore + REQUESTS_PER_LIFE_MIN);
  const atMs = Date.now();
  await killAtOnce(gateway);
  clients.useGateways([]);
  await granted;
  await worked;
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
