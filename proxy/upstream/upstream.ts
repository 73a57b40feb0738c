import type { TraceContext } from '../observation/trace-context.ts';
import type { BodyOwner } from '../request-body/body-owner.ts';
import type { RequestBytes } from '../request-body/request-bytes.ts';
import type { UpstreamWords } from './upstream-words.ts';

/** One way to reach a provider that speaks the Messages protocol. A port of the forwarder, implemented over HTTP and by the mock. */
export interface Upstream {
  readonly name: string;
  /** What happens to a call whose client leaves. */
  readonly onClientDisconnect: 'drain' | 'cancel';
  /** Whether `count_tokens` is answered. */
  readonly countsTokens: boolean;
  /** Whether message threads reach a provider that may keep them. */
  readonly keepsThreads: boolean;
  /** The most milliseconds that one call may take. */
  readonly totalMs: number;
  /** Makes fit for events, logs and errors what it says. The strings of its heads and errors are. */
  readonly words: UpstreamWords;
  /** Calls that wait for a connection. */
  readonly waiting: number;
  /**
   * Starts a call, or lets it wait for a connection. `onStart` may come before `send` returns, all else later. Returns how
   * to take back a call that still waits: nothing is told of it any more. One that has started goes on.
   */
  send(call: UpstreamCall, receiver: UpstreamReceiver): () => void;
  close(): Promise<void>;
}

export interface UpstreamCall {
  readonly path: '/v1/messages' | '/v1/messages/count_tokens';
  readonly body: RequestBytes;
  /** Whose it is: where connections are scarce, accounts take turns. */
  readonly owner: BodyOwner;
  /** As the client sent them; null where it did not. */
  readonly version: string | null;
  readonly beta: string | null;
  /** Of the call; null where it is part of none that is known. */
  readonly trace: TraceContext | null;
}

/** Told of one call: start, then head, then data, then end; or an error at any point. Nothing follows end or error. */
export interface UpstreamReceiver {
  /** The upstream may have seen the request from here on. */
  onStart(control: UpstreamControl): void;
  onHead(status: number, headers: UpstreamHeaders): void;
  /** So many bytes have come that are decoded first. What they decode to, if anything, is told as data. */
  onEncoded(bytes: number): void;
  onData(chunk: Buffer): void;
  onEnd(): void;
  onError(error: UpstreamError): void;
}

/** What the forwarder needs to know of an answer's headers. */
export interface UpstreamHeaders {
  readonly contentType: string;
  /** Null where the length is not announced. */
  readonly contentLength: number | null;
  /** In small letters; null where the bytes are as they are. */
  readonly contentEncoding: string | null;
  /** The upstream's own id of the request. */
  readonly requestId: string | null;
  readonly retryAfterS: number | null;
}

/** It was asked for unencoded: only what can be read can be metered, or looked through. */
export const isEncoded = ({ contentEncoding }: UpstreamHeaders): boolean => contentEncoding !== null;

export interface UpstreamControl {
  pause(): void;
  resume(): void;
  /** Ends the call; `onError` with `aborted` follows. */
  abort(): void;
}

/** Of an upstream's own id of a request: journal and ledger keep it, so its length is not the upstream's to choose. */
export const REQUEST_ID_CHARS_MAX = 200;
/** Of the other strings that a head or an error brings. */
export const HEADER_CHARS_MAX = 200;

export type UpstreamErrorKind =
  /** No connection was made: the upstream has not seen the request. */
  | 'unreached'
  /** Nor here: the gateway's own process has no descriptor left for one. */
  | 'descriptors'
  /** No answer began, or its next piece did not come, within the time. */
  | 'timeout'
  /** The call was not over within its total time. */
  | 'overdue'
  | 'reset'
  /** What came is not encoded as it says, or is too much once it is decoded. */
  | 'unreadable'
  | 'aborted';

/** The gateway's own limits have ended the call. */
export const isOverTime = (kind: UpstreamErrorKind): boolean => kind === 'timeout' || kind === 'overdue';

export interface UpstreamError {
  readonly kind: UpstreamErrorKind;
  readonly message: string;
}

/** What `abort` of a control has told. */
export const ABORTED: UpstreamError = { kind: 'aborted', message: 'the gateway ended the call' };
