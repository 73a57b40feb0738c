import type { DebitData, StoredEvent, UsageData } from '../../../ledger/audit/stored-event.ts';

/** One event a line. */
export const readStoredEvents = (lines: string): StoredEvent[] =>
  lines
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as StoredEvent);

export const usagesIn = (events: readonly StoredEvent[]): UsageData[] =>
  events.flatMap(({ type, data }) => (type === 'UsageRecorded' ? [data as UsageData] : []));

export const debitsIn = (events: readonly StoredEvent[]): DebitData[] =>
  events.flatMap(({ type, data }) => (type === 'CreditsDebited' ? [data as DebitData] : []));
