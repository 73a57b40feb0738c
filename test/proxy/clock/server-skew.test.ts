import pino from 'pino';
import { expect, it } from 'vitest';
import { type EventLog, EventLogError } from '../../../contracts/event-log.ts';
import { proxyId, type StreamName } from '../../../contracts/ids.ts';
import { ServerSkew, type ServerSkewOptions } from '../../../proxy/clock/server-skew.ts';
import type { FakeEventStore } from '../../eventstoredb/fake-event-store.ts';
import { endedLater } from '../../fixtures/ended-later.ts';
import { MemoryEventLog } from '../../fixtures/ledger/memory-event-log.ts';
import { startWithLog } from '../../ledger/event-log/eventstoredb/log-under-test.ts';

const NOW = Date.parse('2026-11-06T12:00:00.000Z');
const DAY_MS = 86_400_000;
const NOT_YET = 'the clock of this machine has not been compared with that of the event log yet';

type Append = EventLog['append'];

/** A log whose server stamps what it takes, and whose answers come as `answering` lets them. */
function stampingLog(stampedAtMs: number, answering: (append: Append) => Append): EventLog {
  const memory = new MemoryEventLog();
  const stamping: Pick<EventLog, 'append' | 'readStream'> = {
    append: answering((...call) => memory.append(...call)),
    readStream: async function* (...call) {
      for await (const event of memory.readStream(...call)) yield { ...event, stampedAtMs };
    },
  };
  return Object.assign(Object.create(memory) as EventLog, stamping);
}

/** Its clock stands still, so that nothing is compared by itself but what is due because of a jump. */
function skewOf(log: EventLog, more: Partial<ServerSkewOptions> = {}): ServerSkew {
  return endedLater(
    new ServerSkew({
      log,
      proxy: proxyId('proxy_1'),
      now: () => NOW,
      monotonic: () => 0,
      jumps: () => 0,
      mayCompare: () => true,
      skewMs: 1_000,
      logger: pino({ level: 'silent' }),
      ...more,
    }),
  );
}

it.each([
  ['stamped at any time while the log takes it', 12_000, 0],
  ['stamped before it was written, by a server that is behind', -5_000, 5_000],
  ['stamped after the answer, by a server that is ahead', 34_000, -4_000],
])('takes no slowness of the log for skew: %s', async (_title, stampedMs, expected) => {
  let nowMs = NOW;
  const slow = stampingLog(NOW + stampedMs, (append) => async (...call) => {
    const result = await append(...call);
    nowMs = NOW + 30_000;
    return result;
  });
  const skew = skewOf(slow, { now: () => nowMs });
  await skew.start();
  expect(skew.skewMs).toBe(expected);
});

it.each([
  ['some times', 3, null],
  ['always', Number.POSITIVE_INFINITY, { name: 'EventLogError', kind: 'unavailable' }],
])('compares again where the answer of the comparison is lost %s', async (_title, lost, failure) => {
  let appends = 0;
  const losing = stampingLog(NOW, (append) => async (...call) => {
    const result = await append(...call);
    if (appends++ < lost) throw new EventLogError('ambiguous', 'the answer was lost');
    return result;
  });
  const compared = skewOf(losing).compareNow();
  if (failure === null) expect(await compared).toBe(null);
  else await expect(compared).rejects.toMatchObject(failure);
});

type Spoil = (server: FakeEventStore, stream: StreamName) => void;
const UNUSABLE: readonly (readonly [how: string, spoil: Spoil])[] = [
  ['deleted for ever', (server, stream) => server.log.tombstone(stream, 'any')],
  ['cut past its end', (server, stream) => server.setMetadata(stream, { $tb: 1_000 })],
];

it.each(UNUSABLE)('goes on in another stream where its own is %s, and says which', async (_how, spoil) => {
  const { server, log } = await startWithLog();
  const [own, next] = ['clock-proxy_1' as StreamName, 'clock-proxy_1-2'];
  expect(await skewOf(log, { now: Date.now, skewMs: DAY_MS }).compareNow()).toBeNull();
  spoil(server, own);
  const logLines: string[] = [];
  const logger = pino({ level: 'error' }, { write: (line: string) => logLines.push(line) });
  const skew = skewOf(log, { now: Date.now, skewMs: DAY_MS, logger });
  for (let times = 0; times < 2; times++) expect(await skew.compareNow()).toBeNull();
  expect(logLines.map((line) => JSON.parse(line))).toMatchObject([
    { stream: own, next, reason: expect.any(String), msg: expect.stringContaining('metadata') },
  ]);
  expect(server.events().filter(({ stream }) => stream === next)).toHaveLength(2);
});

it('tries no more than five streams', async () => {
  const tried: StreamName[] = [];
  const refusing = stampingLog(NOW, () => async (stream) => {
    tried.push(stream);
    throw new EventLogError('invalid', 'the stream is deleted');
  });
  const skew = skewOf(refusing);
  const compared = skew.compareNow();
  await expect(compared).rejects.toMatchObject({ kind: 'invalid' });
  expect(tried.map((stream) => stream.replace('clock-proxy_1', ''))).toEqual(['', '-2', '-3', '-4', '-5']);
  await expect(skew.compareNow()).rejects.toMatchObject({ kind: 'invalid' });
  expect(tried).toHaveLength(6);
});

it('counts no comparison across which the clock has jumped: it was compared with nothing', async () => {
  let nowMs = NOW;
  let jumps = 0;
  const logLines: string[] = [];
  const jump = (byMs: number): void => {
    nowMs += byMs;
    jumps++;
  };
  let beforeAnswer = (): void => jump(-40 * DAY_MS);
  const log = stampingLog(NOW, (append) => async (...call) => {
    const result = await append(...call);
    beforeAnswer();
    return result;
  });
  const logger = pino({ level: 'error' }, { write: (line: string) => logLines.push(line) });
  const skew = skewOf(log, { now: () => nowMs, jumps: () => jumps, logger });
  await skew.start();
  expect([skew.skewMs, skew.doubt(), logLines]).toEqual([0, NOT_YET, []]);
  beforeAnswer = () => undefined;
  await expect.poll(() => skew.skewMs).toBe(-40 * DAY_MS);
  expect(skew.doubt()).toBe('the clock of this machine is 40 days behind that of the event log');
  jump(40 * DAY_MS);
  expect(skew.doubt()).toBe(NOT_YET);
  await expect.poll(() => skew.doubt()).toBe(null);
  expect(skew.skewMs).toBe(0);
});

it('is compared again within seconds while it disagrees, and told once it agrees', async () => {
  let [nowMs, monotonicMs] = [NOW + DAY_MS, 0];
  const messages: string[] = [];
  const logger = pino({}, { write: (line: string) => messages.push(JSON.parse(line).msg) });
  const skew = skewOf(
    stampingLog(NOW, (append) => append),
    { now: () => nowMs, monotonic: () => monotonicMs, logger },
  );
  await skew.start();
  expect(skew.doubt()).not.toBeNull();
  [nowMs, monotonicMs] = [NOW, 5_000];
  await expect.poll(() => skew.doubt()).toBeNull();
  expect(messages.at(-1)).toBe('the clock agrees with that of the event log');
});
