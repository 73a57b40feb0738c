import { pino } from 'pino';
import { Registry } from 'prom-client';
import { BASE_FORMS } from '../../../contracts/event-forms.ts';
import { identifyLedger } from '../../../ledger/identity/identify-ledger.ts';
import { recordingBy } from '../../../ledger/recording-by.ts';
import { runRelay } from '../../../ledger/relay/relay.ts';
import { RelayMetrics } from '../../../ledger/relay/relay-metrics.ts';
import { MemoryEventLog } from '../../fixtures/ledger/memory-event-log.ts';
import type { MemoryPublisher } from './memory-publisher.ts';

/** A ledger with an identity, in memory. */
export async function identifiedLog(log = new MemoryEventLog()): Promise<MemoryEventLog> {
  await identifyLedger(log, Date.now(), recordingBy('operator', Date.now()), BASE_FORMS);
  return log;
}

/** A relay in this process, to the feed `ledger`, until it is stopped or stops: then with why it did. */
export function relayInMemory(
  log: MemoryEventLog,
  publisher: MemoryPublisher,
  more: Partial<Parameters<typeof runRelay>[0]> = {},
) {
  const [stop, registry, lines] = [new AbortController(), new Registry(), [] as string[]];
  const ended = runRelay({
    log,
    publisher,
    feed: 'ledger',
    relay: 'relay',
    claimMs: 30_000,
    metrics: new RelayMetrics(registry, Date.now),
    logger: pino({ level: 'error' }, { write: (line: string) => lines.push(line) }),
    clock: Date.now,
    place: { where: 'ledger.db', looks: 1 },
    topicLookMs: 60_000,
    signal: stop.signal,
    ...more,
  }).then(
    () => null,
    (error: unknown) => error as Error,
  );
  return { ended, registry, lines, stop: () => stop.abort() };
}
