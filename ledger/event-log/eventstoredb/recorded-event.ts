import { isUtf8 } from 'node:buffer';
import type { RecordedEvent } from '../../../contracts/event-log.ts';
import { eventId, revision, type StreamName } from '../../../contracts/ids.ts';
import type { WireEvent } from './decode-read-response.ts';
import { positionOf, wholeNumber } from './log-position.ts';
import type { OwnStreams } from './own-streams.ts';

/**
 * An event as the port has it: data and metadata are the very bytes that were appended, as text. Whether the text is
 * JSON of a known event is seen by who decodes it (contracts/event-codec.ts). Bytes that are no text, or are said to be no
 * JSON, are another program's: in their place stands an empty text, which is no JSON either. So they are found where
 * everything is that cannot be read, and concern nobody but whom the event is of.
 * @param name of its stream, without the server's prefix
 */
export function recordedEventOf(event: WireEvent, name: StreamName): RecordedEvent {
  const isJson = event.contentType === 'application/json';
  return {
    id: eventId(event.id.toLowerCase()),
    type: event.type,
    data: isJson ? textOf(event.data) : NO_TEXT,
    metadata: textOf(event.metadata),
    stream: name,
    revision: revision(wholeNumber(event.revision)),
    position: positionOf(event.commit, event.prepare),
    ...stampOf(event),
  };
}

/**
 * The stream of an event that is the ledger's own; null of others. A tombstone stands in the stream that it ends, and is the server's, as are all
 * types that begin with a dollar sign: hidden-streams.ts looks at those.
 */
export const ledgersStream = (event: WireEvent, streams: OwnStreams): StreamName | null =>
  event.type.startsWith('$') ? null : streams.nameOf(event.stream);

/** 10,000 ticks are a millisecond. */
const DIGITS_BELOW_MS = 4;

/** `created` is in ticks of 100 ns since 1970. */
function stampOf({ created }: WireEvent): Pick<RecordedEvent, 'stampedAtMs'> {
  return /^\d+$/.test(created) ? { stampedAtMs: Number(created.slice(0, -DIGITS_BELOW_MS)) } : {};
}

const NO_TEXT = '';

const textOf = (bytes: Buffer): string => (isUtf8(bytes) ? bytes.toString('utf8') : NO_TEXT);
