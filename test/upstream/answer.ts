import type { OutgoingHttpHeaders } from 'node:http';

/**
 * How the upstream answers one request: steps, played in order. An answer that runs out of steps without saying how it
 * ends is completed, as a provider would.
 *
 *   head ─▶ write ─▶ wait ─▶ write ─▶ end          a stream with a gate in it
 *   reset                                          the connection is reset before the head
 *   head ─▶ write ─▶ silence                       the upstream stops in the middle and says nothing more
 */
export type Step =
  /** Status and headers. They leave with the first write, or at once with `flush`. */
  | { readonly type: 'head'; readonly status: number; readonly headers: OutgoingHttpHeaders; readonly flush: boolean }
  /** One write of the body; in a chunked answer exactly one HTTP chunk. The next step waits until the kernel has it. */
  | { readonly type: 'write'; readonly bytes: Uint8Array }
  /** Bytes for the socket as they are, past the HTTP framing: broken framing, heads that no library would write. */
  | { readonly type: 'raw'; readonly bytes: Uint8Array }
  /** A gate: the test resolves the promise, so that no test needs to sleep. */
  | { readonly type: 'wait'; readonly until: Promise<unknown> }
  | { readonly type: 'delay'; readonly ms: number }
  /** The answer is complete. */
  | { readonly type: 'end' }
  /** The connection is reset (TCP RST). */
  | { readonly type: 'reset' }
  /** The connection is closed (TCP FIN) with the answer incomplete. */
  | { readonly type: 'hangUp' }
  /** Nothing more is sent; the connection stays open until the client leaves or the upstream is closed. */
  | { readonly type: 'silence' };

export type Answer = readonly Step[];

const STREAM_HEADERS = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' };

export const head = (status = 200, headers: OutgoingHttpHeaders = STREAM_HEADERS): Step => ({
  type: 'head',
  status,
  headers,
  flush: true,
});
export const write = (bytes: Uint8Array | string): Step => ({ type: 'write', bytes: bytesOf(bytes) });
export const raw = (bytes: Uint8Array | string): Step => ({ type: 'raw', bytes: bytesOf(bytes) });
export const wait = (until: Promise<unknown>): Step => ({ type: 'wait', until });
export const delay = (ms: number): Step => ({ type: 'delay', ms });
export const end: Step = { type: 'end' };
export const reset: Step = { type: 'reset' };
export const hangUp: Step = { type: 'hangUp' };
export const silence: Step = { type: 'silence' };

/** A JSON answer with its length, in one write. */
export function json(body: unknown, options: { status?: number; headers?: OutgoingHttpHeaders } = {}): Answer {
  const bytes = bytesOf(typeof body === 'string' ? body : JSON.stringify(body));
  const headers = { 'content-type': 'application/json', 'content-length': bytes.length, ...options.headers };
  return [{ type: 'head', status: options.status ?? 200, headers, flush: false }, write(bytes), end];
}

/** An event stream of exactly these chunks, one HTTP chunk each. */
export function stream(chunks: Iterable<Uint8Array | string>, headers: OutgoingHttpHeaders = {}): Answer {
  return [head(200, { ...STREAM_HEADERS, ...headers }), ...[...chunks].map(write), end];
}

/** An error status with the protocol's envelope, or with a body of its own. */
export function failure(
  status: number,
  body: unknown = { type: 'error', error: { type: errorTypeOf(status), message: `the upstream says ${status}` } },
  headers: OutgoingHttpHeaders = {},
): Answer {
  return json(body, { status, headers });
}

export const countTokens = (inputTokens: number): Answer => json({ input_tokens: inputTokens });

/** What the protocol calls the errors of these statuses. */
function errorTypeOf(status: number): string {
  const types: Readonly<Record<number, string>> = {
    400: 'invalid_request_error',
    401: 'authentication_error',
    403: 'permission_error',
    404: 'not_found_error',
    413: 'request_too_large',
    429: 'rate_limit_error',
    529: 'overloaded_error',
  };
  return types[status] ?? 'api_error';
}

const bytesOf = (bytes: Uint8Array | string): Uint8Array => (typeof bytes === 'string' ? Buffer.from(bytes) : bytes);
