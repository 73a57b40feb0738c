import type { RecordedEvent } from '../../../contracts/event-log.ts';
import { eventId, position, revision, type StreamName } from '../../../contracts/ids.ts';
import type { EventRow } from './messages.ts';

export const eventOf = ([at, stream, inStream, id, type, data, metadata]: EventRow): RecordedEvent => ({
  id: eventId(`${id.slice(0, 8)}-${id.slice(8, 12)}-${id.slice(12, 16)}-${id.slice(16, 20)}-${id.slice(20)}`),
  type,
  data,
  metadata,
  stream: stream as StreamName,
  revision: revision(inStream),
  position: position(at),
});
