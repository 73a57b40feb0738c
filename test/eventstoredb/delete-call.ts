import shared from '@eventstore/db-client/generated/shared_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import type { handleUnaryCall, ServerUnaryCall } from '@grpc/grpc-js';
import { refuseAccess } from './access.ts';
import { expectedOf } from './append-call.ts';
import type { AppendOutcome } from './append-outcome.ts';
import { leaderOf } from './perform-append.ts';
import { streamNameText } from './proposed-from-wire.ts';
import * as errors from './rpc-errors.ts';
import type { ServerNode } from './server-node.ts';

/** Streams.Delete: the stream reads as one that does not exist, until it is appended to. */
export function deleteCall(node: ServerNode): handleUnaryCall<streams.DeleteReq, streams.DeleteResp> {
  return (call, callback) => {
    const outcome = end(node, 'Delete', call, call.request.getOptions());
    if ('code' in outcome) return callback(outcome);
    const text = String(outcome.position);
    const position = new streams.DeleteResp.Position().setCommitPosition(text).setPreparePosition(text);
    callback(null, new streams.DeleteResp().setPosition(position));
  };
}

/** Streams.Tombstone: the stream can never be appended to again. */
export function tombstoneCall(node: ServerNode): handleUnaryCall<streams.TombstoneReq, streams.TombstoneResp> {
  return (call, callback) => {
    const outcome = end(node, 'Tombstone', call, call.request.getOptions());
    if ('code' in outcome) return callback(outcome);
    if (outcome.position === null) return callback(null, new streams.TombstoneResp().setNoPosition(new shared.Empty()));
    const text = String(outcome.position);
    const position = new streams.TombstoneResp.Position().setCommitPosition(text).setPreparePosition(text);
    callback(null, new streams.TombstoneResp().setPosition(position));
  };
}

type Success = Extract<AppendOutcome, { type: 'success' }>;

function end(
  node: ServerNode,
  rpc: 'Delete' | 'Tombstone',
  call: ServerUnaryCall<streams.DeleteReq, unknown> | ServerUnaryCall<streams.TombstoneReq, unknown>,
  options: streams.DeleteReq.Options | streams.TombstoneReq.Options | undefined,
): Success | errors.RpcError {
  const refusal = refuseAccess(node, node.seen.record(rpc, call.metadata));
  if (refusal !== null) return refusal;
  if (!node.faults.mayAppend) return errors.accessDenied();
  if (node.faults.leader !== null) return errors.notLeader(leaderOf(node));
  if (options === undefined) return errors.invalidArgument('a deletion has options');
  const stream = streamNameText(options.getStreamIdentifier());
  const expected = expectedOf(options);
  const outcome = rpc === 'Delete' ? node.log.deleteSoftly(stream, expected) : node.log.tombstone(stream, expected);
  if (outcome.type === 'success') return outcome;
  if (outcome.type !== 'wrong-expected-version') return errors.streamDeleted(stream);
  return errors.wrongExpectedVersion(stream, typeof expected === 'number' ? expected : -2, outcome.current);
}
