import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { accountBooks } from '../crash/audit/account-books.ts';
import { auditRequests } from '../crash/audit/audit-requests.ts';
import { auditMe, auditViewRows, type MeSeen } from '../crash/audit/audit-views.ts';
import { readUpstreamRecord } from '../crash/audit/upstream-record.ts';
import { meOnceSettled } from '../crash/audit-run.ts';
import { CrashClients } from '../crash/crash-clients.ts';
import type { ClientKey, SentRequest } from '../crash/post-planned.ts';
import type { GivenEventStore } from '../eventstoredb/given-event-store.ts';
import { SeededRandom } from '../fixtures/seeded-random.ts';
import type { Broker } from '../kafka/start-broker.ts';
import { auditTopic, type TopicAudit } from '../soak/audit/audit-topic.ts';
import { isPublished, type LoggedStream } from '../soak/logged-stream.ts';
import { untilPublished } from '../soak/quiet-time.ts';
import { OutageFeed } from './outage-feed.ts';
import { layOutOutage, type OutageSite, readMetric } from './outage-site.ts';

interface OutageRunOptions {
  /** A folder of its own; what is in it afterwards is the caller's. */
  readonly folder: string;
  /** An event store that is there already; one is started where it is left out. */
  readonly given?: GivenEventStore | null;
  /** Where there is one, a relay publishes to it; it is taken away with the log where it is this run's alone. */
  readonly broker?: Broker | null;
  readonly seed: number;
  /** How long the event log is away, at least. */
  readonly seconds: number;
  /** It is away until so many requests have ended in each half of that time, however long that takes them. */
  readonly requestsMin?: number;
  /** Whether the gateway is killed and started again in the middle of the outage. */
  readonly restart: boolean;
}

export interface OutageResult {
  /** Empty where everything is as it should be. */
  readonly faults: readonly string[];
  readonly sent: number;
  /** Answered with 200 and heard to the end, of those sent while the log was away. */
  readonly servedDuring: number;
  /** Answered with 529 though no upstream had seen them, of those. */
  readonly refusedDuring: number;
  readonly journalBytes: number;
  readonly pendingAtEnd: number;
  /** From the log's coming back until no more requests wait than before the outage. */
  readonly drainMs: number;
  readonly recorded: number;
  /** The topic against the log; null where there is no broker. */
  readonly published: TopicAudit | null;
  /** What /readyz and /status said near the end of the outage, and /readyz after it. */
  readonly told: { readonly ready: ToldHealth; readonly status: ToldHealth; readonly logUp: number | null };
  readonly toldAfter: ToldHealth;
}

interface ToldHealth {
  readonly httpStatus: number;
  readonly body: { readonly ok?: boolean; readonly degraded?: string };
}

const ACCOUNTS = ['acct_ada', 'acct_bob', 'acct_cyd', 'acct_dee'];
/** Each of them is used by three clients at once; the others of an account follow when its models are used up. */
const LISTS_PER_ACCOUNT = 2;
const REST_MS_MAX = 150;
/** A client rests 75 ms on average, so three of them send fewer than so many requests a second. */
const REQUESTS_PER_LIST_S = 40;
const BEFORE_MS = 2_000;
const AFTER_MS = 1_000;
const SERVED_MS_MAX = 120_000;
const DRAIN_MS_MAX = 180_000;
const POLL_MS = 20;
/** Requests that wait for settlement while nothing is wrong. */
const PENDING_CALM = 30;

/** Takes the event log away under steady load, brings it back, and audits every request. Stops by itself. */
export async function outageRun(options: OutageRunOptions): Promise<OutageResult> {
  const random = new SeededRandom(options.seed);
  let clients: CrashClients | null = null;
  const gatewayUrls: string[] = [];
  const { folder, given = null, broker = null } = options;
  const feed = broker === null ? null : await OutageFeed.start(broker);
  const site = await layOutOutage({
    folder,
    given,
    kafka: feed?.kafka ?? null,
    onGateway: (url) => {
      if (url !== null) gatewayUrls.push(url);
      clients?.useGateways(url === null ? [] : [url]);
    },
  });
  try {
    const keys = await openAccounts(site, options.seconds);
    site.relay?.start();
    site.gateway.start();
    await site.gateway.whenReady();
    const [url = ''] = gatewayUrls;
    const models = site.catalog.models;
    const lists = keys.flatMap((ofAccount) => ofAccount.slice(0, LISTS_PER_ACCOUNT));
    clients = new CrashClients({ random: random.fork(), keys: lists, models, restMsMax: REST_MS_MAX });
    addKeys(clients, keys);
    clients.useGateways([url]);
    await delay(BEFORE_MS);
    await untilServed(clients);
    const during = await outage({ site, clients, feed }, options, () => gatewayUrls.at(-1) ?? '');
    const toldAfter = await health(gatewayUrls.at(-1) ?? '', '/readyz');
    await delay(AFTER_MS);
    await clients.stop();
    const mes = await mesOnceSettled(gatewayUrls.at(-1) ?? '', lists);
    await site.gateway.stop();
    if (feed !== null) await untilPublished(site.store, feed.topic);
    await site.relay?.stop();
    const logged = await site.store.streams();
    const published = feed === null ? null : auditTopic(feed.topic.messages, logged.filter(isPublished));
    const { faults, recorded, seen } = audit(site, logged, clients.sent, during.killsMs, mes);
    const whileAway = clients.sent.filter(({ sentAtMs }) => sentAtMs >= during.fromMs && sentAtMs < during.toMs);
    return {
      faults: [...faults, ...(published?.faults ?? []), ...(feed?.topic.unread ?? [])],
      published,
      recorded,
      sent: clients.sent.length,
      servedDuring: whileAway.filter(({ heard, status }) => heard === 'complete' && status === 200).length,
      refusedDuring: whileAway.filter(({ status, planned }) => status === 529 && !seen.has(planned.id)).length,
      ...during,
      toldAfter,
    };
  } finally {
    await site.gateway.kill();
    await site.relay?.kill();
    await feed?.close();
    await site.close();
  }
}

