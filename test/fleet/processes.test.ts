import { closeSync, mkdirSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { formatUsd, microUsd } from '../../contracts/money.ts';
import { type FakeEventStore, startFakeEventStore } from '../eventstoredb/fake-event-store.ts';
import { textOf } from '../eventstoredb/stored-event.ts';
import { HIGH_LIMITS } from '../fixtures/gateway/high-limits.ts';
import { type PostTarget, postMessage, startPost } from '../fixtures/gateway/post-message.ts';
import { PATIENT_LEASES, REQUESTS, requestsAtOnce, WORST_MICRO_USD } from '../fixtures/gateway/requests-at-once.ts';
import { TEST_CATALOG } from '../fixtures/gateway/start-gateway.ts';
import { killAtOnce, killStarted, type StartedProcess, startProcess } from '../fixtures/processes/child-process.ts';
import { GATEWAY_PROGRAM, gatewayCommand } from '../fixtures/processes/gateway-command.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { json, wait } from '../upstream/answer.ts';
import { message } from '../upstream/message.ts';
import { startUpstream, type Upstream } from '../upstream/upstream.ts';

const PROXIES = 3;
const FITTING = 10;
const ACCOUNT = 'acct_fleet';
/** Of a proxy whose requests take a few seconds at most: a lease of its that nobody renews is over a little later. */
const SHORT = {
  provider: { connectMs: 100, firstByteMs: 400, totalMs: 700 },
  drainMs: 100,
  leases: { slackMs: 2_000 },
  // What so short a slack covers.
  clock: { skewMs: 200, jumpMs: 200 },
};

let store: FakeEventStore;
let upstream: Upstream;
let folder: string;
let stderrFd: number;
let key: string;
let keyId: string;

/** @param times of the first proxy; the others have the times of the default, longer than anything takes here. */
async function start(credit: bigint, times: Times = {}): Promise<void> {
  folder = temporaryFolder();
  stderrFd = openSync(join(folder, 'stderr.log'), 'a');
  store = await startFakeEventStore();
  upstream = await startUpstream();
  writeFileSync(join(folder, 'catalog.json'), JSON.stringify(TEST_CATALOG));
  for (let index = 0; index < PROXIES; index++) writeConfiguration(index, index === 0 ? times : {});
  const command = (...args: readonly string[]) => gatewayCommand(configurationOf(0), ...args);
  await command('account', 'open', '--email', 'fleet@example.com', '--id', ACCOUNT, '--trial-usd', '0');
  await command('credits', 'grant', ACCOUNT, '--usd', formatUsd(microUsd(credit)), '--source', 'purchase');
  ({ key, keyId } = JSON.parse(await command('key', 'issue', ACCOUNT)));
}

const configurationOf = (index: number): string => join(folder, `gateway-${index}.json`);

interface Times {
  readonly proxies?: 'one';
  readonly provider?: object;
  readonly drainMs?: number;
  readonly leases?: object;
  readonly clock?: object;
}

function writeConfiguration(index: number, { provider = {}, leases = {}, ...times }: Times): void {
  const data = join(folder, `data-${index}`);
  mkdirSync(data);
  const test = { protocol: 'messages', baseUrl: upstream.url, apiKeyEnv: 'FLEET_KEY', countTokens: false, ...provider };
  const configuration = {
    listen: { port: 0 },
    rateLimits: HIGH_LIMITS,
    data,
    catalog: join(folder, 'catalog.json'),
    eventLog: { kind: 'eventstoredb', connectionString: store.connectionString },
    providers: { test },
    leases: { ...PATIENT_LEASES, ...leases },
    logLevel: 'error',
    ...times,
  };
  writeFileSync(configurationOf(index), JSON.stringify(configuration));
}

const serve = (index: number): StartedProcess =>
  startProcess([GATEWAY_PROGRAM, 'serve', '--config', configurationOf(index), '--json'], {
    stderrFd,
    environment: { FLEET_KEY: 'upstream-secret' },
  });

const targetOf = async (proxy: StartedProcess): Promise<PostTarget> => ({ url: (await proxy.firstLine).url, key });

afterEach(async () => {
  killStarted();
  await upstream.close();
  await store.stop();
  closeSync(stderrFd);
});

const recordedTypes = (): string[] =>
  store
    .events()
    .filter(({ stream }) => stream === `account-${ACCOUNT}`)
    .map(({ type }) => type);

describe(`${PROXIES} proxy processes on one event store`, () => {
  it(`admit ${FITTING} of ${REQUESTS} parallel requests where ${FITTING} worst cases fit`, async () => {
    await start(BigInt(FITTING) * WORST_MICRO_USD);
    const targets = await Promise.all([serve(0), serve(1), serve(2)].map(targetOf));
    const { reached, answered, refusals } = await requestsAtOnce(targets, upstream);
    expect([reached, answered]).toEqual([FITTING, FITTING]);
    expect(new Set(refusals.map(({ status }) => status))).toEqual(new Set([402]));
    await expect.poll(() => recordedTypes().filter((type) => type === 'CreditsDebited').length).toBe(FITTING);
    expect(recordedTypes().filter((type) => type === 'UsageRecorded')).toHaveLength(FITTING);
  });

  it("see an operator's command: credits, then the key's revocation", async () => {
    await start(1n);
    upstream.answerWith(() => json(message({ tokens: { input: 1, output: 1 } })));
    const targets = await Promise.all([serve(0), serve(1), serve(2)].map(targetOf));
    const statuses = () => Promise.all(targets.map(statusOf));
    expect(await statuses()).toEqual([402, 402, 402]);
    await gatewayCommand(configurationOf(0), 'credits', 'grant', ACCOUNT, '--usd', '100', '--source', 'purchase');
    await expect.poll(statuses).toEqual([200, 200, 200]);
    await gatewayCommand(configurationOf(1), 'key', 'revoke', ACCOUNT, keyId);
    await expect.poll(statuses).toEqual([401, 401, 401]);
  });

  it('get back the lease of one that was killed when the clock has ended it, and not before', async () => {
    const second = await killedWithLease(SHORT);
    const endsMs = Math.max(...leaseEndsMs());
    const early: number[] = [];
    const next = async (): Promise<number> => {
      const status = await statusOf(second);
      if (Date.now() < endsMs) early.push(status);
      return status;
    };
    await expect.poll(next, { interval: 200 }).toBe(200);
    expect(early.filter((status) => status !== 402)).toEqual([]);
  });

  it.each([
    ['three proxies', {}, [0, 1, 2], []],
    ["three proxies, a member's", {}, [0, 1, 2], ['--member', 'fleet@example.com']],
    ['one proxy alone', { proxies: 'one' } as const, [0], []],
  ])('pass a limit that is set by no more than the command prints: %s', async (_who, times, indexes, of) => {
    await start(BigInt(FITTING) * WORST_MICRO_USD, times);
    const gate = Promise.withResolvers<void>();
    let reached = 0;
    const underWay = 2 * indexes.length;
    upstream.answerWith(() => {
      const answer = json(message({ tokens: { input: 1, output: 900 } }));
      return ++reached <= underWay ? [wait(gate.promise), ...answer] : answer;
    });
    const targets = await Promise.all(indexes.map((index) => targetOf(serve(index))));
    const before = targets.flatMap((target) => [startPost(target), startPost(target)]);
    await expect.poll(() => reached).toBe(underWay);
    // Commands here begin a ledger in the forms that every program reads.
    if (of.length > 0) await gatewayCommand(configurationOf(0), 'ledger', 'forms', '--adopt');
    const set = ['limit', 'set', ACCOUNT, ...of, '--usd', '0.000001'];
    const printed = BigInt(JSON.parse(await gatewayCommand(configurationOf(0), ...set)).setAsideBeforeMicroUsd);
    expect(printed).toBeGreaterThanOrEqual(BigInt(underWay) * WORST_MICRO_USD);
    await expect.poll(() => Promise.all(targets.map(statusOf))).toEqual(targets.map(() => 402));
    gate.resolve();
    for (const { answered } of before) await (await answered).rest();
    await expect.poll(() => debits().length).toBe(reached);
    const pastLimit = debits().reduce((sum, amount) => sum + amount, -1n);
    expect(pastLimit).toBeGreaterThan(0n);
    expect(pastLimit).toBeLessThanOrEqual(printed);
  });

  // By its times the lease would last for hours.
  it('get back, long before its end, the lease of one that starts again on its folder', async () => {
    const second = await killedWithLease({});
    expect(await statusOf(second)).toBe(402);
    await serve(0).firstLine;
    await expect.poll(() => statusOf(second), { interval: 50 }).toBe(200);
    await expect.poll(() => recordedTypes().filter((type) => type === 'UsageRecorded').length).toBe(2);
  });
});

const debits = (): bigint[] =>
  store
    .events()
    .filter(({ type }) => type === 'CreditsDebited')
    .map((event) => BigInt(JSON.parse(textOf(event)).amount));

/** Kills a proxy while its request holds all the credit there is; another one, where its requests are answered. */
async function killedWithLease(times: Times): Promise<PostTarget> {
  await start(WORST_MICRO_USD, times);
  const first = serve(0);
  const second = await targetOf(serve(1));
  const reached = Promise.withResolvers<void>();
  upstream.answerWith(() => {
    reached.resolve();
    return [wait(new Promise(() => undefined))];
  });
  const target = await targetOf(first);
  // A proxy whose lease ages before it can admit under it refuses; the kill cuts whatever is under way.
  const post = (): Promise<void> => startPost(target).answered.then(post, () => undefined);
  void post();
  await reached.promise;
  await killAtOnce(first);
  expect(first.child.signalCode).toBe('SIGKILL');
  upstream.answerWith(() => json(message({ tokens: { input: 1, output: 1 } })));
  return second;
}

/** When each lease that was taken ends by itself. */
const leaseEndsMs = (): number[] =>
  store
    .events()
    .filter(({ type }) => type === 'CreditsLeased')
    .map((event) => Date.parse(JSON.parse(textOf(event)).expiresAt));

async function statusOf(target: PostTarget): Promise<number> {
  const answer = await postMessage(target);
  await answer.rest();
  return answer.status;
}
