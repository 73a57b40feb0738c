import type { ServerResponse } from 'node:http';
import {
  ERROR_TABLE,
  type ErrorCode,
  errorEnvelope,
  type Refusal,
  refusal,
  retryHeaders,
} from '../../contracts/errors.ts';
import type { RequestId } from '../../contracts/ids.ts';
import { EVENT_STREAM_TYPE, JSON_TYPE } from '../../contracts/media-types.ts';
import type { UpstreamHeaders } from '../upstream/upstream.ts';
import type { ForwardedRequest } from './forwarded-request.ts';

/** A proxy in front of the gateway would otherwise keep a stream's events until it has a buffer full. */
const UNBUFFERED = ['cache-control', 'no-cache', 'x-accel-buffering', 'no'];

/** What an answer's head says of its request. */
type AnsweredRequest = Pick<ForwardedRequest, 'deprecation' | 'rateLimitHeaders' | 'observed'>;

/** The client's end: writes bytes as given, tells of back-pressure; destroyed, never ended, when it broke off. */
export class ClientAnswer {
  readonly #response: ServerResponse;
  readonly #requestId: RequestId;
  readonly #request: AnsweredRequest;
  #hasBegun = false;
  #isStream = false;
  #isLengthKnown = false;

  constructor(response: ServerResponse, requestId: RequestId, request: AnsweredRequest) {
    this.#response = response;
    this.#requestId = requestId;
    this.#request = request;
  }

  /** The client knows from the bytes alone where the answer ends: nothing is left to say at the end. */
  get isLengthKnown(): boolean {
    return this.#isLengthKnown;
  }

  /**
   * The answer's own headers are an allow-list; the upstream's credentials, limits and cookies never pass. The length of
   * a stream is not announced: an error event may have to follow. One that came without a type goes out with the type that it was
   * read as: SDKs go by it.
   */
  begin({ contentType, contentLength }: UpstreamHeaders, isStream: boolean): void {
    this.#hasBegun = true;
    this.#isStream = isStream;
    this.#isLengthKnown = contentLength !== null && !isStream;
    const type = contentType.trim() === '' ? (isStream ? EVENT_STREAM_TYPE : JSON_TYPE) : contentType;
    const headers = ['content-type', type, ...this.#ownHeaders()];
    if (isStream) headers.push(...UNBUFFERED);
    if (this.#isLengthKnown) headers.push('content-length', String(contentLength));
    this.#response.writeHead(200, headers);
    // A head without a first piece in the same turn must not wait for it.
    process.nextTick(() => {
      if (!this.#response.destroyed) this.#response.flushHeaders();
    });
  }

  /** Returns false when the client reads slower than we write; `onceDrained` tells when it has caught up. */
  write(chunk: Buffer): boolean {
    return this.#response.write(chunk);
  }

  onceDrained(listener: () => void): void {
    this.#response.once('drain', listener);
  }

  end(): void {
    this.#response.end();
  }

  /** The client is taken for one that has left. */
  drop(): void {
    this.#response.destroy();
  }

  refuse(refused: Refusal): void {
    this.#noteCode(refused.code);
    const body = JSON.stringify(errorEnvelope(refused.code, refused.message, this.#requestId));
    const headers = ['content-type', JSON_TYPE, ...this.#ownHeaders()];
    headers.push(...Object.entries(retryHeaders(refused)).flat());
    headers.push('content-length', String(Buffer.byteLength(body)));
    this.#response.writeHead(ERROR_TABLE[refused.code].status, headers);
    this.#response.end(body);
  }

  /**
   * Ends an answer that broke off: one that has not begun is an error of ours; a stream gets the protocol's `error`
   * event, then the connection is cut. A clean end would be taken for a complete answer by clients that only read on.
   */
  cut(message: string, isAtEventBoundary: boolean): void {
    if (!this.#hasBegun) {
      this.refuse(refusal('upstream_failed', message));
      return;
    }
    this.#noteCode('upstream_failed');
    if (!this.#isStream || this.#response.destroyed) {
      this.#response.destroy();
      return;
    }
    const envelope = JSON.stringify(errorEnvelope('upstream_failed', message, this.#requestId));
    const event = `${isAtEventBoundary ? '' : '\n\n'}event: error\ndata: ${envelope}\n\n`;
    this.#response.write(event, () => this.#response.destroy());
  }

  #noteCode(code: ErrorCode): void {
    const { observed } = this.#request;
    if (observed !== null) observed.code = code;
  }

  #ownHeaders(): string[] {
    const { deprecation, rateLimitHeaders } = this.#request;
    const headers = ['request-id', this.#requestId, ...rateLimitHeaders()];
    if (deprecation !== null) headers.push('x-svc-deprecation', deprecation);
    return headers;
  }
}
