import shared from '@eventstore/db-client/generated/shared_pb.js';
import statuses from '@eventstore/db-client/generated/status_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import { status } from '@grpc/grpc-js';
import any from 'google-protobuf/google/protobuf/any_pb.js';
import empty from 'google-protobuf/google/protobuf/empty_pb.js';
import type { AppendOutcome, Expected } from './append-outcome.ts';
import type { AppendFault } from './fault-kinds.ts';

const TYPES = 'event_store.client';

/** The answer to one append of a batch call, but for its correlation id and its stream. */
export function batchOutcome(
  outcome: AppendOutcome,
  identifier: shared.StreamIdentifier | undefined,
): streams.BatchAppendResp {
  switch (outcome.type) {
    case 'success':
      return new streams.BatchAppendResp().setSuccess(success(outcome.revision, outcome.position));
    case 'wrong-expected-version': {
      const bytes = conflict(outcome.current, outcome.expected).serializeBinary();
      return refusal(status.FAILED_PRECONDITION, 'WrongExpectedVersion', bytes);
    }
    case 'stream-deleted': {
      const bytes = new shared.StreamDeleted().setStreamIdentifier(identifier).serializeBinary();
      return refusal(status.FAILED_PRECONDITION, 'StreamDeleted', bytes);
    }
    case 'too-large': {
      const bytes = new shared.MaximumAppendSizeExceeded().setMaxappendsize(outcome.appendBytesMax).serializeBinary();
      return refusal(status.INVALID_ARGUMENT, 'MaximumAppendSizeExceeded', bytes);
    }
  }
}

/** The answer that a fault gives to one append alone; null where it breaks the whole call instead. */
export function batchFailure(fault: AppendFault): streams.BatchAppendResp | null {
  switch (fault) {
    case 'busy':
      return notHandled('Server Is Busy');
    case 'not-ready':
      return notHandled('Server Is Not Ready');
    case 'no-leader':
      return notHandled('No leader info available in response');
    case 'bad-request':
      return batchInvalid('something broke before the append was published');
    case 'internal':
    case 'unknown':
      return refusal(status.UNKNOWN, 'Unknown', new shared.Unknown().serializeBinary());
    case 'commit-timeout':
    case 'store-and-commit-timeout':
      return batchTimeout();
    case 'access-denied':
      return refusal(status.PERMISSION_DENIED, 'AccessDenied', new shared.AccessDenied().serializeBinary());
    default:
      return null;
  }
}

export const batchTimeout = (): streams.BatchAppendResp =>
  refusal(status.DEADLINE_EXCEEDED, 'Timeout', new shared.Timeout().serializeBinary());

export const batchInvalid = (message: string): streams.BatchAppendResp =>
  refusal(status.INVALID_ARGUMENT, 'BadRequest', badRequest(message), message);

/** The server sets no code, and says in words alone why it has not handled an append. */
const notHandled = (message: string): streams.BatchAppendResp =>
  statusOf(status.OK, 'google.protobuf.Empty', new empty.Empty().serializeBinary(), message);

const badRequest = (message: string): Uint8Array => new shared.BadRequest().setMessage(message).serializeBinary();

const refusal = (code: status, type: string, bytes: Uint8Array, message: string = type): streams.BatchAppendResp =>
  statusOf(code, `${TYPES}.${type}`, bytes, message);

function statusOf(code: status, type: string, bytes: Uint8Array, message: string): streams.BatchAppendResp {
  const details = new any.Any();
  details.pack(bytes, type);
  // The codes of google.rpc and of gRPC are the same numbers under two types.
  const error = new statuses.Status()
    .setCode(code as number as never)
    .setMessage(message)
    .setDetails(details);
  return new streams.BatchAppendResp().setError(error);
}

function success(revision: number, position: number | null): streams.BatchAppendResp.Success {
  const answer = new streams.BatchAppendResp.Success();
  if (revision === -1) answer.setNoStream(new empty.Empty());
  else answer.setCurrentRevision(String(revision));
  if (position === null) return answer.setNoPosition(new empty.Empty());
  const text = String(position);
  return answer.setPosition(new shared.AllStreamPosition().setCommitPosition(text).setPreparePosition(text));
}

function conflict(current: number, expected: Expected): shared.WrongExpectedVersion {
  const answer = new shared.WrongExpectedVersion();
  if (current === -1) answer.setCurrentNoStream(new empty.Empty());
  else answer.setCurrentStreamRevision(String(current));
  if (expected === 'any') return answer.setExpectedAny(new empty.Empty());
  if (expected === 'stream_exists') return answer.setExpectedStreamExists(new empty.Empty());
  if (expected === -1) return answer.setExpectedNoStream(new empty.Empty());
  return answer.setExpectedStreamPosition(String(expected));
}
