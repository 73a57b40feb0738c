import { encodeEvents } from '../../contracts/event-codec.ts';
import type { RecordedEvent } from '../../contracts/event-log.ts';
import type { DomainEvent } from '../../contracts/events.ts';
import { CATALOG_STREAM, commandId, LEDGER_STREAM, relayStream, type StreamName } from '../../contracts/ids.ts';
import type { LedgerIdentity } from '../../contracts/ledger-identity.ts';
import { exampleOf } from '../fixtures/ledger/example-events.ts';
import { LogWithOutages } from '../fixtures/ledger/log-with-outages.ts';
import { exampleLives, writeLives } from './example-ledger.ts';

/** The topic whose relay keeps its claims in the log. */
export const TOPIC = 'ledger';
/** The ledger's identity. */
const { ledgerId, generation } = exampleOf('LedgerIdentified').data;
export const LEDGER: LedgerIdentity = { ledgerId, generation };
export const LIVES = exampleLives(4);
const ALL = Math.max(...[...LIVES.values()].map((events) => events.length));

/** A ledger with its identity, accounts, publications, and a relay's own stream. */
export function exampleLog(): LogWithOutages {
  const log = new LogWithOutages();
  writeEvent(log, LEDGER_STREAM, exampleOf('LedgerIdentified'));
  writeClaim(log);
  writeEvent(log, CATALOG_STREAM, exampleOf('CatalogPublished'));
  writeLives(log.inner, LIVES, 0, 9);
  const { data } = exampleOf('CatalogPublished');
  writeEvent(log, CATALOG_STREAM, { type: 'CatalogPublished', data: { ...data, version: 2 } });
  writeLives(log.inner, LIVES, 9, ALL);
  writeClaim(log);
  return log;
}

/** What a relay publishes of a log: all but its own stream. */
export const published = ({ inner }: LogWithOutages): RecordedEvent[] =>
  inner.events.filter(({ stream }) => stream !== relayStream(TOPIC));

export const writeClaim = (log: LogWithOutages): void => writeEvent(log, relayStream(TOPIC), exampleOf('RelayClaimed'));

let written = 0;
export function writeEvent(log: LogWithOutages, stream: StreamName, event: DomainEvent): void {
  const uuid = commandId(`019a5b3c-8888-7000-8000-${(++written).toString(16).padStart(8, '0')}0000`);
  const recording = { commandId: uuid, actor: 'operator', recordedAt: '2026-11-05T10:00:00.000Z' };
  log.inner.write(stream, encodeEvents([event], recording));
}
