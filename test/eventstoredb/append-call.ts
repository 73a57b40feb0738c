import shared from '@eventstore/db-client/generated/shared_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import type { handleClientStreamingCall } from '@grpc/grpc-js';
import { refuseAccess } from './access.ts';
import type { AppendOutcome, Expected } from './append-outcome.ts';
import { performAppend } from './perform-append.ts';
import { proposedFromWire, streamNameText } from './proposed-from-wire.ts';
import * as errors from './rpc-errors.ts';
import type { ServerNode } from './server-node.ts';
import type { ProposedRecord } from './stored-event.ts';

/** Streams.Append: options first, then one message an event; the answer when the client has ended. */
export function appendCall(node: ServerNode): handleClientStreamingCall<streams.AppendReq, streams.AppendResp> {
  return (call, callback) => {
    let options: streams.AppendReq.Options | undefined;
    const events: ProposedRecord[] = [];
    let refusal = refuseAccess(node, node.seen.record('Append', call.metadata));
    call.on('data', (message: streams.AppendReq) => {
      const proposed = message.getProposedMessage();
      options ??= message.getOptions();
      if (proposed === undefined) return;
      const event = proposedFromWire(proposed);
      if (event === null) refusal ??= errors.metadataPropertyMissing();
      else events.push(event);
    });
    call.on('end', () => {
      // A connection that is reset ends its calls first and cancels them afterwards: what came of an append until then
      // must not be taken for the whole of it.
      if (!node.isConnected(call.getPeer())) return;
      if (options === undefined) return callback(errors.invalidArgument('an append begins with its options'));
      if (refusal !== null) return callback(refusal);
      const stream = streamNameText(options.getStreamIdentifier());
      const expected = expectedOf(options);
      performAppend(node, { stream, expected, events, rpc: 'append' }, call.getPeer(), (end) => {
        if (end.type === 'failed') return callback(end.error);
        const answer = answerOf(stream, end.outcome);
        if ('code' in answer) callback(answer);
        else callback(null, answer);
      });
    });
  };
}

export function expectedOf(options: {
  hasAny(): boolean;
  hasStreamExists(): boolean;
  hasRevision(): boolean;
  getRevision(): string;
}): Expected {
  if (options.hasAny()) return 'any';
  if (options.hasStreamExists()) return 'stream_exists';
  return options.hasRevision() ? Number(options.getRevision()) : -1;
}

function answerOf(stream: string, outcome: AppendOutcome): streams.AppendResp | errors.RpcError {
  switch (outcome.type) {
    case 'stream-deleted':
      return errors.streamDeleted(stream);
    case 'too-large':
      return errors.appendTooLarge(outcome.appendBytesMax);
    case 'success':
      return new streams.AppendResp().setSuccess(success(outcome.revision, outcome.position));
    case 'wrong-expected-version':
      return new streams.AppendResp().setWrongExpectedVersion(conflict(outcome.current, outcome.expected));
  }
}

function success(revision: number, position: number | null): streams.AppendResp.Success {
  const answer = new streams.AppendResp.Success();
  if (revision === -1) answer.setNoStream(new shared.Empty());
  else answer.setCurrentRevision(String(revision));
  if (position === null) return answer.setNoPosition(new shared.Empty());
  const text = String(position);
  return answer.setPosition(new streams.AppendResp.Position().setCommitPosition(text).setPreparePosition(text));
}

function conflict(current: number, expected: Expected): streams.AppendResp.WrongExpectedVersion {
  const answer = new streams.AppendResp.WrongExpectedVersion();
  if (current === -1) answer.setCurrentNoStream(new shared.Empty());
  else answer.setCurrentRevision(String(current));
  if (expected === 'any') return answer.setExpectedAny(new shared.Empty());
  if (expected === 'stream_exists') return answer.setExpectedStreamExists(new shared.Empty());
  if (expected === -1) return answer.setExpectedNoStream(new shared.Empty());
  return answer.setExpectedRevision(String(expected));
}
