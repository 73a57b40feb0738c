import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ERROR_TABLE } from '../../contracts/errors.ts';
import type { RequestId } from '../../contracts/ids.ts';
import type { RequestCounts } from '../request-counts.ts';
import type { AccessLog } from './access-log.ts';
import { ObservedRequest } from './observed-request.ts';
import type { RequestFigures } from './request-figures.ts';
import type { Tracing } from './tracing.ts';

interface ObserverParts {
  readonly counts: RequestCounts;
  /** Null where none is kept. */
  readonly accessLog: AccessLog | null;
  /** Null where nobody can read them. */
  readonly figures: RequestFigures | null;
  /** Null where nothing is traced. */
  readonly tracing: Tracing | null;
  /** Milliseconds by a clock that nobody sets. */
  readonly monotonic: () => number;
}

/** A client that left before its answer began, in the words of other proxies. */
const CLIENT_LEFT = 499;
const UNREADABLE = ERROR_TABLE.invalid_request.status;
const PROBES: ReadonlySet<string | undefined> = new Set(['/healthz', '/readyz']);

const isOfProbe = ({ routeOptions }: FastifyRequest): boolean => PROBES.has(routeOptions.url);

/** Where every request ends for those who look on, however it ended: once each, but for those of probes. */
export class RequestObserver {
  readonly #parts: ObserverParts;
  /** Somebody wants more of a request than its status. */
  readonly #observes: boolean;
  /** Of requests of which the body was not HTTP, and that were answered by hand: by Node's own of each the id that its client was told. */
  readonly #unreadable = new WeakMap<object, RequestId>();

  constructor(parts: ObserverParts) {
    this.#parts = parts;
    this.#observes = parts.accessLog !== null || parts.figures !== null || parts.tracing !== null;
  }

  /** Before all other hooks: what they refuse is observed, too. */
  observe(app: FastifyInstance): void {
    app.decorateRequest('observed', null);
    const { monotonic, tracing } = this.#parts;
    if (this.#observes)
      app.addHook('onRequest', (request, _reply, done) => {
        const spans = tracing === null ? null : tracing.begin(request.headers);
        request.observed = new ObservedRequest(request, monotonic(), spans);
        done();
      });
    // Every answer but those that the forwarder writes, which tells their ends.
    app.addHook('onSend', (request, reply: FastifyReply, _payload, done) => {
      if (!isOfProbe(request)) this.ended(request, reply.statusCode, true);
      done();
    });
  }

  /** Its body has come and it is its turn: from here on the gateway is at work on it. */
  bodyRead({ observed }: FastifyRequest): void {
    if (observed !== null) observed.readMs = this.#parts.monotonic();
  }

  /** Its client, before its answer began. */
  left(request: FastifyRequest): void {
    if (!isOfProbe(request)) this.ended(request, CLIENT_LEFT, false);
  }

  /** Its answer has ended, or its client has left: before the head the status is not sent. */
  ended(request: FastifyRequest, status: number, isHeadSent: boolean): void {
    const { counts, monotonic, accessLog, figures } = this.#parts;
    const unreadableId = this.#unreadable.get(request.raw);
    const told = unreadableId !== undefined ? UNREADABLE : isHeadSent ? status : CLIENT_LEFT;
    counts.answered(told);
    if (!this.#observes) return;
    const nowMs = monotonic();
    // What the router refuses by itself has met no hook.
    const observed = request.observed ?? new ObservedRequest(request, nowMs, null);
    if (unreadableId !== undefined) {
      observed.requestId = unreadableId;
      observed.code = 'invalid_request';
    }
    observed.spans?.ended(observed, told);
    figures?.ended(observed, nowMs);
    accessLog?.write(observed, told, nowMs);
  }

  /** What was not even HTTP was answered by hand. @param request whose body it is: it ends besides, which counts it, and tells it under this id */
  unreadable(requestId: RequestId, request: object | null): void {
    const { counts, accessLog } = this.#parts;
    if (request !== null) {
      this.#unreadable.set(request, requestId);
      return;
    }
    counts.answered(UNREADABLE);
    accessLog?.writeUnreadable(requestId);
  }
}
