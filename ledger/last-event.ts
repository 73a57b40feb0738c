import type { ReadableLog, RecordedEvent } from '../contracts/event-log.ts';
import { position } from '../contracts/ids.ts';

/** The last event of a log; null where it is empty. @throws EventLogError */
export async function lastEvent(log: ReadableLog): Promise<RecordedEvent | null> {
  const head = await log.headPosition();
  if (head === null) return null;
  for await (const event of log.readAll({ after: head === 0 ? null : position(head - 1), limit: 1 })) return event;
  return null;
}
