import type { StoredEvent } from '../../ledger/audit/stored-event.ts';

/** An event as the auditor reads it from the event store. */
export interface LoggedEvent extends StoredEvent {
  readonly createdMs: number;
}

export interface LoggedStream {
  readonly stream: string;
  readonly events: readonly LoggedEvent[];
}

const PUBLISHED = ['account', 'catalog', 'ledger'];

/** What is for the topic: neither what relays, proxies and clocks keep to themselves, nor what is the server's own. */
export const isPublished = ({ stream }: LoggedStream): boolean => PUBLISHED.includes(stream.split('-', 1)[0] ?? '');
