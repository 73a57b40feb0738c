import type shared from '@eventstore/db-client/generated/shared_pb.js';
import type streams from '@eventstore/db-client/generated/streams_pb.js';
import type { ProposedRecord } from './stored-event.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** A proposed event as it came; null where it lacks what the server asks for (an id, `type` and `content-type`). */
export function proposedFromWire(
  message: streams.AppendReq.ProposedMessage | streams.BatchAppendReq.ProposedMessage,
): ProposedRecord | null {
  const id = uuidText(message.getId());
  const type = message.getMetadataMap().get('type');
  const contentType = message.getMetadataMap().get('content-type');
  if (id === null || !type || !contentType) return null;
  return { id, type, contentType, data: message.getData_asU8(), metadata: message.getCustomMetadata_asU8() };
}

/** The UUID in its usual form, in lower case; the wire has two forms of it. */
export function uuidText(uuid: shared.UUID | undefined): string | null {
  const structured = uuid?.getStructured();
  if (structured === undefined) {
    const text = uuid?.getString() ?? '';
    return UUID.test(text) ? text.toLowerCase() : null;
  }
  const bits = [structured.getMostSignificantBits(), structured.getLeastSignificantBits()];
  const hex = bits.map((half) => BigInt.asUintN(64, BigInt(half)).toString(16).padStart(16, '0')).join('');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

export const streamNameText = (identifier: shared.StreamIdentifier | undefined): string =>
  Buffer.from(identifier?.getStreamName_asU8() ?? []).toString('utf8');
