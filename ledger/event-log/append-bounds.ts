import { EventLogError, type ProposedEvent } from '../../contracts/event-log.ts';
import type { StreamName } from '../../contracts/ids.ts';
import { LIMITS } from '../../contracts/limits.ts';

/** What one append may hold in every adapter, beside LIMITS.eventBytesMax and LIMITS.appendBytesMax. */
export const APPEND_BOUNDS = Object.freeze({
  eventsPerAppendMax: 4_096,
  streamNameCharsMax: 256,
  eventTypeCharsMax: 256,
});

const EVENT_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const UTF8_BYTES_PER_CHAR_MAX = 3;

/** The bound that an append breaks (`invalid`), or null. An event's bytes: type, data and metadata in UTF-8. */
export function refuseAppend(
  stream: StreamName,
  expectedRevision: number,
  events: readonly ProposedEvent[],
): EventLogError | null {
  if (stream.length === 0 || stream.length > APPEND_BOUNDS.streamNameCharsMax)
    return invalid(`a stream's name has 1 to ${APPEND_BOUNDS.streamNameCharsMax} characters (streamNameCharsMax)`);
  if (!Number.isSafeInteger(expectedRevision) || expectedRevision < -1)
    return invalid(`${expectedRevision} is no expected revision: -1 or more is`);
  if (events.length === 0) return invalid('an append has at least one event');
  if (events.length > APPEND_BOUNDS.eventsPerAppendMax)
    return invalid(`an append has at most ${APPEND_BOUNDS.eventsPerAppendMax} events (eventsPerAppendMax)`);
  for (const event of events) {
    const problem = problemOf(event);
    if (problem !== null) return invalid(problem);
  }
  return refuseBytes(events);
}

function problemOf({ id, type, data, metadata }: ProposedEvent): string | null {
  if (!EVENT_ID.test(id)) return `an event's id is a UUID in lower case, not "${id.slice(0, 64)}"`;
  if (type.length === 0 || type.length > APPEND_BOUNDS.eventTypeCharsMax)
    return `an event's type has 1 to ${APPEND_BOUNDS.eventTypeCharsMax} characters (eventTypeCharsMax)`;
  // Half a surrogate pair has no bytes in UTF-8: it would come back as something else.
  if (!data.isWellFormed() || !metadata.isWellFormed() || !type.isWellFormed())
    return 'the text of an event is well-formed Unicode';
  return null;
}

function refuseBytes(events: readonly ProposedEvent[]): EventLogError | null {
  let chars = 0;
  for (const event of events) chars += charsOf(event);
  // Counting bytes costs as much as everything above; nearly every append is far from the bounds.
  if (chars * UTF8_BYTES_PER_CHAR_MAX <= LIMITS.eventBytesMax) return null;
  let bytes = 0;
  for (const { type, data, metadata } of events) {
    const eventBytes = Buffer.byteLength(type) + Buffer.byteLength(data) + Buffer.byteLength(metadata);
    if (eventBytes > LIMITS.eventBytesMax)
      return invalid(`an event has at most ${LIMITS.eventBytesMax} bytes (eventBytesMax), not ${eventBytes}`);
    bytes += eventBytes;
  }
  if (bytes <= LIMITS.appendBytesMax) return null;
  return invalid(`an append has at most ${LIMITS.appendBytesMax} bytes (appendBytesMax), not ${bytes}`);
}

/** The length of an event's text: what bounds on memory count. */
export const charsOf = ({ type, data, metadata }: ProposedEvent): number => type.length + data.length + metadata.length;

const invalid = (message: string): EventLogError => new EventLogError('invalid', message);
