import type { ReadableLog } from '../../../contracts/event-log.ts';
import type { Position } from '../../../contracts/ids.ts';
import { counted, groupedCount } from '../../../contracts/money.ts';
import { timeOf } from '../../../ledger/time-of-event.ts';
import type { FoldedThrough } from '../../../projections/known-views.ts';
import { LOG_SOURCE, reachedIn } from '../../../projections/sources/log-view-source.ts';
import { topicViewsReached } from '../../../projections/topic-views-reached.ts';

/** With more the number says no more. */
const COUNTED_MAX = 10_000;

export interface ViewsLag {
  /** Events behind; one more than are counted stands for many. */
  readonly events: number;
  /** When the first of them was written, in ms since 1970; null where there is none, or it does not say. */
  readonly sinceMs: number | null;
}

interface HowFar {
  /** They hold every event of the log up to here; null where that cannot be told. */
  readonly position: Position | null;
  readonly lag: ViewsLag | null;
}

/** How far views of a file have come in the log. @throws EventLogError; Error when it is no database */
export async function howFar(log: ReadableLog, file: string, folded: FoldedThrough): Promise<HowFar> {
  const reached = folded.feed === LOG_SOURCE ? null : await topicViewsReached(log, file, folded.position);
  if (reached === null) {
    const position = await reachedIn(log, folded);
    return { position, lag: position === null ? null : await lagBehind(log, position) };
  }
  const { position, lacking: events, first } = reached;
  let sinceMs: number | null = null;
  if (first !== null)
    for await (const event of log.readStream(first.stream, { from: first.revision, limit: 1 }))
      sinceMs = timeOf(event).atMs;
  return { position, lag: { events, sinceMs } };
}

/** What the log has behind a position. @throws EventLogError */
async function lagBehind(log: ReadableLog, after: Position | null): Promise<ViewsLag> {
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

/** The same in a sentence: "1 event". */
export const lagInEvents = (lag: Pick<ViewsLag, 'events'>): string =>
  lag.events > COUNTED_MAX ? `more than ${counted(COUNTED_MAX, 'event')}` : counted(lag.events, 'event');
