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
import { endOfTornLine, lastBytes, NOTHING_SENT } from './torn-line.ts';

/** Sent once, in small letters, with parameters or without: of another spelling SDKs make a string, or an error. */
const JSON_FOR_SDKS = /^application\/json\s*(;[^,]*)?$/;

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
  /** Its bytes go out in chunks of HTTP, which are made here. */
  #isChunked = false;
  #last = NOTHING_SENT;

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
   * a stream is not announced: an error event may have to follow. One that came without a type, or a Message under another than
   * JSON's, goes out with the type that it was read as: SDKs go by it.
   */
  begin({ contentType, contentLength }: UpstreamHeaders, isStream: boolean): void {
    this.#hasBegun = true;
    this.#isStream = isStream;
    this.#isLengthKnown = contentLength !== null && !isStream;
    const isRead = isStream ? contentType.trim() !== '' : JSON_FOR_SDKS.test(contentType);
    const type = isRead ? contentType : isStream ? EVENT_STREAM_TYPE : JSON_TYPE;
    const headers = ['content-type', type, ...this.#ownHeaders()];
    if (isStream) headers.push(...UNBUFFERED);
    if (this.#isLengthKnown) headers.push('content-length', String(contentLength));
    this.#response.writeHead(200, headers);
    this.#isChunked = takeOverChunks(this.#response);
    // A head without a first piece in the same turn must not wait for it. What is no stream is all there.
    if (isStream)
      process.nextTick(() => {
        if (!this.#response.destroyed) this.#response.flushHeaders();
      });
  }

  /**
   * Returns false when the client reads slower than we write; `onceDrained` tells when it has caught up.
   *
   * @param isLast nothing follows but `end`, which goes with it where the answer's length is known
   */
  write(bytes: Buffer, isLast = false): boolean {
    if (isLast && this.#isLengthKnown) {
      this.#response.end(bytes);
      return true;
    }
    this.#last = lastBytes(bytes, this.#last);
    if (!this.#isChunked || bytes.length === 0) return this.#response.write(bytes);
    if (bytes.length <= COPIED_BYTES_MAX) return this.#response.write(chunkOf(bytes));
    // They go out together: what is written in one turn does.
    this.#response.write(sizeLine(bytes.length));
    this.#response.write(bytes);
    return this.#response.write(LINE_END);
  }

  onceDrained(listener: () => void): void {
    this.#response.once('drain', listener);
  }

  end(): void {
    if (!this.#response.writableEnded) this.#response.end(this.#isChunked ? LAST_CHUNK : undefined);
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
   * event, then the connection is cut. A clean end would be taken for a complete answer by clients that only read on. What
   * there is of an unfinished event becomes part of the error's: its name stands last, and SDKs go by that.
   */
  cut(message: string): void {
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
    const event = Buffer.concat([endOfTornLine(this.#last), Buffer.from(`event: error\ndata: ${envelope}\n\n`)]);
    this.#response.write(this.#isChunked ? chunkOf(event) : event, () => this.#response.destroy());
  }

  #noteCode(code: ErrorCode): void {
    const { observed } = this.#request;
    if (observed !== null) observed.code = code;
  }

  #ownHeaders(): string[] {
    const { deprecation } = this.#request;
    const headers = ['request-id', this.#requestId, ...this.#request.rateLimitHeaders()];
    if (deprecation !== null) headers.push('x-svc-deprecation', deprecation);
    return headers;
  }
}

/**
 * Where Node would send an answer in chunks (RFC 9112, 7.1), they are made here from now on: one buffer and one write for what
 * Node writes in four parts, each time anew, for each event of a stream.
 */
function takeOverChunks(response: ServerResponse): boolean {
  const isChunked = response.chunkedEncoding;
  response.chunkedEncoding = false;
  return isChunked;
}

/** What is longer is not copied: it would not fit what Node keeps for short buffers, and memory of its own costs more than parts. */
const COPIED_BYTES_MAX = 1_024;
const LINE_END = Buffer.from('\r\n');
const LAST_CHUNK = Buffer.from('0\r\n\r\n');

const sizeLine = (bytes: number): string => `${bytes.toString(16)}\r\n`;

function chunkOf(bytes: Buffer): Buffer {
  const line = sizeLine(bytes.length);
  const chunk = Buffer.allocUnsafe(line.length + bytes.length + LINE_END.length);
  chunk.write(line, 'latin1');
  bytes.copy(chunk, line.length);
  LINE_END.copy(chunk, chunk.length - LINE_END.length);
  return chunk;
}
