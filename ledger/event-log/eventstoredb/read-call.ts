import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import type { ClientReadableStream } from '@grpc/grpc-js';
import type { CallOptions, Connection } from './connection.ts';
import { decodeReadResponse, type ReadResponse } from './decode-read-response.ts';
import { EVENTSTOREDB_LIMITS } from './limits.ts';
import { READ, type ReadRequest } from './streams-wire.ts';

type Stream = ClientReadableStream<ReadResponse>;

/** What `take` found: what has come since, the end, or nothing in the time given. */
export type ReadOutcome = readonly ReadResponse[] | 'ended' | 'silence';

/**
 * One Read call, pulled. It reads ahead of who takes, because servers before 24.2 drop a subscriber that lags. What has come
 * and was not taken is bounded: the call is paused at the bound, its HTTP/2 window fills, and the server waits.
 */
export class ReadCall {
  #responses: ReadResponse[] = [];
  #bytes = 0;
  #stream: Stream | null = null;
  #end: { readonly error: unknown } | null = null;
  #isCancelled = false;
  #fault: Error | null = null;
  #wake: (() => void) | null = null;

  constructor(connection: Connection, request: ReadRequest, options: Omit<CallOptions, 'deadlineMs'>) {
    connection
      .call({ ...options, deadlineMs: null }, (grpc, args) =>
        this.#run(grpc.makeServerStreamRequest(READ, bytesOfRequest, decodeReadResponse, request, ...args)),
      )
      .then(
        () => this.#ended(null),
        (error: unknown) => this.#ended(error),
      );
  }

  /** What is at hand, waiting so long for the first piece. @throws what broke the call, after what came before it */
  async take(timeMs: number): Promise<ReadOutcome> {
    if (this.#responses.length === 0 && this.#end === null) await this.#firstPiece(timeMs);
    await this.#gather();
    if (this.#responses.length > 0) {
      const responses = this.#responses.splice(0, EVENTSTOREDB_LIMITS.batchEventsMax);
      for (const response of responses) this.#bytes -= bytesOf(response);
      this.#stream?.resume();
      return responses;
    }
    if (this.#end === null) return 'silence';
    if (this.#end.error !== null) throw this.#end.error;
    return 'ended';
  }

  /** Frees the call; whoever waits is told that it has ended. A fault is one that the server's silence shows. */
  cancel(fault: Error | null = null): void {
    if (this.#isCancelled) return;
    this.#isCancelled = true;
    this.#fault = fault;
    this.#responses = [];
    // A call that is paused would never come to its end.
    this.#stream?.resume();
    this.#stream?.cancel();
    this.#ended(null);
  }

  async #run(stream: Stream): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#stream = stream;
    stream.on('error', (error: Error) => (this.#isCancelled ? resolve() : reject(error)));
    stream.on('end', resolve);
    stream.on('data', (response: ReadResponse) => this.#received(stream, response));
    if (this.#isCancelled) stream.cancel();
    await promise;
    // The connection is told, for it may be the client's.
    if (this.#fault !== null) throw this.#fault;
  }

  #received(stream: Stream, response: ReadResponse): void {
    if (this.#isCancelled) return;
    this.#responses.push(response);
    this.#bytes += bytesOf(response);
    const { bufferedEventsMax, bufferedBytesMax } = EVENTSTOREDB_LIMITS;
    if (this.#responses.length >= bufferedEventsMax || this.#bytes >= bufferedBytesMax) stream.pause();
    this.#wake?.();
  }

  #ended(error: unknown): void {
    this.#end ??= { error };
    this.#wake?.();
  }

  /** The client hands over one event at a time; those that have come together are taken together. */
  async #gather(): Promise<void> {
    for (let turns = 0; turns < EVENTSTOREDB_LIMITS.gatherTurnsMax; turns++) {
      const before = this.#responses.length;
      if (before === 0 || before >= EVENTSTOREDB_LIMITS.batchEventsMax || this.#stream?.isPaused()) return;
      await turnOfTheLoop();
      if (this.#responses.length === before) return;
    }
  }

  async #firstPiece(timeMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    const timer = setTimeout(resolve, timeMs);
    await promise;
    clearTimeout(timer);
    this.#wake = null;
  }
}

const bytesOfRequest = (request: ReadRequest): Buffer => Buffer.from(request.serializeBinary());

const bytesOf = ({ event }: ReadResponse): number => (event === null ? 0 : event.data.length + event.metadata.length);
