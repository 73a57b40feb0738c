import type streams from '@eventstore/db-client/generated/streams_pb.js';
import type { ServerWritableStream } from '@grpc/grpc-js';
import { streamNameText } from './proposed-from-wire.ts';

export type ReadCall = ServerWritableStream<streams.ReadReq, streams.ReadResp>;

/** The stream that is read; null is $all. */
export function streamOf(options: streams.ReadReq.Options): string | null {
  const stream = options.getStream();
  return stream === undefined ? null : streamNameText(stream.getStreamIdentifier());
}
