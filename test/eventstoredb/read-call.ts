import type streams from '@eventstore/db-client/generated/streams_pb.js';
import type { handleServerStreamingCall } from '@grpc/grpc-js';
import { refuseAccess } from './access.ts';
import { AllBackwards, AllForwards, type EventSource, StreamBackwards, StreamForwards } from './event-source.ts';
import type { ReadFault } from './fault-kinds.ts';
import { strikeOf } from './read-fault.ts';
import { type ReadCall, streamOf } from './read-options.ts';
import { eventResponse, streamNotFound } from './read-responses.ts';
import * as errors from './rpc-errors.ts';
import type { ServerNode } from './server-node.ts';
import { subscribe } from './subscription.ts';

/** Streams.Read: a read of a stream or of $all that ends, or a subscription that does not. */
export function readCall(node: ServerNode): handleServerStreamingCall<streams.ReadReq, streams.ReadResp> {
  return (call) => {
    const options = call.request.getOptions();
    const isSubscription = options?.hasSubscription() ?? false;
    const seen = node.seen.record(isSubscription ? 'Subscribe' : 'Read', call.metadata);
    const refusal = refuseAccess(node, seen);
    if (refusal !== null || options === undefined) {
      call.emit('error', refusal ?? errors.invalidArgument('a read has options'));
      return;
    }
    if (isSubscription) subscribe(node, call, options, seen.requiresLeader);
    else read(node, call, options, seen.requiresLeader);
  };
}

function read(node: ServerNode, call: ReadCall, options: streams.ReadReq.Options, requiresLeader: boolean): void {
  const stream = streamOf(options);
  // The direction is an enumeration of the generated code: 1 is backwards.
  const direction = options.getReadDirection() === 1 ? 'backwards' : 'forwards';
  const count = options.hasCount() ? Number(options.getCount()) : Number.POSITIVE_INFINITY;
  const fault = node.faults.ofRead({ stream, direction, count }, requiresLeader);
  const source = stream === null ? allSource(node, options, direction) : streamSource(node, stream, options, direction);
  send(node, call, { source, stream, count, fault });
}

function send(
  node: ServerNode,
  call: ReadCall,
  read: {
    readonly source: EventSource | 'not-found' | 'deleted';
    readonly stream: string | null;
    readonly count: number;
    readonly fault: ReadFault;
  },
): void {
  const { source, stream, count } = read;
  const strike = strikeOf(node, read.fault);
  let sent = 0;
  const run = (): void => {
    for (;;) {
      if (call.cancelled) return;
      if (strike !== null && sent >= strike.after) {
        if (strike.strike.type === 'fail') call.emit('error', strike.strike.error);
        else if (strike.strike.type === 'cut') node.cut(call.getPeer());
        return;
      }
      if (source === 'deleted') return void call.emit('error', errors.streamDeleted(stream ?? ''));
      if (source === 'not-found') {
        // Not `end(message)`: that argument of gRPC's `end` is the trailers.
        call.write(streamNotFound(stream ?? ''));
        call.end();
        return;
      }
      const event = sent < count ? source.next() : null;
      if (event === null) return void call.end();
      sent += 1;
      node.seen.eventsWritten += 1;
      if (!call.write(eventResponse(event))) return void call.once('drain', run);
    }
  };
  run();
}

/** Forwards a position is inclusive; backwards it is exclusive, for there it is where the log is read back from. */
function allSource(
  node: ServerNode,
  options: streams.ReadReq.Options,
  direction: 'forwards' | 'backwards',
): EventSource {
  const { log } = node;
  const all = options.getAll();
  const position = all?.getPosition();
  const index =
    position === undefined
      ? all?.hasEnd()
        ? log.events.length
        : 0
      : log.indexAt(Number(position.getCommitPosition()));
  return direction === 'forwards' ? new AllForwards(log, index) : new AllBackwards(log, index - 1);
}

function streamSource(
  node: ServerNode,
  name: string,
  options: streams.ReadReq.Options,
  direction: 'forwards' | 'backwards',
): EventSource | 'not-found' | 'deleted' {
  const stream = node.log.stream(name);
  if (stream?.tombstoned) return 'deleted';
  if (stream === undefined || stream.lastRevision === -1 || stream.metadata.deletedSoftly) return 'not-found';
  const from = options.getStream();
  const revision = from?.hasEnd() ? stream.lastRevision : from?.hasRevision() ? Number(from.getRevision()) : 0;
  if (direction === 'backwards') return new StreamBackwards(node.log, stream, revision);
  return new StreamForwards(node.log, name, revision);
}
