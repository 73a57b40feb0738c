import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';

interface Write {
  /** The upstream's clock (performance.now), just before the write. */
  readonly atMs: number;
  readonly bytes: number;
}

/** What the upstream saw of one request. All times are of its own clock, performance.now. */
export interface SeenRequest {
  /** Counted from 0 in order of arrival. */
  readonly index: number;
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** Names and values in turn, spelled as they came. */
  readonly rawHeaders: readonly string[];
  /** The body's bytes as they came. */
  readonly body: Buffer;
  /** When the head was there. */
  readonly arrivedMs: number;
  /** When the last byte of the body was there. */
  readonly readMs: number;
  /** Each write of the answer's body, in order. */
  readonly writes: readonly Write[];
  /** When the last step was played; null while the answer is under way and when the client left before. */
  readonly endedMs: number | null;
  /** When the client closed the connection with the answer incomplete; null when it did not. */
  readonly leftMs: number | null;
  /** Resolves when the answer is over: played to its end, or left by the client. */
  readonly over: Promise<void>;
}

/** The same while it is written to; tests see only `SeenRequest`. */
export interface Recording {
  readonly seen: SeenRequest;
  /** Aborts when the client leaves or the upstream is closed: no step waits longer. */
  readonly gone: AbortSignal;
  readonly whenGone: Promise<void>;
  wrote(bytes: number): void;
  ended(): void;
}

/** Reads a request to its end and watches its connection. @throws Error when the client leaves before the body's end. */
export async function recordRequest(
  request: IncomingMessage,
  response: ServerResponse,
  index: number,
): Promise<Recording> {
  const arrivedMs = performance.now();
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const writes: Write[] = [];
  const over = Promise.withResolvers<void>();
  const leaving = new AbortController();
  const left = Promise.withResolvers<void>();
  let endedMs: number | null = null;
  let leftMs: number | null = null;
  const seen: SeenRequest = {
    index,
    method: request.method ?? '',
    path: request.url ?? '',
    headers: request.headers,
    rawHeaders: request.rawHeaders,
    body: Buffer.concat(chunks),
    arrivedMs,
    readMs: performance.now(),
    writes,
    get endedMs() {
      return endedMs;
    },
    get leftMs() {
      return leftMs;
    },
    over: over.promise,
  };
  response.once('close', () => {
    if (endedMs === null) leftMs = performance.now();
    leaving.abort();
    left.resolve();
    over.resolve();
  });
  return {
    seen,
    gone: leaving.signal,
    whenGone: left.promise,
    wrote: (bytes) => writes.push({ atMs: performance.now(), bytes }),
    ended: () => {
      // A client that has left did not get the end.
      if (leftMs === null) endedMs ??= performance.now();
      over.resolve();
    },
  };
}
