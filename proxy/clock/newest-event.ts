import type { EventLog } from '../../contracts/event-log.ts';
import { lastEvent } from '../../ledger/last-event.ts';
import { type TimeOfEvent, timeOf } from '../../ledger/time-of-event.ts';

/** Of the ledger's newest event; null where the ledger is empty. @throws EventLogError when the log does not answer. */
export async function newestEvent(log: EventLog): Promise<TimeOfEvent | null> {
  const newest = await lastEvent(log);
  return newest && timeOf(newest);
}
