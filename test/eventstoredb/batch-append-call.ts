import type streams from '@eventstore/db-client/generated/streams_pb.js';
import type { handleBidiStreamingCall, ServerDuplexStream } from '@grpc/grpc-js';
import { refuseAccess } from './access.ts';
import type { Expected } from './append-outcome.ts';
import { batchFailure, batchInvalid, batchOutcome, batchTimeout } from './batch-append-answers.ts';
import type { SeenAppend } from './faults.ts';
import { performAppend } from './perform-append.ts';
import { proposedFromWire, streamNameText, uuidText } from './proposed-from-wire.ts';
import type { ServerNode } from './server-node.ts';
import type { ProposedRecord } from './stored-event.ts';

/** An append whose last message has not come yet. */
interface Batch {
  readonly options: streams.BatchAppendReq.Options;
  readonly events: ProposedRecord[];
  isInvalid: boolean;
}

/** Appends that a client may have begun on one call and not ended. */
const BATCHES_OPEN_MAX = 10_000;

type BatchCall = ServerDuplexStream<streams.BatchAppendReq, streams.BatchAppendResp>;

/** Streams.BatchAppend: one long call, any number of appends on it, told apart by their correlation id. */
export function batchAppendCall(
  node: ServerNode,
): handleBidiStreamingCall<streams.BatchAppendReq, streams.BatchAppendResp> {
  return (call) => {
    const refusal = refuseAccess(node, node.seen.record('BatchAppend', call.metadata));
    const batches = new Map<string, Batch>();
    if (refusal !== null) {
      call.emit('error', refusal);
      return;
    }
    call.on('data', (message: streams.BatchAppendReq) => {
      const key = uuidText(message.getCorrelationId());
      const options = message.getOptions();
      if (key === null) return;
      const batch = batches.get(key) ?? (options === undefined ? null : { options, events: [], isInvalid: false });
      if (batch === null || batches.size > BATCHES_OPEN_MAX) return;
      collect(batch, message);
      if (!message.getIsFinal()) return void batches.set(key, batch);
      batches.delete(key);
      append(node, call, message, batch);
    });
    call.on('end', () => call.end());
  };
}

function collect(batch: Batch, message: streams.BatchAppendReq): void {
  for (const proposed of message.getProposedMessagesList()) {
    const event = proposedFromWire(proposed);
    if (event === null) batch.isInvalid = true;
    else batch.events.push(event);
  }
}

function append(node: ServerNode, call: BatchCall, message: streams.BatchAppendReq, batch: Batch): void {
  const { options, events } = batch;
  const identifier = options.getStreamIdentifier();
  const answer = (response: streams.BatchAppendResp): void => {
    // The client matches by the correlation id and reads the stream's name: without either it throws.
    response.setCorrelationId(message.getCorrelationId()).setStreamIdentifier(identifier);
    if (!call.cancelled) call.write(response);
  };
  const refusal = refuse(node, batch);
  if (refusal !== null) {
    answer(refusal);
    return;
  }
  const expected = expectedOf(options);
  const seen: SeenAppend = { stream: streamNameText(identifier), expected, events, rpc: 'batchAppend' };
  performAppend(node, seen, call.getPeer(), (end) => {
    const response = end.type === 'answered' ? batchOutcome(end.outcome, identifier) : batchFailure(end.fault);
    if (response !== null) answer(response);
    else if (end.type === 'failed') call.emit('error', end.error);
  });
}

function refuse(node: ServerNode, { isInvalid, options }: Batch): streams.BatchAppendResp | null {
  if (isInvalid) return batchInvalid('an event has an id, a type and a content type');
  // The deadline is a time of the client's clock: one that runs behind makes every append late.
  const deadline = options.getDeadline();
  return deadline !== undefined && deadline.toDate().getTime() < node.log.now() ? batchTimeout() : null;
}

function expectedOf(options: streams.BatchAppendReq.Options): Expected {
  if (options.hasAny()) return 'any';
  if (options.hasStreamExists()) return 'stream_exists';
  return options.hasStreamPosition() ? Number(options.getStreamPosition()) : -1;
}
