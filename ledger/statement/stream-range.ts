import { decodeMetadata, UnreadableEventError } from '../../contracts/event-codec.ts';
import type { RecordedEvent } from '../../contracts/event-log.ts';

/** A place in a stream: a revision, or the instant at which an event was written down. */
export type StreamPlace =
  | { readonly type: 'revision'; readonly revision: number }
  | { readonly type: 'instant'; readonly atMs: number };

/** When an event was written down, as it says itself (RFC 3339); null where that cannot be read. */
export function recordedAtOf(recorded: RecordedEvent): string | null {
  try {
    return decodeMetadata(recorded).recordedAt;
  } catch (error) {
    if (error instanceof UnreadableEventError) return null;
    throw error;
  }
}

/** Whether a place is reached with an event. One without a time stands where the one before it does. */
export const isReached = (place: StreamPlace, recorded: RecordedEvent, recordedAt: string | null): boolean =>
  place.type === 'revision'
    ? recorded.revision >= place.revision
    : recordedAt !== null && Date.parse(recordedAt) >= place.atMs;

/** The place right behind another: of a revision the next, of an instant the next millisecond. */
export const behind = (place: StreamPlace): StreamPlace =>
  place.type === 'revision' ? { ...place, revision: place.revision + 1 } : { ...place, atMs: place.atMs + 1 };
