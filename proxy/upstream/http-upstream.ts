import { Readable } from 'node:stream';
import { type Dispatcher, errors, Pool } from 'undici';
import type { ProviderConfiguration } from '../../contracts/configuration.ts';
import type { AccountId } from '../../contracts/ids.ts';
import { LIMITS } from '../../contracts/limits.ts';
import { shortageOf } from '../../contracts/shortage.ts';
import { ConnectionTurns } from './connection-turns.ts';
import { DecodedAnswer, decodable, type EncodingFaults } from './decoded-answer.ts';
import {
  ABORTED,
  HEADER_CHARS_MAX,
  REQUEST_ID_CHARS_MAX,
  type Upstream,
  type UpstreamCall,
  type UpstreamControl,
  type UpstreamError,
  type UpstreamHeaders,
  type UpstreamReceiver,
} from './upstream.ts';
import { upstreamConnector } from './upstream-connector.ts';
import { UpstreamWords } from './upstream-words.ts';

/** Past it a count is estimated: whoever waits there has no connection within its time. */
const COUNTS_WAITING_MAX = 1_024;

/**
 * A provider over HTTP, with pooled keep-alive connections: some for messages, and others for counts, which cost nothing
 * and must never be in a message's way. undici's `dispatch` with a raw handler is the cheapest way
 * there is: no streams, no header objects of ours, chunks as the socket gave them.
 */
export class HttpUpstream implements Upstream {
  readonly name: string;
  readonly onClientDisconnect: 'drain' | 'cancel';
  readonly countsTokens: boolean;
  readonly keepsThreads = true;
  readonly totalMs: number;
  readonly words: UpstreamWords;
  readonly #provider: ProviderConfiguration;
  readonly #faults: EncodingFaults = { areKnown: false };
  readonly #messages: PooledConnections;
  readonly #counts: PooledConnections;
  readonly #basePath: string;

