import shared from '@eventstore/db-client/generated/shared_pb.js';
import streamsService from '@eventstore/db-client/generated/streams_grpc_pb.js';
import messages from '@eventstore/db-client/generated/streams_pb.js';

/**
 * The client's own generated messages. They are used directly, under the client's channel, discovery and credentials,
 * because its methods change what they carry: they parse JSON data and metadata and forget the text, and they hide the
 * call, which must be cancelled when its time is up. CommonJS, in which Node finds no names: hence the default imports.
 */
export const { StreamsClient } = streamsService;
export const { AppendReq, AppendResp, ReadReq } = messages;
export const { Empty, StreamIdentifier, UUID } = shared;

/** `rpc BatchAppend (stream BatchAppendReq) returns (stream BatchAppendResp)`, written and read without the generated code, which builds an object for each message, map and number. */
export const BATCH_APPEND = '/event_store.client.streams.Streams/BatchAppend';

export type StreamsClient = streamsService.StreamsClient;
export type AppendRequest = messages.AppendReq;
export type AppendResponse = messages.AppendResp;
export type ReadRequest = messages.ReadReq;

/** `rpc Read (ReadReq) returns (stream ReadResp)`; what comes back is read by hand. */
export const READ = '/event_store.client.streams.Streams/Read';
