import { closeSync, mkdirSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { formatUsd, microUsd } from '../../contracts/money.ts';
import { REQUESTS, requestsAtOnce, WORST_MICRO_USD } from '../burst/requests-at-once.ts';
import { killAtOnce, killStarted, type StartedProcess, startProcess } from '../crash/child-process.ts';
import { GATEWAY_PROGRAM, gatewayCommand } from '../crash/gateway-command.ts';
import { type FakeEventStore, startFakeEventStore } from '../eventstoredb/fake-event-store.ts';
import { postMessage, startPost } from '../gateway/post-message.ts';
import { TEST_CATALOG, temporaryFolder } from '../gateway/start-gateway.ts';
import { json, wait } from '../upstream/answer.ts';
import { message } from '../upstream/message.ts';
import { startUpstream, type Upstream } from '../upstream/upstream.ts';

const PROXIES = 3;
const FITTING = 10;
const ACCOUNT = 'acct_fleet';
/** With these a request takes 2.3 seconds at most, and a lease that nobody renews is over a little later. */
const SHORT = { connectMs: 100, firstByteMs: 400, totalMs: 700 };
const LONG = { connectMs: 1_000, firstByteMs: 15_000, totalMs: 20_000 };
const DRAIN_MS = 100;
const SLACK_MS = 2_000;
const SHORT_LEASE_MS = 3 * (SHORT.connectMs + SHORT.firstByteMs) + SHORT.totalMs + DRAIN_MS + SLACK_MS;

let store: FakeEventStore;
let upstream: Upstream;
let folder: string;
let stderrFd: number;
let key: string;
let keyId: string;

async function start(credit: bigint, times: object): Promise<void> {
  folder = temporaryFolder();
  stderrFd = openSync(join(folder, 'stderr.log'), 'a');
  store = await startFakeEventStore();
  upstream = await startUpstream();
  writeFileSync(join(folder, 'catalog.json'), JSON.stringify(TEST_CATALOG));
  for (let index = 0; index < PROXIES; index++) writeConfiguration(index, times);
  const command = (...args: readonly string[]) => gatewayCommand(configurationOf(0), ...args);
  await command('account', 'open', '--email', 'fleet@example.com', '--id', ACCOUNT, '--trial-usd', '0');
  await command('credits', 'grant', ACCOUNT, '--usd', formatUsd(microUsd(credit)));
  ({ key, keyId } = JSON.parse(await command('key', 'issue', ACCOUNT)));
}

const configurationOf = (index: number): string => join(folder, `gateway-${index}.json`);

function writeConfiguration(index: number, times: object): void {
  const data = join(folder, `data-${index}`);
  mkdirSync(data);
  const test = { protocol: 'messages', baseUrl: upstream.url, apiKeyEnv: 'FLEET_KEY', countTokens: false, ...times };
  const configuration = {
    listen: { port: 0 },
    data,
    catalog: join(folder, 'catalog.json'),
    eventLog: { kind: 'eventstoredb', connectionString: store.connectionString },
    providers: { test },
    leases: { slackMs: SLACK_MS },
    drainMs: DRAIN_MS,
    logLevel: 'error',
  };
  writeFileSync(configurationOf(index), JSON.stringify(configuration));
}

const serve = (index: number): StartedProcess =>
  startProcess([GATEWAY_PROGRAM, 'serve', '--config', configurationOf(index), '--json'], {
    stderrFd,
    environment: { FLEET_KEY: 'upstream-secret' },
  });

const targetOf = async (proxy: StartedProcess) => ({ url: (await proxy.firstLine).url, key });

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
  it(`admit ${FITTING} of ${REQUESTS} parallel requests where ${FITTING} worst cases fit`, {
    timeout: 90_000,
  }, async () => {
    await start(BigInt(FITTING) * WORST_MICRO_USD, LONG);
    const targets = await Promise.all([serve(0), serve(1), serve(2)].map(targetOf));
    const { reached, answered, refusals } = await requestsAtOnce(targets, upstream);
    expect([reached, answered]).toEqual([FITTING, FITTING]);
    expect(new Set(refusals.map(({ status }) => status))).toEqual(new Set([402]));
    await expect.poll(() => recordedTypes().filter((type) => type === 'CreditsDebited').length).toBe(FITTING);
    expect(recordedTypes().filter((type) => type === 'UsageRecorded')).toHaveLength(FITTING);
  });

  it("see an operator's command within a second of its end: credits, then the key's revocation", {
    timeout: 60_000,
  }, async () => {
    await start(1n, LONG);
    upstream.answerWith(() => json(message({ tokens: { input: 1, output: 1 } })));
    const targets = await Promise.all([serve(0), serve(1), serve(2)].map(targetOf));
    const statuses = () => Promise.all(targets.map(statusOf));
    expect(await statuses()).toEqual([402, 402, 402]);
    await gatewayCommand(configurationOf(0), 'credits', 'grant', ACCOUNT, '--usd', '100');
    await expect.poll(statuses, { timeout: 1_000, interval: 20 }).toEqual([200, 200, 200]);
    await gatewayCommand(configurationOf(1), 'key', 'revoke', ACCOUNT, keyId);
    await expect.poll(statuses, { timeout: 1_000, interval: 20 }).toEqual([401, 401, 401]);
  });

  it('get back the lease of one that was killed, when the clock has ended it', { timeout: 60_000 }, async () => {
    const { first, second, killed } = await killedWithLease(SHORT);
    expect(await statusOf(second)).toBe(402);
    const waited = Date.now() - killed;
    expect(waited).toBeLessThan(SHORT_LEASE_MS);
    await expect.poll(() => statusOf(second), { timeout: SHORT_LEASE_MS + 5_000, interval: 200 }).toBe(200);
    expect(first.child.signalCode).toBe('SIGKILL');
  });

  // Of LONG times a lease would last for more than a minute.
  it('get back, long before its end, the lease of one that starts again on its folder', {
    timeout: 60_000,
  }, async () => {
    const { second } = await killedWithLease(LONG);
    await serve(0).firstLine;
    await expect.poll(() => statusOf(second), { timeout: 10_000, interval: 50 }).toBe(200);
    await expect.poll(() => recordedTypes().filter((type) => type === 'UsageRecorded').length).toBe(2);
  });
});

/** A proxy that is killed while its request holds all the credit there is. */
async function killedWithLease(times: object) {
  await start(WORST_MICRO_USD, times);
  const first = serve(0);
  const second = await targetOf(serve(1));
  const reached = Promise.withResolvers<void>();
  upstream.answerWith(() => {
    reached.resolve();
    return [wait(new Promise(() => undefined))];
  });
  startPost(await targetOf(first)).answered.catch(() => undefined);
  await reached.promise;
  await killAtOnce(first);
  upstream.answerWith(() => json(message({ tokens: { input: 1, output: 1 } })));
  return { first, second, killed: Date.now() };
}

async function statusOf(target: { readonly url: string; readonly key: string }): Promise<number> {
  const answer = await postMessage(target);
  await answer.rest();
  return answer.status;
}
