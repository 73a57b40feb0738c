import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { refuse } from '../answer.ts';
import type { GatewayParts } from '../gateway-parts.ts';
import type { EnteringKind } from '../rate-limits/asked-call.ts';
import type { RateTicket } from '../rate-limits/rate-ticket.ts';
import { callerOf } from './know-caller.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by `takePlace`, on the routes that have it, until `ticketOf` takes it over. */
    ticket: RateTicket | null;
  }
}

/** Gives every request its place for the ticket, so that all have one shape. */
export function addTicketToRequests(app: FastifyInstance): void {
  app.decorateRequest('ticket', null);
}

/**
 * Lets in a caller who is known, or says when to come back, before anything is read of the body: what is done for a
 * request that is refused then is bounded by how many of them come in. The place is free again when the answer is over,
 * until the route's handler has it.
 */
export function takePlace({ rateLimits }: GatewayParts, kind: EnteringKind) {
  return (request: FastifyRequest, reply: FastifyReply, done: () => void): void => {
    const ticket = rateLimits.enter(callerOf(request), kind);
    if ('code' in ticket) {
      refuse(reply, ticket);
      return;
    }
    request.ticket = ticket;
    reply.raw.once('close', () => request.ticket?.end());
    done();
  };
}

/** The ticket that `takePlace` has taken: from here on whoever has it ends it. */
export function ticketOf(request: FastifyRequest): RateTicket {
  const { ticket } = request;
  if (ticket === null) throw new Error(`${request.url} was routed without a place`);
  request.ticket = null;
  return ticket;
}
