import { isUtf8 } from 'node:buffer';
import { EventLogError, type RecordedEvent } from '../../../contracts/event-log.ts';
import { eventId, revision, type StreamName } from '../../../contracts/ids.ts';
import type { WireEvent } from './decode-read-response.ts';
import { positionOf, wholeNumber } from './log-position.ts';
import type { OwnStreams } from './own-streams.ts';

/**
 * An event as the port has it: data and metadata are the very bytes that were appended, as text. Whether the text is
 * JSON of a known event is seen by who decodes it (contracts/event-codec.ts).
 * @param name of its stream, without the server's prefix
 * @throws EventLogError `invalid` for what cannot be text: such an event is never skipped
 */
export function recordedEventOf(event: WireEvent, name: StreamName): RecordedEvent {
  const { stream, type, id } = event;
  const at = wholeNumber(event.revision);
  if (id === '' || type === '') throw unreadable(stream, at, 'it has no id or no type');
  if (event.contentType !== 'application/json') throw unreadable(stream, at, 'its data is not JSON');
  return {
    id: eventId(id.toLowerCase()),
    type,
    data: textOf(event.data) ?? fail(stream, at, 'data'),
    metadata: textOf(event.metadata) ?? fail(stream, at, 'metadata'),
    stream: name,
    revision: revision(at),
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

const textOf = (bytes: Buffer): string | null => (isUtf8(bytes) ? bytes.toString('utf8') : null);

function fail(stream: string, at: number, part: string): never {
  throw unreadable(stream, at, `its ${part} is not UTF-8`);
}

const unreadable = (stream: string, at: number, problem: string): EventLogError =>
  new EventLogError('invalid', `${stream} revision ${at} cannot be read: ${problem}`);
