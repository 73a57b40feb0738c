import { eventMetadataSchema } from '../../contracts/event-codec.ts';
import type { EventLog } from '../../contracts/event-log.ts';
import { position } from '../../contracts/ids.ts';

/**
 * When the ledger's newest event was written, by the word of who wrote it; null where the ledger is empty, or where that
 * cannot be read. @throws EventLogError when the log does not answer.
 */
export async function newestInstant(log: EventLog): Promise<number | null> {
  const head = await log.headPosition();
  if (head === null) return null;
  for await (const { metadata } of log.readAll({ after: head === 0 ? null : position(head - 1), limit: 1 })) {
    const parsed = eventMetadataSchema.safeParse(JSON.parse(metadata));
    return parsed.success ? Date.parse(parsed.data.recordedAt) : null;
  }
  return null;
}