  constructor(name: string, provider: ProviderConfiguration) {
    const { origin, pathname } = new URL(provider.baseUrl);
    this.name = name;
    this.onClientDisconnect = provider.onClientDisconnect;
    this.countsTokens = provider.countTokens;
    this.totalMs = provider.totalMs;
    this.words = new UpstreamWords(provider.apiKey);
    this.#provider = provider;
    this.#basePath = pathname.replace(/\/+$/, '');
    this.#messages = new PooledConnections(origin, { ...provider, waitingMax: LIMITS.requestsInFlightMax });
    this.#counts = new PooledConnections(origin, {
      ...provider,
      connections: provider.countConnections,
      waitingMax: COUNTS_WAITING_MAX,
      firstByteMs: Math.min(provider.firstByteMs, LIMITS.countTokensMs),
      idleMs: Math.min(provider.idleMs, LIMITS.countTokensMs),
    });
  }

  get waiting(): number {
    return this.#messages.waiting + this.#counts.waiting;
  }

  send(call: UpstreamCall, receiver: UpstreamReceiver): () => void {
    const connections = call.path === '/v1/messages' ? this.#messages : this.#counts;
    const leave = connections.send(
      call.owner.accountId,
      { path: this.#basePath + call.path, method: 'POST', headers: this.#headers(call), body: bodyOf(call) },
      (onOver) =>
        new DispatchReceiver({
          receiver,
          words: this.words,
          faults: this.#faults,
          firstByteMs: connections.firstByteMs,
          onOver,
        }),
    );
    if (leave !== null) return leave;
    setImmediate(() =>
      receiver.onError({ kind: 'unreached', message: 'too many calls wait for a connection to the provider' }),
    );
    return () => undefined;
  }

  async close(): Promise<void> {
    await Promise.all([this.#messages.close(), this.#counts.close()]);
  }

  #headers({ version, beta, body, trace }: UpstreamCall): string[] {
    const { auth, apiKey } = this.#provider;
    const headers = ['content-type', 'application/json', 'accept-encoding', 'identity'];
    // Of several pieces undici does not know how long they are together.
    if (body.pieces.length > 1) headers.push('content-length', String(body.length));
    if (auth === 'bearer') headers.push('authorization', `Bearer ${apiKey}`);
    else headers.push('x-api-key', apiKey);
    headers.push('anthropic-version', version ?? this.#provider.version);
    if (beta !== null) headers.push('anthropic-beta', beta);
    if (trace === null) return headers;
    headers.push('traceparent', trace.traceparent);
    if (trace.tracestate !== null) headers.push('tracestate', trace.tracestate);
    return headers;
  }
}

/** Several pieces are written one after another, as the connection takes them. */
function bodyOf({ body: { pieces } }: UpstreamCall): Buffer | Readable {
  const [first] = pieces;
  return pieces.length === 1 && first !== undefined ? first : Readable.from(pieces);
}

interface DispatchReceiverParts {
  readonly receiver: UpstreamReceiver;
  readonly words: UpstreamWords;
  /** Of the provider. */
  readonly faults: EncodingFaults;
  readonly firstByteMs: number;
  /** Called once the receiver has been told of the end: what waits has its turn before what that begins. */
  readonly onOver: () => void;
}

class DispatchReceiver implements Dispatcher.DispatchHandler {
  readonly #receiver: UpstreamReceiver;
  readonly #words: UpstreamWords;
  readonly #faults: EncodingFaults;
  readonly #firstByteMs: number;
  readonly #onOver: () => void;
  #started = false;
  #startedMs = 0;
  /** Of a call whose answer is announced. */
  #timer: NodeJS.Timeout | null = null;
  /** Of an answer that came encoded. */
  #decoded: DecodedAnswer | null = null;

  constructor({ receiver, words, faults, firstByteMs, onOver }: DispatchReceiverParts) {
    this.#receiver = receiver;
    this.#words = words;
    this.#faults = faults;
    this.#firstByteMs = firstByteMs;
    this.#onOver = onOver;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#started = true;
    this.#startedMs = performance.now();
    const call = controlOf(controller);
    // What decodes an answer goes on when all of it has come, and is held back or ended by itself.
    const asked = (): UpstreamControl => this.#decoded ?? call;
    this.#receiver.onStart({
      pause: () => asked().pause(),
      resume: () => asked().resume(),
      abort: () => asked().abort(),
    });
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    // An informational answer announces another; only the last head counts.
    if (status < 200) {
      this.#boundAnnounced(controller);
      return;
    }
    this.#stopTimer();
    const read = readHeaders(headers, this.#words);
    const encoding = decodable(read.contentEncoding);
    if (encoding !== null)
      this.#decoded = new DecodedAnswer(encoding, this.#receiver, controlOf(controller), this.#faults);
    const decoded = encoding === null ? read : { ...read, contentEncoding: null, contentLength: null };
    this.#receiver.onHead(status, decoded);
  }

  /** undici's own time for a head begins anew with each of them: so its answer must begin by the time that a silent one has. */
  #boundAnnounced(controller: Dispatcher.DispatchController): void {
    if (this.#timer !== null) return;
    const leftMs = this.#startedMs + this.#firstByteMs - performance.now();
    this.#timer = setTimeout(() => controller.abort(new errors.HeadersTimeoutError()), Math.max(0, leftMs));
  }

  #stopTimer(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#decoded === null) this.#receiver.onData(chunk);
    else this.#decoded.push(chunk);
  }

  onResponseEnd(): void {
    try {
      if (this.#decoded === null) this.#receiver.onEnd();
      else this.#decoded.end();
    } finally {
      this.#onOver();
    }
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#stopTimer();
    try {
      const failed = this.#classify(error);
      if (this.#decoded === null) this.#receiver.onError(failed);
      else this.#decoded.fail(failed);
    } finally {
      this.#onOver();
    }
  }

  #classify(error: Error): UpstreamError {
    const message = this.#words.clean(error.message, HEADER_CHARS_MAX);
    if (error instanceof Aborted) return { kind: 'aborted', message };
    if (!this.#started && shortageOf(error) === 'descriptors') return { kind: 'descriptors', message };
    if (!this.#started || error instanceof errors.ConnectTimeoutError) return { kind: 'unreached', message };
    if (error instanceof errors.HeadersTimeoutError || error instanceof errors.BodyTimeoutError)
      return { kind: 'timeout', message };
    return { kind: 'reset', message };
  }
}

class Aborted extends Error {
  override readonly name = 'Aborted';
}

const controlOf = (controller: Dispatcher.DispatchController): UpstreamControl => ({
  pause: () => controller.pause(),
  resume: () => controller.resume(),
  abort: () => controller.abort(new Aborted(ABORTED.message)),
});

function readHeaders(headers: Record<string, string | string[] | undefined>, words: UpstreamWords): UpstreamHeaders {
  const one = (name: string): string | null => {
    const value = headers[name];
    return (Array.isArray(value) ? value[0] : value) ?? null;
  };
  const clean = (text: string | null, charsMax: number): string | null =>
    text === null ? null : words.clean(text, charsMax);
  return {
    contentType: clean(one('content-type'), HEADER_CHARS_MAX) ?? '',
    contentLength: wholeNumber(one('content-length')),
    contentEncoding: clean(encodingOf(headers['content-encoding']), HEADER_CHARS_MAX),
    requestId: clean(one('request-id') ?? one('x-request-id'), REQUEST_ID_CHARS_MAX),
    retryAfterS: wholeNumber(one('retry-after')),
  };
}

/** By all of its lines (RFC 9110, 8.4), without those that change nothing; `none` is some servers' word for that. */
function encodingOf(value: string | string[] | undefined): string | null {
  if (value === undefined) return null;
  const codings = [value]
    .flat()
    .flatMap((line) => line.split(','))
    .map((coding) => coding.trim().toLowerCase());
  const changing = codings.filter((coding) => !['', 'identity', 'none'].includes(coding));
  return changing.length === 0 ? null : changing.join(', ');
}

const wholeNumber = (text: string | null): number | null =>
  text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;

interface PooledConnectionsOptions {
  readonly connections: number;
  /** Of them, the most that calls of one account may have at once, in percent. */
  readonly accountPercent: number;
  readonly waitingMax: number;
  readonly connectMs: number;
  readonly firstByteMs: number;
  readonly idleMs: number;
}

/** Keep-alive connections to one provider, and the queue for them: undici's own knows no accounts, and nobody leaves it. */
class PooledConnections {
  readonly firstByteMs: number;
  readonly #pool: Pool;
  readonly #turns: ConnectionTurns;

  constructor(origin: string, options: PooledConnectionsOptions) {
    const { connections, accountPercent, waitingMax } = options;
    const ofOneMax = Math.max(1, Math.floor((connections * accountPercent) / 100));
    this.#turns = new ConnectionTurns({ connections, ofOneMax, waitingMax });
    this.firstByteMs = options.firstByteMs;
    this.#pool = new Pool(origin, {
      connections,
      // One request at a time on a connection: a slow answer must not stand before another.
      pipelining: 1,
      allowH2: false,
      connect: upstreamConnector({ timeout: options.connectMs, allowH2: false }),
      headersTimeout: options.firstByteMs,
      bodyTimeout: options.idleMs,
    });
  }

  get waiting(): number {
    return this.#turns.waiting;
  }

  /**
   * Sends when there is a connection for the account. Returns how to take back what has not been sent; null where too many
   * wait.
   *
   * @param handlerOf makes what is told of the call, and tells itself when the call is over
   */
  send(
    of: AccountId,
    options: Dispatcher.DispatchOptions,
    handlerOf: (onOver: () => void) => Dispatcher.DispatchHandler,
  ): (() => void) | null {
    return this.#turns.take(of, (end) => {
      this.#pool.dispatch(options, handlerOf(end));
    });
  }

  async close(): Promise<void> {
    await this.#pool.destroy();
  }
}
