import shared from '@eventstore/db-client/generated/shared_pb.js';
import statuses from '@eventstore/db-client/generated/status_pb.js';
import messages from '@eventstore/db-client/generated/streams_pb.js';
import any from 'google-protobuf/google/protobuf/any_pb.js';
import empty from 'google-protobuf/google/protobuf/empty_pb.js';
import { describe, expect, it } from 'vitest';
import { eventId, revision, type StreamName } from '../../../../contracts/ids.ts';
import { decodeBatchAnswer } from '../../../../ledger/event-log/eventstoredb/decode-batch-answer.ts';
import { encodeBatchAppend } from '../../../../ledger/event-log/eventstoredb/encode-batch-append.ts';
import { faultOf } from '../../../../ledger/event-log/eventstoredb/fault.ts';
import { event } from '../../../fixtures/ledger/shared-log.ts';

/** Lengths around those at which a length takes one byte more. */
const LENGTHS = [0, 1, 126, 127, 128, 129, 16_382, 16_383, 16_384, 100_000];
const NUMBERS = [1, 127, 128, 16_383, 16_384, 2 ** 31, 2 ** 32 + 1, 2 ** 47];

function appendOf({ expected = 7, stream = 'account-ü', data = '{"ü":"€"}', metadata = '{}' }) {
  const events = [
    { ...event(), data, metadata },
    { ...event(), type: 'Ä' },
  ];
  return { stream: stream as StreamName, onServer: `gateway-${stream}`, expected: revision(expected), events };
}

describe('an append in the bytes of the wire', () => {
  it('is what the generated code reads: stream, revision, ids, types, text', () => {
    const one = appendOf({});
    const read = messages.BatchAppendReq.deserializeBinary(encodeBatchAppend(300, one));
    expect(read.getCorrelationId()?.getStructured()?.getLeastSignificantBits()).toBe('300');
    expect(read.getIsFinal()).toBe(true);
    const options = read.getOptions();
    expect(Buffer.from(options?.getStreamIdentifier()?.getStreamName_asU8() ?? []).toString()).toBe(
      'gateway-account-ü',
    );
    expect(options?.getStreamPosition()).toBe('7');
    expect(options?.getDeadline()?.toDate().toISOString()).toBe('9999-12-31T23:59:59.000Z');
    expect(read.getProposedMessagesList().map(contentOf)).toEqual(
      one.events.map(({ id, type, data, metadata }) => ({
        id,
        data,
        metadata,
        map: [
          ['content-type', 'application/json'],
          ['type', type],
        ],
      })),
    );
  });

  it('expects no stream where there is to be none, and the first revision where there is one event', () => {
    const optionsOf = (expected: number) =>
      messages.BatchAppendReq.deserializeBinary(encodeBatchAppend(1, appendOf({ expected }))).getOptions();
    expect([optionsOf(-1)?.hasNoStream(), optionsOf(-1)?.hasStreamPosition()]).toEqual([true, false]);
    expect([optionsOf(0)?.hasNoStream(), optionsOf(0)?.getStreamPosition()]).toEqual([false, '0']);
  });

  it.each(LENGTHS)('holds text of %i bytes', (length) => {
    const text = 'x'.repeat(length);
    const one = appendOf({ data: text, metadata: text, stream: `account-${'y'.repeat(length % 250)}` });
    const [read] = messages.BatchAppendReq.deserializeBinary(encodeBatchAppend(1, one)).getProposedMessagesList();
    expect(read && contentOf(read)).toMatchObject({ data: text, metadata: text });
  });

  it.each(NUMBERS)('holds the number %i', (number) => {
    const read = messages.BatchAppendReq.deserializeBinary(encodeBatchAppend(number, appendOf({ expected: number })));
    expect(read.getCorrelationId()?.getStructured()?.getLeastSignificantBits()).toBe(String(number));
    expect(read.getOptions()?.getStreamPosition()).toBe(String(number));
  });
});

function contentOf(message: messages.BatchAppendReq.ProposedMessage) {
  return {
    id: eventId(message.getId()?.getString() ?? ''),
    data: Buffer.from(message.getData_asU8()).toString(),
    metadata: Buffer.from(message.getCustomMetadata_asU8()).toString(),
    map: [...message.getMetadataMap().toArray()].sort(),
  };
}

