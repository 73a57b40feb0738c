import pino from 'pino';
import { afterEach, expect, it } from 'vitest';
import { EventLogError, type ReadAllOptions, type ReadStreamOptions } from '../../../contracts/event-log.ts';
import { eventId, LEDGER_STREAM, proxyId, type StreamName } from '../../../contracts/ids.ts';
import { GatewayClock } from '../../../proxy/clock/gateway-clock.ts';
import { MemoryEventLog } from '../../fixtures/ledger/memory-event-log.ts';

const SERVER_AHEAD_MS = 3_600_000;

/** A log whose server stamps what it takes, an hour ahead of us, and that does not answer the first looks at its end. */
class StampingLog extends MemoryEventLog {
  unanswered = 2;

  override async headPosition() {
    if (this.unanswered-- > 0) throw new EventLogError('unavailable', 'the log is away');
    return super.headPosition();
  }

  override async *readAll(options?: ReadAllOptions) {
    for await (const event of super.readAll(options)) yield { ...event, stampedAtMs: Date.now() + SERVER_AHEAD_MS };
  }

  override async *readStream(stream: StreamName, options?: ReadStreamOptions) {
    for await (const event of super.readStream(stream, options))
      yield { ...event, stampedAtMs: Date.now() + SERVER_AHEAD_MS };
  }
}

const log = new StampingLog();
let clock: GatewayClock | null = null;
afterEach(async () => {
  await clock?.close();
  await log.close();
});

it('is compared with the log once that answers, also where the first looks at it were in vain', async () => {
  log.write(LEDGER_STREAM, [{ id: eventId('1'), type: 'Anything', data: '{}', metadata: '{}' }]);
  clock = new GatewayClock({
    wall: Date.now,
    monotonic: () => performance.now(),
    bounds: { jumpMs: 5_000, steadyMs: 60_000, skewMs: 5_000 },
    proxy: proxyId('p1'),
    logger: pino({ level: 'silent' }),
  });
  expect(clock.doubt()).toBeNull();
  await clock.compare(log);
  expect(clock.doubt()).toContain("behind the ledger's newest event");
});
