import { setTimeout as delay } from 'node:timers/promises';
import { auditMe } from '../crash/audit/audit-views.ts';
import { CrashClients } from '../crash/crash-clients.ts';
import { MeWatch } from '../crash/me-watch.ts';
import type { ClientKey, SentRequest } from '../crash/post-planned.ts';
import type { RequestCase } from '../crash/request-cases.ts';
import type { GivenEventStore } from '../eventstoredb/given-event-store.ts';
import { SeededRandom } from '../fixtures/seeded-random.ts';
import { newTopicName } from '../kafka/new-topic-name.ts';
import type { Broker } from '../kafka/start-broker.ts';
import { auditSoak, type SoakAudit } from './audit/audit-soak.ts';
import { BrokerTrouble } from './broker-trouble.ts';
import type { LoggedStream } from './logged-stream.ts';
import { type Answer, answersOnceSettled, untilKnown, untilPublished, untilViewed } from './quiet-time.ts';
import { SOAK_ACCOUNTS } from './soak-accounts.ts';
import { SoakFleet } from './soak-fleet.ts';
import { SoakKills } from './soak-kills.ts';
import { SoakOperators } from './soak-operators.ts';
import { TopicRecord } from './topic-record.ts';
import { ALL_TROUBLES, type Troubles } from './troubles.ts';

interface SoakOptions {
  /** A folder of its own; what is in it afterwards is the caller's. */
  readonly folder: string;
  readonly seed: number;
  /** How long traffic and trouble go on, at least, and until there was each kind of it. The quiet time and the audit come on top. */
  readonly seconds: number;
  readonly broker: Broker;
  /** An event store that is there already; one is started where it is left out. */
  readonly given?: GivenEventStore | null;
  /** What some of the requests are. */
  readonly cases: readonly RequestCase[];
  /** What is done to the processes; everything where it is left out. */
  readonly troubles?: Troubles;
  /** Between one trouble and the next. */
  readonly restMs?: readonly [from: number, to: number];
  readonly say: (text: string) => void;
}

export interface SoakResult {
  readonly audit: SoakAudit;
  readonly sent: readonly SentRequest[];
  readonly kills: SoakKills;
  readonly operators: SoakOperators;
  readonly messages: number;
  /** From the last request's end until ledger, views and topic were complete, in ms. */
  readonly quietMs: number;
  readonly watch: MeWatch;
  /** How many were ready in the end, and what each of them told every account. */
  readonly proxies: number;
  readonly answers: readonly Answer[];
}

const KEYS_PER_ACCOUNT = 1;
const REST_MS_MAX = 400;
const TELL_MS = 10_000;
const ENOUGH_LOOK_MS = 250;
/** A key is known everywhere within a second; while a log or a relay is away it takes as long as that. */
const KEY_KNOWN_MS = 60_000;
/** So many proxies in a run of the length, at most, are never started again. */
const LOST_EVERY_S = 150;

/**
 * Three proxies, one of them with views from Kafka, two relays, one event store, one broker, one upstream: traffic,
 * operators and `kill -9` at random; then everything is compared with everything. Stops by itself; leaves no process.
 */
export async function soakRun(options: SoakOptions): Promise<SoakResult> {
  const { folder, broker, given = null } = options;
  const topic = newTopicName('soak');
  await broker.createTopic(topic);
  const fleet = await SoakFleet.layOut({ folder, brokers: broker.brokers, topic, given });
  try {
    return await soak(fleet, topic, options);
  } finally {
    fleet.unmount();
  }
}

async function soak(
  fleet: SoakFleet,
  topicName: string,
  { seed, seconds, broker, cases, troubles = ALL_TROUBLES, restMs, say }: SoakOptions,
): Promise<SoakResult> {
  const random = new SeededRandom(seed);
  const operators = new SoakOperators((...args) => fleet.command(...args));
  await operators.openAccounts();
  const keys = await firstKeys(operators);
  for (const relay of fleet.relays) relay.start();
  const clients = new CrashClients({
    random: random.fork(),
    keys,
    models: fleet.catalog.models,
    restMsMax: REST_MS_MAX,
    cases,
  });
  const watch = new MeWatch({ keys, urls: () => clients.urls });
  const onChange = (): void => clients.useGateways(fleet.urls);
  for (const viewsFrom of ['log', 'log', 'kafka'] as const) fleet.addProxy(viewsFrom, onChange).process.start();
  await Promise.all(fleet.proxies.map(({ process }) => process.whenReady()));
  const topic = TopicRecord.start(broker.brokers, topicName);
  say(`three proxies are ready; ${seconds} s of traffic`);
  const lostMax = Math.floor(seconds / LOST_EVERY_S);
  const brokers = broker.cluster === null ? null : new BrokerTrouble(broker.cluster, topicName);
  const kills = new SoakKills({ fleet, random: random.fork(), troubles, restMs, brokers, lostMax, onChange });
  const ending = new AbortController();
  const over = ending.signal;
  void endAfter(seconds, ending, () => kills.hasDoneEach && everyAccountIsServed(clients));
  const telling = setInterval(() => say(`${clients.sent.length} requests, ${kills.summary}`), TELL_MS);
  try {
    await Promise.all([
      kills.rage(over),
      operators.issueKeys(clients, over),
      operators.work(random.fork(), clients, over),
      untilEnded(fleet, over),
    ]);
    await clients.stop();
  } finally {
    await watch.stop();
    clearInterval(telling);
    ending.abort();
  }
  const quietSinceMs = Date.now();
  const answers = await quietTime(fleet, topic, operators);
  const quietMs = Date.now() - quietSinceMs;
  const refusedEverywhere = await auditRevoked(fleet, operators);
  const logged = await stopAll(fleet, topic);
  const audit = auditSoak({
    fleet,
    logged,
    sent: clients.sent,
    killsMs: kills.proxiesMs,
    messages: topic.messages,
    limits: operators.limits,
    mayRefuse: (request) => mayRefuse(request, operators),
  });
  const faults = [
    ...audit.faults,
    ...topic.unread,
    ...watch.faults,
    ...refusedEverywhere,
    ...auditAnswers(answers, audit),
  ];
  return {
    audit: { ...audit, faults },
    sent: clients.sent,
    kills,
    operators,
    messages: topic.messages.length,
    quietMs,
    watch,
    proxies: fleet.kept.length,
    answers,
  };
}

