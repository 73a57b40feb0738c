import { afterEach, expect, it } from 'vitest';
import { type EventLog, EventLogError } from '../../contracts/event-log.ts';
import { openSqliteEventLog } from '../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { postMessage, recorded } from '../gateway/post-message.ts';
import { startTestGateway, type TestGateway, temporaryFolder } from '../gateway/start-gateway.ts';
import { stream, wait } from '../upstream/answer.ts';
import { streamEvents } from '../upstream/stream-events.ts';
import { startUpstream, type Upstream } from '../upstream/upstream.ts';

let upstream: Upstream;
let log: EventLog;
let gateway: TestGateway;
afterEach(async () => {
  await gateway.stop();
  await log.close();
  await upstream.close();
});

const tokens = { input: 1_000, output: 40, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0 };
const COST = 3_600n;
const DAY_MS = 86_400_000;

const LEASING = { proxies: 'many', expiry: { lateMs: 30 * DAY_MS } };
/** Its log is elsewhere, so a copy of its folder can take its name over; the test gives it the log. */
const ALONE = {
  ...LEASING,
  proxies: 'one',
  eventLog: { kind: 'eventstoredb', connectionString: 'esdb://127.0.0.1:1' },
};

/** A process that was stopped has both clocks go on; on a machine that was suspended the one that nobody sets stood still. */
const STANDING_STILL = { stopped: { wall: 1, monotonic: 1 }, suspended: { wall: 1, monotonic: 0 } } as const;

/** Ends a stream when its proxy has stood still for so long, and before it looks at its name in the log again. */
async function streamAcross(forMs: number, how: keyof typeof STANDING_STILL, settings: object) {
  upstream = await startUpstream();
  log = await openSqliteEventLog({ path: `${temporaryFolder()}/ledger.db` });
  let stoodStillMs = 0;
  const { wall, monotonic } = STANDING_STILL[how];
  gateway = await startTestGateway({
    upstreamUrl: upstream.url,
    settings: { ...settings },
    log: withoutClaims(log, () => stoodStillMs > 0),
    clock: () => Date.now() + wall * stoodStillMs,
    monotonic: () => performance.now() + monotonic * stoodStillMs,
  });
  const stoodStill = Promise.withResolvers<void>();
  const [head, ...more] = stream(streamEvents({ tokens }));
  if (head === undefined) throw new Error('a stream has a head');
  upstream.answerWith([head, wait(stoodStill.promise), ...more]);
  const answer = await postMessage(gateway, { stream: true });
  stoodStillMs = forMs;
  stoodStill.resolve();
  await answer.rest();
  await expect.poll(async () => (await recorded(gateway)).debits.length).toBe(1);
  return recorded(gateway);
}

/** A log of which the claims of proxies cannot be read at times. */
const withoutClaims = (of: EventLog, isSo: () => boolean): EventLog =>
  new Proxy(of, {
    get: (target, name) => {
      if (name === 'readStream')
        return (...[stream, options]: Parameters<EventLog['readStream']>) => {
          if (stream.startsWith('proxy-') && isSo()) throw new EventLogError('unavailable', 'not looked at yet');
          return target.readStream(stream, options);
        };
      const member = Reflect.get(target, name);
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });

it.each([
  ['its lease', LEASING],
  ['the time in which nobody can have taken its name over', ALONE],
] as const)('a request that ends within %s is debited', async (_title, settings) => {
  expect((await streamAcross(0, 'stopped', settings)).debits).toMatchObject([{ amount: COST, leftOut: 0n }]);
});

it.each([
  ['whose lease the clock has ended', 'stopped', LEASING],
  ['whose lease the clock has ended', 'suspended', LEASING],
  ['whose only proxy may have been replaced', 'stopped', ALONE],
  ['whose only proxy may have been replaced', 'suspended', ALONE],
] as const)(
  'a request %s while it was %s is left to an operator: its credit was free',
  async (_title, how, settings) => {
    const { usages, debits } = await streamAcross(DAY_MS, how, settings);
    expect(usages).toMatchObject([{ outcome: 'completed', tokens, hold: 0n }]);
    expect(debits).toMatchObject([{ amount: 0n, leftOut: COST, uncovered: 0n }]);
  },
);
