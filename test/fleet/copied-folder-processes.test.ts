import { closeSync, cpSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { formatUsd, microUsd } from '../../contracts/money.ts';
import { type FakeEventStore, startFakeEventStore } from '../eventstoredb/fake-event-store.ts';
import { textOf } from '../eventstoredb/stored-event.ts';
import { HIGH_LIMITS } from '../fixtures/gateway/high-limits.ts';
import { type PostTarget, postMessage } from '../fixtures/gateway/post-message.ts';
import { WORST_MICRO_USD } from '../fixtures/gateway/requests-at-once.ts';
import { TEST_CATALOG } from '../fixtures/gateway/start-gateway.ts';
import { killStarted, type StartedProcess, startProcess, stopInOrder } from '../fixtures/processes/child-process.ts';
import { GATEWAY_PROGRAM, gatewayCommand } from '../fixtures/processes/gateway-command.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { head, wait, write } from '../upstream/answer.ts';
import { streamEvents } from '../upstream/stream-events.ts';
import { startUpstream, type Upstream } from '../upstream/upstream.ts';

const ACCOUNT = 'acct_copied';
const FITTING = 5;
const BEFORE = 2;
/** What the copy waits for is over in a few seconds. */
const SHORT = {
  provider: { connectMs: 100, firstByteMs: 200, totalMs: 2_000 },
  drainMs: 100,
  leases: { slackMs: 200 },
  projections: { maxAgeMs: 800 },
};

let store: FakeEventStore;
let upstream: Upstream;
let folder: string;
let stderrFd: number;

afterEach(async () => {
  killStarted();
  await upstream.close();
  await store.stop();
  closeSync(stderrFd);
});

it('of two processes on one copied folder the older stops, says so and settles what it has; the newer waits for that, and every request is billed once', async () => {
  const key = await start();
  const original = serve('data');
  const target: PostTarget = { url: (await original.firstLine).url, key };
  const gate = Promise.withResolvers<void>();
  let reached = 0;
  upstream.answerWith(() => {
    reached++;
    const [first, ...others] = streamEvents({ tokens: { input: 2_000, output: 1_000 } });
    return [
      head(),
      ...[first].flatMap((event) => (event === undefined ? [] : [write(event)])),
      wait(gate.promise),
      ...others.map(write),
    ];
  });
  const underWay: Promise<unknown>[] = [];
  const admit = async (count: number): Promise<void> => {
    // On a busy machine the proxy may not have looked for its name in time, and say so.
    while (reached < count) {
      const answer = await postMessage(target, { stream: true });
      underWay.push(answer.restOrCut());
    }
  };
  await admit(BEFORE);
  cpSync(join(folder, 'data'), join(folder, 'copy'), { recursive: true });
  await admit(FITTING - 1);

  const copy = serve('copy');
  const copied: PostTarget = { url: (await copy.firstLine).url, key };
  const refused = await postMessage(copied);
  expect([refused.status, String(await refused.rest())]).toEqual([529, expect.stringMatching(/copied or moved/)]);
  await expect
    .poll(async () => (await fetch(`${target.url}/readyz`)).json())
    .toEqual({ ok: false, reason: expect.stringMatching(/another process has claimed the name proxy_/) });
  expect((await postMessage(target)).status).toBe(529);
  gate.resolve();
  await Promise.all(underWay);

  const least: number[] = [];
  const nextStatus = async (): Promise<number> => {
    const me = await fetch(`${copied.url}/me`, { headers: { 'x-api-key': key } });
    least.push(((await me.json()) as { available_credits: number }).available_credits);
    const answer = await postMessage(copied, { stream: true });
    await answer.restOrCut();
    return answer.status;
  };
  await expect.poll(nextStatus).toBe(200);
  await expect.poll(nextStatus).toBe(402);
  await stopInOrder(original);
  await stopInOrder(copy);
  expect(Math.min(...least)).toBeGreaterThanOrEqual(0);

  const usages = recorded('UsageRecorded');
  expect(new Set(usages.map(({ requestId }) => requestId)).size).toBe(reached);
  expect(usages).toHaveLength(reached);
  expect(recorded('CreditsDebited').filter(({ uncovered }) => uncovered !== '0')).toEqual([]);
  // Nothing that costs has begun in the copy before the last of the original had ended.
  const byStart = usages.toSorted((a, b) => Date.parse(a.startedAt) - Date.parse(b.startedAt));
  const ended = Math.max(...byStart.slice(0, FITTING - 1).map(({ finishedAt }) => Date.parse(finishedAt)));
  expect(Date.parse(byStart[FITTING - 1]?.startedAt ?? '')).toBeGreaterThanOrEqual(ended);
  const said = readFileSync(join(folder, 'stderr.log'), 'utf8').split('\n');
  expect(
    said.filter((line) => line.includes('so this data folder was copied: what is under way here is settled')),
  ).toHaveLength(1);
});

/** An account with a key, and credit for so many requests. */
async function start(): Promise<string> {
  folder = temporaryFolder();
  stderrFd = openSync(join(folder, 'stderr.log'), 'a');
  store = await startFakeEventStore();
  upstream = await startUpstream();
  writeFileSync(join(folder, 'catalog.json'), JSON.stringify(TEST_CATALOG));
  const { provider, ...times } = SHORT;
  const test = { protocol: 'messages', baseUrl: upstream.url, apiKeyEnv: 'FLEET_KEY', countTokens: false, ...provider };
  const eventLog = { kind: 'eventstoredb', connectionString: store.connectionString };
  const common = {
    listen: { port: 0 },
    rateLimits: HIGH_LIMITS,
    catalog: join(folder, 'catalog.json'),
    eventLog,
    proxies: 'one',
    providers: { test },
  };
  for (const data of ['data', 'copy'])
    writeFileSync(
      configurationOf(data),
      JSON.stringify({ ...common, ...times, data: join(folder, data), logLevel: 'error' }),
    );
  const command = (...args: readonly string[]) => gatewayCommand(configurationOf('data'), ...args);
  await command('account', 'open', '--email', 'copied@example.com', '--id', ACCOUNT, '--trial-usd', '0');
  await command(
    'credits',
    'grant',
    ACCOUNT,
    '--usd',
    formatUsd(microUsd(BigInt(FITTING) * WORST_MICRO_USD)),
    '--source',
    'purchase',
  );
  return JSON.parse(await command('key', 'issue', ACCOUNT)).key;
}

const configurationOf = (data: string): string => join(folder, `${data}.json`);

const serve = (data: string): StartedProcess =>
  startProcess([GATEWAY_PROGRAM, 'serve', '--config', configurationOf(data), '--json'], {
    stderrFd,
    environment: { FLEET_KEY: 'upstream-secret' },
  });

const recorded = (type: string): Recorded[] =>
  store
    .events()
    .filter((event) => event.stream === `account-${ACCOUNT}` && event.type === type)
    .map((event) => JSON.parse(textOf(event)));

interface Recorded {
  readonly requestId: string;
  readonly startedAt: string;
  readonly finishedAt: string;
  readonly uncovered: string;
}
