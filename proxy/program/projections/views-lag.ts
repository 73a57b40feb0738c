import type { ReadableLog } from '../../../contracts/event-log.ts';
import type { Position } from '../../../contracts/ids.ts';
import { groupedCount } from '../../../contracts/money.ts';
import { timeOf } from '../../clock/newest-event.ts';

/** With more the number says no more. */
const COUNTED_MAX = 10_000;

export interface ViewsLag {
  /** Events behind; one more than are counted stands for many. */
  readonly events: number;
  /** When the first of them was written, in ms since 1970; null where there is none, or it does not say. */
  readonly sinceMs: number | null;
}

/** What the log has behind a position. @throws EventLogError */
export async function lagBehind(log: ReadableLog, after: Position | null): Promise<ViewsLag> {
  let sinceMs: number | null = null;
  let events = 0;
  for await (const event of log.readAll({ after, limit: 1 })) {
    sinceMs = timeOf(event).atMs;
    events = 1;
  }
  if (events === 0) return { events, sinceMs };
  events = 0;
  for await (const _ of log.readAll({ after, limit: COUNTED_MAX + 1, placesOnly: true })) events++;
  return { events, sinceMs };
}

export const lagInWords = ({ events }: Pick<ViewsLag, 'events'>): string =>
  events > COUNTED_MAX ? `more than ${groupedCount(COUNTED_MAX)}` : groupedCount(events);
