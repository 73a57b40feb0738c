import { eventMetadataSchema } from '../contracts/event-codec.ts';
import type { RecordedEvent } from '../contracts/event-log.ts';
import { jsonOf } from '../contracts/json-object.ts';

export interface TimeOfEvent {
  /** When it was written: by the stamp of the log's server, else by the word of who wrote it. Null where neither is there. */
  readonly atMs: number | null;
  /** Whether the log's server stamps what it takes. */
  readonly isStamped: boolean;
}

export function timeOf({ stampedAtMs, metadata }: RecordedEvent): TimeOfEvent {
  if (stampedAtMs !== undefined) return { atMs: stampedAtMs, isStamped: true };
  return { atMs: recordedAtMs(metadata), isStamped: false };
}

/** Null where the metadata does not say: it may be another program's, and need not be JSON. */
function recordedAtMs(metadata: string): number | null {
  const parsed = eventMetadataSchema.safeParse(jsonOf(metadata));
  return parsed.success ? Date.parse(parsed.data.recordedAt) : null;
}
