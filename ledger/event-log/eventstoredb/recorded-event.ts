import { isUtf8 } from 'node:buffer';
import { EventLogError, type RecordedEvent } from '../../../contracts/event-log.ts';
import { eventId, revision, type StreamName } from '../../../contracts/ids.ts';
import { positionOf, wholeNumber } from './log-position.ts';
import type { OwnStreams } from './own-streams.ts';
import type { WireEvent } from './streams-wire.ts';

/**
 * An event as the port has it: data and metadata are the very bytes that were appended, as text. Whether the text is
 * JSON of a known event is seen by who decodes it (contracts/event-codec.ts).
 * @param name of its stream, without the server's prefix
 * @throws EventLogError `invalid` for what cannot be text: such an event is never skipped
 */
export function recordedEventOf(event: WireEvent, name: StreamName): RecordedEvent {
  const stream = streamOf(event);
  const at = wholeNumber(event.getStreamRevision());
  const type = event.getMetadataMap().get('type');
  const id = event.getId()?.getString();
  if (!id || !type) throw unreadable(stream, at, 'it has no id or no type');
  if (event.getMetadataMap().get('content-type') !== 'application/json')
    throw unreadable(stream, at, 'its data is not JSON');
  return {
    id: eventId(id.toLowerCase()),
    type,
    data: textOf(event.getData_asU8()) ?? fail(stream, at, 'data'),
    metadata: textOf(event.getCustomMetadata_asU8()) ?? fail(stream, at, 'metadata'),
    stream: name,
    revision: revision(at),
    position: positionOf(event.getCommitPosition(), event.getPreparePosition()),
    ...stampOf(event),
  };
}

export function streamOf(event: WireEvent): string {
  return Buffer.from(event.getStreamIdentifier()?.getStreamName_asU8() ?? []).toString('utf8');
}

/**
 * The stream of an event that is the ledger's own; null of others. A tombstone stands in the stream that it ends, and is the server's, as are all
 * types that begin with a dollar sign: hidden-streams.ts looks at those.
 */
export const ledgersStream = (event: WireEvent, streams: OwnStreams): StreamName | null =>
  event.getMetadataMap().get('type')?.startsWith('$') ? null : streams.nameOf(streamOf(event));

const TICKS_PER_MS = 10_000n;

/** `created` is in ticks of 100 ns since 1970. */
function stampOf(event: WireEvent): Pick<RecordedEvent, 'stampedAtMs'> {
  const created = event.getMetadataMap().get('created');
  return created !== undefined && /^\d+$/.test(created) ? { stampedAtMs: Number(BigInt(created) / TICKS_PER_MS) } : {};
}

function textOf(bytes: Uint8Array): string | null {
  if (!isUtf8(bytes)) return null;
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
}

function fail(stream: string, at: number, part: string): never {
  throw unreadable(stream, at, `its ${part} is not UTF-8`);
}

const unreadable = (stream: string, at: number, problem: string): EventLogError =>
  new EventLogError('invalid', `${stream} revision ${at} cannot be read: ${problem}`);