/** From an account's first answer on the gateway has a lease in it, without which it could serve nobody while the log is away. */
async function untilServed({ sent }: CrashClients): Promise<void> {
  const untilMs = performance.now() + SERVED_MS_MAX;
  while (!ACCOUNTS.every((id) => sent.some(({ accountId, heard }) => accountId === id && heard === 'complete'))) {
    if (performance.now() > untilMs) throw new Error(`not every account was served within ${SERVED_MS_MAX} ms`);
    await delay(POLL_MS);
  }
}

function openAccounts(site: OutageSite, seconds: number): Promise<ClientKey[][]> {
  const requests = REQUESTS_PER_LIST_S * (seconds + (BEFORE_MS + AFTER_MS) / 1_000 + 10);
  const perList = 1 + Math.ceil(requests / site.catalog.models.length);
  return Promise.all(ACCOUNTS.map((id) => site.openAccount(id, LISTS_PER_ACCOUNT * perList)));
}

/** During the outage nobody can issue a key: all that the run needs are there from the start. */
function addKeys(clients: CrashClients, keys: readonly (readonly ClientKey[])[]): void {
  for (const [account, ofAccount] of keys.entries())
    for (const [index, key] of ofAccount.slice(LISTS_PER_ACCOUNT).entries())
      clients.slots[account * LISTS_PER_ACCOUNT + (index % LISTS_PER_ACCOUNT)]?.addKey(key);
}

async function outage(
  { site, clients, feed }: { site: OutageSite; clients: CrashClients; feed: OutageFeed | null },
  { seconds, requestsMin = 0, restart }: OutageRunOptions,
  url: () => string,
) {
  const { metricsUrl } = site;
  const fromMs = await site.taken.kill();
  await feed?.pause();
  const killsMs: number[] = [];
  await delay((seconds * 1_000) / 2);
  await clients.untilSent(clients.sent.length + requestsMin);
  await feed?.kill();
  if (restart) {
    killsMs.push(await site.gateway.kill());
    site.gateway.start();
    await site.gateway.whenReady();
  }
  await delay(Math.max(0, fromMs + seconds * 1_000 - Date.now()));
  await clients.untilSent(clients.sent.length + requestsMin);
  const told = {
    ready: await health(url(), '/readyz'),
    status: await health(url(), '/status'),
    logUp: await readMetric(metricsUrl, 'gateway_event_log_up'),
  };
  const journalBytes = (await readMetric(metricsUrl, 'gateway_journal_bytes')) ?? 0;
  const pendingAtEnd = (await readMetric(metricsUrl, 'gateway_settlements_pending')) ?? 0;
  site.taken.start();
  await site.taken.whenReady();
  await feed?.startAgain();
  const toMs = Date.now();
  while ((await readMetric(metricsUrl, 'gateway_settlements_pending')) !== null) {
    const pending = (await readMetric(metricsUrl, 'gateway_settlements_pending')) ?? 0;
    const isUp = (await readMetric(metricsUrl, 'gateway_event_log_up')) === 1;
    if (isUp && pending <= PENDING_CALM) break;
    if (Date.now() - toMs > DRAIN_MS_MAX) throw new Error(`${pending} requests still wait ${DRAIN_MS_MAX} ms after`);
    await delay(POLL_MS);
  }
  return { fromMs, toMs, killsMs, told, journalBytes, pendingAtEnd, drainMs: Date.now() - toMs };
}

async function health(url: string, path: string): Promise<ToldHealth> {
  const answer = await fetch(url + path);
  return { httpStatus: answer.status, body: (await answer.json()) as ToldHealth['body'] };
}

async function mesOnceSettled(url: string, keys: readonly ClientKey[]): Promise<Map<ClientKey, MeSeen>> {
  const mes = new Map<ClientKey, MeSeen>();
  for (const key of keys) mes.set(key, await meOnceSettled(url, key));
  return mes;
}

/** The upstream's record, the clients' and the ledger's, compared by the auditor of the crash run. */
function audit(
  site: OutageSite,
  logged: readonly LoggedStream[],
  sent: readonly SentRequest[],
  killsMs: readonly number[],
  mes: ReadonlyMap<ClientKey, MeSeen>,
): { faults: string[]; recorded: number; seen: ReadonlySet<string> } {
  const streams = new Map(logged.map(({ stream, events }) => [stream, events]));
  const { prices } = site.catalog;
  const books = ACCOUNTS.map((id) => accountBooks(id, streams.get(`account-${id}`) ?? [], prices));
  const usages = books.flatMap((own) => own.usages);
  const seen = readUpstreamRecord(site.recordPath);
  const faults = books.flatMap((own) => own.faults.map((fault) => `${own.accountId}: ${fault}`));
  for (const [{ accountId, keyId }, me] of mes) {
    const own = books.find((one) => one.accountId === accountId);
    if (own !== undefined) faults.push(...auditMe(own, keyId, me));
  }
  faults.push(...auditViewRows(join(site.data, 'views.db'), books));
  faults.push(...auditRequests({ sent, seen, usages, debits: books.flatMap((own) => own.debits), prices, killsMs }));
  return { faults, recorded: usages.length, seen: new Set(seen.map(({ id }) => id)) };
}
