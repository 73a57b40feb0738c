import { Metadata, status } from '@grpc/grpc-js';
import type { Endpoint } from './faults.ts';

/** How a call fails on the wire: a status and the trailers by which the client knows what it means. */
export interface RpcError {
  readonly code: status;
  readonly details: string;
  readonly metadata: Metadata;
  // grpc-js asks for an Error's name and message in its types, and reads neither.
  readonly name: string;
  readonly message: string;
}

export const unavailable = (details = 'the server is going away'): RpcError => rpcError(status.UNAVAILABLE, details);
export const cancelled = (): RpcError => rpcError(status.CANCELLED, 'the call was cancelled by the server');
export const internal = (): RpcError => rpcError(status.INTERNAL, 'something broke inside the server');
export const unknown = (details = 'Exception was thrown by handler.'): RpcError => rpcError(status.UNKNOWN, details);
export const unimplemented = (): RpcError => rpcError(status.UNIMPLEMENTED, 'Method is unimplemented.');
export const serverBusy = (): RpcError => unavailable('Server Is Busy');
export const serverNotReady = (): RpcError => unavailable('Server Is Not Ready');
export const commitTimeout = (): RpcError => rpcError(status.ABORTED, 'Operation timed out: Commit phase timeout');
export const consumerTooSlow = (): RpcError => rpcError(status.UNKNOWN, 'Consumer too slow');
export const invalidArgument = (details: string): RpcError => rpcError(status.INVALID_ARGUMENT, details);
export const unauthenticated = (): RpcError => rpcError(status.UNAUTHENTICATED, 'Bad HTTP status code: 401');

export const accessDenied = (): RpcError =>
  rpcError(status.PERMISSION_DENIED, 'Access Denied', { exception: 'access-denied' });

export const notLeader = ({ host, port }: Endpoint): RpcError =>
  rpcError(status.NOT_FOUND, 'Leader info available', {
    exception: 'not-leader',
    'leader-endpoint-host': host,
    'leader-endpoint-port': String(port),
  });

export const streamDeleted = (stream: string): RpcError =>
  rpcError(status.FAILED_PRECONDITION, `Event stream '${stream}' is deleted.`, {
    exception: 'stream-deleted',
    'stream-name': stream,
  });

/** The refusal of a delete; an append has a message of its own for it. */
export const wrongExpectedVersion = (stream: string, expected: number, current: number): RpcError =>
  rpcError(status.FAILED_PRECONDITION, `Operation failed due to WrongExpectedVersion on stream '${stream}'.`, {
    exception: 'wrong-expected-version',
    'stream-name': stream,
    'expected-version': String(expected),
    ...(current === -1 ? {} : { 'actual-version': String(current) }),
  });

export const appendTooLarge = (appendBytesMax: number): RpcError =>
  rpcError(status.INVALID_ARGUMENT, `Maximum Append Size of ${appendBytesMax} Exceeded.`, {
    exception: 'maximum-append-size-exceeded',
    'maximum-append-size': String(appendBytesMax),
  });

export const metadataPropertyMissing = (): RpcError =>
  rpcError(status.INVALID_ARGUMENT, 'Required Metadata Property is missing', {
    exception: 'missing-required-metadata-property',
    'required-metadata-properties': 'type,content-type',
  });

function rpcError(code: status, details: string, trailers: Readonly<Record<string, string>> = {}): RpcError {
  const metadata = new Metadata();
  for (const [key, value] of Object.entries(trailers)) metadata.set(key, value);
  return { code, details, metadata, name: 'RpcError', message: details };
}
