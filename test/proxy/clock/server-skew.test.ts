import pino from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { type EventLog, EventLogError } from '../../../contracts/event-log.ts';
import { proxyId } from '../../../contracts/ids.ts';
import { ServerSkew, type ServerSkewOptions } from '../../../proxy/clock/server-skew.ts';
import { MemoryEventLog } from '../../ledger/settlement/memory-event-log.ts';

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
  const skew = new ServerSkew({
    log,
    proxy: proxyId('proxy_1'),
    now: () => NOW,
    monotonic: () => 0,
    jumps: () => 0,
    mayCompare: () => true,
    skewMs: 1_000,
    logger: pino({ level: 'silent' }),
    ...more,
  });
  onTestFinished(() => skew.close());
  return skew;
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
