import type { StoredEvent } from '../../ledger/audit/stored-event.ts';

/** What an event store says of an event; data and metadata are bytes. */
interface StoreEvent {
  readonly stream: string;
  readonly revision: number;
  readonly position: number;
  readonly id: string;
  readonly type: string;
  readonly data: Uint8Array;
  readonly metadata: Uint8Array;
}

/** A stream's events as the auditor reads them, straight from what the store holds. */
export const storedEventsOf = (events: readonly StoreEvent[], stream: string): StoredEvent[] =>
  events
    .filter((event) => event.stream === stream)
    .map(({ revision, position, id, type, data, metadata }) => ({
      revision,
      position,
      id,
      type,
      data: JSON.parse(Buffer.from(data).toString('utf8')),
      metadata: JSON.parse(Buffer.from(metadata).toString('utf8')),
    }));