describe('an answer to an append among many', () => {
  const answer = () => new messages.BatchAppendResp();
  const read = (response: messages.BatchAppendResp) => decodeBatchAnswer(Buffer.from(response.serializeBinary()));
  const success = () => new messages.BatchAppendResp.Success();
  const at = (position: string) =>
    new shared.AllStreamPosition().setCommitPosition(position).setPreparePosition(position);

  it.each([0, ...NUMBERS])('tells revision and position %i', (number) => {
    const text = String(number);
    const response = answer().setSuccess(success().setCurrentRevision(text).setPosition(at(text)));
    const verdict = { type: 'success', lastRevision: number, position: number };
    expect(read(response).verdict).toEqual(verdict);
  });

  it('is an error where its revision is no number of ours', () => {
    const response = answer().setSuccess(success().setCurrentRevision(String(2n ** 53n)));
    expect(() => read(response)).toThrow('below 2^53');
  });

  it('may tell no position', () => {
    const response = answer().setSuccess(success().setCurrentRevision('3').setNoPosition(new empty.Empty()));
    expect(read(response).verdict).toEqual({ type: 'success', lastRevision: 3, position: null });
  });

  it.each(NUMBERS)('is to the append of number %i, in either form of a UUID', (number) => {
    const structured = new shared.UUID.Structured().setMostSignificantBits('0').setLeastSignificantBits(String(number));
    const hex = number.toString(16).padStart(32, '0');
    const text = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
    for (const uuid of [new shared.UUID().setStructured(structured), new shared.UUID().setString(text)])
      expect(read(answer().setCorrelationId(uuid).setSuccess(success())).correlation).toBe(number);
  });

  function refusal(type: string, bytes: Uint8Array, message = ''): messages.BatchAppendResp {
    const details = new any.Any();
    details.pack(bytes, type);
    return answer().setError(new statuses.Status().setMessage(message).setDetails(details));
  }

  it('tells the revision that a stream has where another was expected', () => {
    const wrong = (message: shared.WrongExpectedVersion) =>
      read(refusal('event_store.client.WrongExpectedVersion', message.serializeBinary())).verdict;
    const of = (actualRevision: number) => ({ type: 'wrong-expected-version', actualRevision });
    const none = new shared.WrongExpectedVersion().setCurrentNoStream(new empty.Empty()).setExpectedStreamPosition('9');
    expect(wrong(none)).toEqual(of(-1));
    expect(
      wrong(new shared.WrongExpectedVersion().setCurrentStreamRevision('300').setExpectedStreamPosition('9')),
    ).toEqual(of(300));
    expect(wrong(new shared.WrongExpectedVersion().setCurrentStreamRevision('0'))).toEqual(of(0));
  });

  it.each([
    ['event_store.client.StreamDeleted', '', 'invalid'],
    ['event_store.client.MaximumAppendSizeExceeded', '', 'invalid'],
    ['event_store.client.AccessDenied', '', 'unavailable'],
    ['event_store.client.BadRequest', 'no such thing', 'unavailable'],
    ['event_store.client.Timeout', '', 'ambiguous'],
    ['event_store.client.Unknown', '', 'ambiguous'],
    ['event_store.client.WhateverComesNext', '', 'ambiguous'],
    ['google.protobuf.Empty', 'Server Is Busy', 'unavailable'],
    ['google.protobuf.Empty', 'Server Is Not Ready', 'unavailable'],
    ['google.protobuf.Empty', 'No leader info available in response', 'unavailable'],
    ['google.protobuf.Empty', 'Unknown NotHandledReason (9)', 'ambiguous'],
  ])('that is %s "%s" is %s', (type, message, kind) => {
    const { verdict } = read(refusal(type, new Uint8Array(), message));
    const fault = faultOf(verdict.type === 'refused' ? verdict.error : null);
    expect(fault).toMatchObject({ kind, isAborted: type.endsWith('Timeout'), isAccessDenied: type.endsWith('Denied') });
    expect(fault.reason).not.toBe('');
  });

  it('that says nothing is a refusal, and what is no answer an error', () => {
    expect(faultOf(read(answer()).verdict)).toMatchObject({ kind: 'ambiguous' });
    expect(read(answer()).verdict.type).toBe('refused');
    const whole = Buffer.from(answer().setSuccess(success().setCurrentRevision('300')).serializeBinary());
    expect(() => decodeBatchAnswer(whole.subarray(0, whole.length - 1))).toThrow();
    expect(() => decodeBatchAnswer(Buffer.of(0x1a, 0x80))).toThrow();
    expect(() => decodeBatchAnswer(Buffer.of(0x1a, 0x0b, 0x08, ...Array(10).fill(0xff)))).toThrow();
  });
});
