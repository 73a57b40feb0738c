import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Refusal } from '../../contracts/errors.ts';
import { requestId } from '../../contracts/ids.ts';
import { type Admitted, admit } from '../admission/admit.ts';
import { refuse } from '../answer.ts';
import { keepHeadersForBrowser } from '../browsers.ts';
import { CallingClient } from '../calling-client.ts';
import type { GatewayParts } from '../gateway-parts.ts';
import { beginForwarding } from './begin-forwarding.ts';
import { inTurn } from './in-turn.ts';
import { callerOf, knowCaller, knowCallerStill } from './know-caller.ts';
import { bodyOf, readBody } from './read-body.ts';
import { takePlace, ticketOf } from './take-place.ts';
import { tellRateLimits } from './tell-rate-limits.ts';

/** The second is what an SDK makes of a base URL without `/v1` (interface, 1.1). */
const PATHS = ['/v1/messages', '/messages'];

/**
 * POST /v1/messages, from its head to the forwarder:
 *
 *   knowCaller       whose key it is, and whether the gateway admits anybody        know-caller.ts
 *   takePlace        its place among the calls of its key and account               take-place.ts
 *   readBody         its bytes, within what all bodies may take                     read-body.ts
 *   inTurn           the next of its connection, in the turn of the event loop      in-turn.ts
 *   knowCallerStill  whoever was revoked while the body came is refused             know-caller.ts
 *   admit            body, model, terms, size, rates, money: held, journal begun    ../admission/admit.ts
 *   beginForwarding  upstream, its bytes to the client, metered, ended, billed      begin-forwarding.ts
 *
 * Each step answers what it refuses, and the rest is not reached.
 */
export function routeMessages(app: FastifyInstance, parts: GatewayParts): void {
  const hooks = {
    onRequest: [knowCaller(parts), takePlace(parts, 'message')],
    preHandler: [readBody(parts), inTurn(parts), knowCallerStill(parts)],
    onSend: tellRateLimits(parts),
  };
  for (const path of PATHS)
    app.post(path, hooks, (request, reply) => {
      const { bytes, share } = bodyOf(request);
      parts.observer.bodyRead(request);
      const incoming = {
        requestId: requestId(request.id),
        caller: callerOf(request),
        headers: request.headers,
        bytes,
        owner: share.owner,
        client: new CallingClient(reply.raw),
        ticket: ticketOf(request),
        observed: request.observed,
      };
      const admitted = admit(incoming, parts);
      if (!(admitted instanceof Promise)) return forwardOrAnswer(admitted, request, reply, parts);
      share.keep();
      return admitted.then((result) => forwardOrAnswer(result, request, reply, parts)).finally(() => share.letGo());
    });
}

function forwardOrAnswer(
  admitted: Admitted | Refusal,
  request: FastifyRequest,
  reply: FastifyReply,
  parts: GatewayParts,
) {
  if (new CallingClient(reply.raw).hasLeft) {
    // The client left while its body was read, or its input counted: nothing has gone upstream.
    if (admitted.type === 'admitted') {
      parts.accounting.abandon(admitted.money);
      admitted.ticket.end();
    }
    parts.observer.left(request);
    reply.hijack();
    return reply;
  }
  if (admitted.type === 'refusal') return refuse(reply, admitted);
  keepHeadersForBrowser(request, reply);
  reply.hijack();
  beginForwarding(admitted, request, reply.raw, parts);
  return reply;
}
