import { expect, it } from 'vitest';
import { type EventLog, EventLogError } from '../../contracts/event-log.ts';
import { readBesideGateway } from '../../ledger/journal/read-beside-gateway.ts';
import { journalFolder } from '../../ledger/journal/segment-folder.ts';
import { readRecovered } from '../../ledger/settlement/read-recovered.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { postMessage, recorded } from '../fixtures/gateway/post-message.ts';
import { startTestGateway } from '../fixtures/gateway/start-gateway.ts';
import { newLedger } from '../fixtures/ledger/new-ledger.ts';
import { stream, wait } from '../upstream/answer.ts';
import { streamEvents } from '../upstream/stream-events.ts';
import { startUpstream } from '../upstream/upstream.ts';

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

/**
 * Ends a stream when its proxy has stood still for so long, and before it looks at its name in the log again. `kept`
 * is what the journal had by then, by which a start after a crash would settle.
 */
async function streamAcross(forMs: number, how: keyof typeof STANDING_STILL, settings: object) {
  const upstream = endedLater(await startUpstream());
  const log = await newLedger();
  let stoodStillMs = 0;
  const { wall, monotonic } = STANDING_STILL[how];
  const maySettle = Promise.withResolvers<void>();
  const gateway = endedLater(
    await startTestGateway({
      upstreamUrl: upstream.url,
      settings: { ...settings },
      log: settlingFrom(
        withoutClaims(log, () => stoodStillMs > 0),
        maySettle.promise,
      ),
      clock: () => Date.now() + wall * stoodStillMs,
      monotonic: () => performance.now() + monotonic * stoodStillMs,
    }),
  );
  const stoodStill = Promise.withResolvers<void>();
  const [head, ...more] = stream(streamEvents({ tokens }));
  if (head === undefined) throw new Error('a stream has a head');
  upstream.answerWith([head, wait(stoodStill.promise), ...more]);
  const answer = await postMessage(gateway, { stream: true });
  stoodStillMs = forMs;
  stoodStill.resolve();
  await answer.rest();
  const kept = readBesideGateway(journalFolder(gateway.data)).map((request) => readRecovered(request, 0).usage);
  maySettle.resolve();
  await expect.poll(async () => (await recorded(gateway)).debits.length).toBe(1);
  return { ...(await recorded(gateway)), kept };
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

/** A log that takes usage only from then on. */
const settlingFrom = (of: EventLog, then: Promise<void>): EventLog =>
  new Proxy(of, {
    get: (target, name) => {
      if (name === 'append')
        return async (...[stream, expected, events]: Parameters<EventLog['append']>) => {
          if (events.some(({ type }) => type === 'UsageRecorded')) await then;
          return target.append(stream, expected, events);
        };
      const member = Reflect.get(target, name);
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });

it.each([
  ['its lease', LEASING],
  ['the time in which nobody can have taken its name over', ALONE],
] as const)('a request that ends within %s is debited', async (_title, settings) => {
  const { usages, debits, kept } = await streamAcross(0, 'stopped', settings);
  expect(debits).toMatchObject([{ amount: COST, leftOut: 0n }]);
  expect(kept).toEqual(usages);
});

it.each([
  ['whose lease the clock has ended', 'stopped', LEASING],
  ['whose lease the clock has ended', 'suspended', LEASING],
  ['whose only proxy may have been replaced', 'stopped', ALONE],
  ['whose only proxy may have been replaced', 'suspended', ALONE],
] as const)(
  'a request %s while it was %s is left to an operator: its credit was free',
  async (_title, how, settings) => {
    const { usages, debits, kept } = await streamAcross(DAY_MS, how, settings);
    expect(usages).toMatchObject([{ outcome: 'completed', tokens, hold: 0n }]);
    expect(debits).toMatchObject([{ amount: 0n, leftOut: COST, uncovered: 0n }]);
    // However often its end is settled, it is the same.
    expect(kept).toEqual(usages);
  },
);