/** Ends the run after the seconds, and on a slow machine when there is something to audit. */
async function endAfter(seconds: number, ending: AbortController, isEnough: () => boolean): Promise<void> {
  await delay(seconds * 1_000, undefined, { ref: false });
  while (!ending.signal.aborted && !isEnough()) await delay(ENOUGH_LOOK_MS, undefined, { ref: false });
  ending.abort();
}

const everyAccountIsServed = ({ sent }: CrashClients): boolean =>
  SOAK_ACCOUNTS.every(({ id }) =>
    sent.some(({ accountId, heard, status }) => accountId === id && heard === 'complete' && status === 200),
  );

async function firstKeys(operators: SoakOperators): Promise<ClientKey[]> {
  const keys: ClientKey[] = [];
  for (const { id } of SOAK_ACCOUNTS)
    for (let count = 0; count < KEYS_PER_ACCOUNT; count++) keys.push(await operators.issueKey(id));
  return keys;
}

/** A key for each account that nobody has revoked. */
const usableKeys = (operators: SoakOperators): Promise<ClientKey[]> =>
  Promise.all(SOAK_ACCOUNTS.map(({ id }) => operators.issueKey(id)));

/** Nobody but us ends a process. @throws Error when one has ended by itself */
async function untilEnded(fleet: SoakFleet, over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    const ended = [fleet.store.taken, ...fleet.relays, ...fleet.proxies.map(({ process }) => process)].find(
      (process) => process?.hasEnded === true,
    );
    if (ended) throw new Error(`${ended.name} has ended by itself: see stderr.log`);
    await delay(500, undefined, { signal: over }).catch(() => undefined);
  }
}

/** Money is refused where there is too little; a key where it was revoked, or is too new to be known everywhere. */
function mayRefuse({ accountId, keyId, errorType, sentAtMs }: SentRequest, operators: SoakOperators): boolean {
  if (errorType === 'billing_error') return SOAK_ACCOUNTS.some(({ id, runsOut }) => id === accountId && runsOut);
  if (errorType !== 'authentication_error') return false;
  const isRevoked = operators.revoked.some(({ key }) => key.keyId === keyId);
  return isRevoked || sentAtMs - (operators.issuedMs.get(keyId) ?? 0) < KEY_KNOWN_MS;
}

async function auditRevoked(fleet: SoakFleet, operators: SoakOperators): Promise<string[]> {
  const faults: string[] = [];
  for (const url of fleet.urls)
    for (const { key } of operators.revoked) {
      const { status } = await fetch(`${url}/me`, { headers: { 'x-api-key': key.key } });
      if (status !== 401) faults.push(`${url}: the revoked key ${key.keyId} is answered with ${status}`);
    }
  return faults;
}

/** Every proxy tells every account the auditor's own figures. */
const auditAnswers = (answers: readonly Answer[], { books }: SoakAudit): string[] =>
  answers.flatMap(({ url, key, me }) => {
    const own = books.find(({ accountId }) => accountId === key.accountId);
    return own === undefined ? [] : auditMe(own, key.keyId, me).map((fault) => `${url}: ${fault}`);
  });

/**
 * Everything that is under way ends. Then the proxies stop, which gives back their leases, and start again, so that each
 * of them sees what the others did at their end.
 */
async function quietTime(fleet: SoakFleet, topic: TopicRecord, operators: SoakOperators): Promise<Answer[]> {
  const keys = await usableKeys(operators);
  await Promise.all(fleet.kept.map(({ process }) => process.whenReady()));
  await untilKnown(fleet, keys);
  await answersOnceSettled(fleet, keys);
  await Promise.all(fleet.kept.map(({ process }) => process.stop()));
  await untilPublished(fleet.store, topic);
  for (const { process } of fleet.kept) process.start();
  await Promise.all(fleet.kept.map(({ process }) => process.whenReady()));
  await untilViewed(fleet);
  return answersOnceSettled(fleet, keys);
}

/** Returns what the event store holds in the end. */
async function stopAll(fleet: SoakFleet, topic: TopicRecord): Promise<LoggedStream[]> {
  await Promise.all(fleet.kept.map(({ process }) => process.stop()));
  await untilPublished(fleet.store, topic);
  await Promise.all(fleet.relays.map((relay) => relay.stop()));
  await topic.close();
  const logged = await fleet.store.streams();
  await fleet.stopRest();
  return logged;
}
