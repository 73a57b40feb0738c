import type { FastifyRequest } from 'fastify';
import type { ErrorCode } from '../../contracts/errors.ts';
import type { PicoUsd } from '../../contracts/money.ts';
import type { Ending } from '../../ledger/settlement/request-record.ts';
import type { KeyOwner } from '../../projections/key-index.ts';
import type { TraceContext } from './trace-context.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Null where nobody observes requests, and for one that was refused before any hook ran. */
    observed: ObservedRequest | null;
  }
}

/**
 * What is noted of one request on its way, for whoever observes requests. Whoever knows something writes it here, and the
 * request's one end reads it (request-observer.ts), of some a little later: it holds nothing of the request that is large. Times are by
 * the clock that nobody sets; 0 is "not yet".
 */
export class ObservedRequest {
  requestId: string;
  readonly method: string;
  /** As it is configured; undefined where there is none. */
  readonly route: string | undefined;
  readonly arrivedMs: number;
  /** Null where nothing is traced. */
  readonly spans: RequestSpans | null;
  /** Whose key it came with; null where that is nobody's. */
  owner: KeyOwner | null = null;
  /** Of the catalog: never a name that only the caller knows. */
  model: string | null = null;
  /** The provider that was called last. */
  upstream: string | null = null;
  /** Of the refusal that it was answered with, or of the error that its answer was cut with. */
  code: ErrorCode | null = null;
  /** Once it is accounted for; null where it cost nothing because no upstream saw it. */
  ending: Ending | null = null;
  /** What it costs its account, but for what the account's carry makes of it. */
  cost: PicoUsd | null = null;
  /** Its body had come, and it had its turn. */
  readMs = 0;
  /** How long it waited for credits that were being bought. */
  reloadWaitMs = 0;
  /** An upstream had the request: the first that did. */
  calledMs = 0;
  /** The upstream's last bytes before the client's first ones went out. */
  answeredMs = 0;
  /** The first byte of the answer's body went to the client. */
  firstByteMs = 0;

  constructor(
    { id, method, routeOptions }: Pick<FastifyRequest, 'id' | 'method' | 'routeOptions'>,
    arrivedMs: number,
    spans: RequestSpans | null,
  ) {
    this.requestId = id;
    this.method = method;
    this.route = routeOptions.url;
    this.arrivedMs = arrivedMs;
    this.spans = spans;
  }

  /**
   * What the gateway has added to its first byte: from its body until an upstream had it, waits for credit, a count or a
   * connection included, and from the upstream's bytes to the client's. Null before that byte.
   */
  get overheadMs(): number | null {
    return this.firstByteMs === 0 ? null : this.calledMs - this.readMs + this.firstByteMs - this.answeredMs;
  }
}

/** The spans of one request: its own, and one of each call of an upstream, one after another. */
export interface RequestSpans {
  /** A call begins; what it is to be sent with. */
  call(upstream: string, model: string): TraceContext;
  /** Why the call that is under way has failed: a status, or what became of its connection. */
  callFailed(why: string): void;
  callEnded(): void;
  /** The request has ended, and with it what was under way. */
  ended(observed: ObservedRequest, status: number): void;
}
