import shared from '@eventstore/db-client/generated/shared_pb.js';
import messages from '@eventstore/db-client/generated/streams_pb.js';
import { describe, expect, it } from 'vitest';
import type { StreamName } from '../../../../contracts/ids.ts';
import { decodeReadResponse } from '../../../../ledger/event-log/eventstoredb/decode-read-response.ts';
import { recordedEventOf } from '../../../../ledger/event-log/eventstoredb/recorded-event.ts';

const { ReadResp } = messages;
const ID = '00000000-0000-4000-8000-0000000000ab';
const read = (response: messages.ReadResp) => decodeReadResponse(Buffer.from(response.serializeBinary()));

function wireEvent({ data = '{"ü":"€"}', metadata = '{}', number = '7', created = '17641234567891234' }) {
  const event = new ReadResp.ReadEvent.RecordedEvent()
    .setId(new shared.UUID().setString(ID))
    .setStreamIdentifier(new shared.StreamIdentifier().setStreamName(Buffer.from('gateway-account-ü')))
    .setStreamRevision(number)
    .setCommitPosition(number)
    .setPreparePosition(number)
    .setData(Buffer.from(data))
    .setCustomMetadata(Buffer.from(metadata));
  event.getMetadataMap().set('type', 'Ä').set('content-type', 'application/json').set('is-json', 'true');
  if (created !== '') event.getMetadataMap().set('created', created);
  return event;
}

function responseOf(event: messages.ReadResp.ReadEvent.RecordedEvent) {
  const link = wireEvent({ data: 'link' });
  return new ReadResp().setEvent(
    new ReadResp.ReadEvent().setEvent(event).setLink(link).setCommitPosition(event.getCommitPosition()),
  );
}

describe('a message of a read', () => {
  it.each([0, 1, 127, 128, 16_383, 16_384, 200_000])(
    'is the event that it carries, with text of %i bytes',
    (length) => {
      const text = 'x'.repeat(length);
      const { event } = read(responseOf(wireEvent({ data: text, metadata: text })));
      expect(event?.data.toString()).toBe(text);
      expect(event?.metadata.toString()).toBe(text);
      expect(event).toMatchObject({ id: ID, stream: 'gateway-account-ü', type: 'Ä', contentType: 'application/json' });
      expect(event).toMatchObject({ revision: 7, commit: 7, prepare: 7, created: '17641234567891234' });
    },
  );

  it.each([0, 127, 128, 2 ** 31, 2 ** 32 + 1, 2 ** 53 - 1])('tells revision and position %i', (number) => {
    const { event } = read(responseOf(wireEvent({ number: String(number) })));
    expect(event).toMatchObject({ revision: number, commit: number, prepare: number });
  });

  it('can be of a tombstone, whose revision is no number of ours: nobody counts with it', () => {
    const { event } = read(responseOf(wireEvent({}).setStreamRevision(String(2n ** 63n - 1n))));
    expect(event?.revision).toBeGreaterThan(Number.MAX_SAFE_INTEGER);
    expect(() => event && recordedEventOf(event, 'account-1' as StreamName)).toThrow('below 2^53');
  });

  it('is a confirmation, a checkpoint, the news of having caught up, or nothing that is asked for', () => {
    const NOTHING = { event: null, checkpoint: null, isConfirmation: false, isCaughtUp: false };
    const checkpoint = new ReadResp.Checkpoint().setCommitPosition('300').setPreparePosition('300');
    const confirmation = new ReadResp.SubscriptionConfirmation().setSubscriptionId('1');
    expect(read(new ReadResp().setConfirmation(confirmation))).toEqual({ ...NOTHING, isConfirmation: true });
    expect(read(new ReadResp().setCheckpoint(checkpoint))).toEqual({ ...NOTHING, checkpoint: 300 });
    expect(read(new ReadResp().setCaughtUp(new ReadResp.CaughtUp()))).toEqual({ ...NOTHING, isCaughtUp: true });
    expect(read(new ReadResp().setStreamNotFound(new ReadResp.StreamNotFound()))).toEqual(NOTHING);
    expect(read(new ReadResp().setLastStreamPosition('18446744073709551615'))).toEqual(NOTHING);
    expect(read(new ReadResp().setEvent(new ReadResp.ReadEvent().setLink(wireEvent({}))))).toEqual(NOTHING);
  });

  it('is when the server took it, in milliseconds, where it says so', () => {
    const stampOf = (created: string) => {
      const { event } = read(responseOf(wireEvent({ created })));
      return event && recordedEventOf(event, 'account-1' as StreamName).stampedAtMs;
    };
    expect(stampOf('17641234567891234')).toBe(1_764_123_456_789);
    expect(stampOf('')).toBeUndefined();
    expect(stampOf('yesterday')).toBeUndefined();
  });

  it('is an error where it is cut anywhere', () => {
    const whole = Buffer.from(responseOf(wireEvent({})).serializeBinary());
    for (let length = 1; length < whole.length; length++)
      expect(() => decodeReadResponse(whole.subarray(0, length))).toThrow();
    for (const bytes of [Buffer.alloc(11, 0xff), Buffer.of(0x0b), Buffer.of(0x0f, 1)])
      expect(() => decodeReadResponse(bytes)).toThrow();
  });
});
