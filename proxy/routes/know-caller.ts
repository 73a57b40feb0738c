import type { FastifyReply, FastifyRequest } from 'fastify';
import { refuse } from '../answer.ts';
import { authenticate, type Caller } from '../authenticate.ts';
import type { GatewayParts } from '../gateway-parts.ts';

const callers = new WeakMap<FastifyRequest, Caller>();

/** Finds the caller from the headers alone, so that nobody unknown makes the gateway read a body. */
export function knowCaller({ projections, clock }: GatewayParts) {
  return (request: FastifyRequest, reply: FastifyReply, done: () => void): void => {
    const caller = authenticate(request.headers, projections.accounts, clock());
    if (caller.type === 'refusal') {
      refuse(reply, caller);
      return;
    }
    callers.set(request, caller);
    done();
  };
}

/** The caller that `knowCaller` found. */
export function callerOf(request: FastifyRequest): Caller {
  const caller = callers.get(request);
  if (caller === undefined) throw new Error(`${request.url} was routed without a caller`);
  return caller;
}
