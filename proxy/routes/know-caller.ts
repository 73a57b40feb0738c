import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Refusal } from '../../contracts/errors.ts';
import { refuseByKeyNow } from '../admission/standing.ts';
import { refuse } from '../answer.ts';
import { authenticate, UNKNOWN_KEY } from '../authenticate.ts';
import type { Caller } from '../caller.ts';
import type { GatewayParts } from '../gateway-parts.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by `findCaller`, on the routes that ask who calls. */
    caller: Caller | null;
  }
}

/** Gives every request its place for the caller, so that all have one shape. */
export function addCallerToRequests(app: FastifyInstance): void {
  app.decorateRequest('caller', null);
}

/** From the headers alone: nobody unknown has a body read. Nobody is looked for while the event loop is behind. */
export function knowCaller(parts: GatewayParts) {
  const { loopDelay, counts } = parts;
  return (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void => {
    const shed = loopDelay.refuse();
    if (shed !== null) {
      counts.shed++;
      refuse(reply, shed);
      return;
    }
    const goOn = (caller: Caller | Refusal): void => {
      if (caller.type === 'refusal') refuse(reply, caller);
      else done();
    };
    const found = findCaller(request, parts);
    if (found instanceof Promise) found.then(goOn, done);
    else goOn(found);
  };
}

/** At once, but for a key that is unknown: that is looked for once more when the views have what the ledger has by now. */
export function findCaller(request: FastifyRequest, parts: GatewayParts): Caller | Refusal | Promise<Caller | Refusal> {
  const found = callerByViews(request, parts);
  const looked = found === UNKNOWN_KEY ? parts.unknownKeys.lookAgain() : null;
  return looked === null ? found : looked.then(() => callerByViews(request, parts));
}

/** A key that is not known yet may be one of those that the ledger has: then it is told to come again. */
function callerByViews(
  request: FastifyRequest,
  { projections, availability, clock, product }: GatewayParts,
): Caller | Refusal {
  const caller = authenticate(request.headers, projections.accounts, product, clock(), request.observed);
  if (caller === UNKNOWN_KEY) return availability.refuseUnknown() ?? caller;
  if (caller.type === 'caller') request.caller = caller;
  return caller;
}

/** The key may have been revoked, or have ended, while the body came: then nothing is said about the body. */
export function knowCallerStill({ projections, clock }: GatewayParts) {
  return (request: FastifyRequest, reply: FastifyReply, done: () => void): void => {
    const refused = refuseByKeyNow(callerOf(request), projections.accounts, clock());
    if (refused === null) done();
    else refuse(reply, refused);
  };
}

/** The caller that `knowCaller` found. */
export function callerOf(request: FastifyRequest): Caller {
  const { caller } = request;
  if (caller === null) throw new Error(`${request.url} was routed without a caller`);
  return caller;
}
