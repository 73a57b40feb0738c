import type { ServerResponse } from 'node:http';
import type { FastifyRequest } from 'fastify';
import type { Admitted } from '../admission/admit.ts';
import { deprecationHeader } from '../admission/model-lifecycle.ts';
import { refuseByStanding } from '../admission/standing.ts';
import { ClientAnswer } from '../forwarding/client-answer.ts';
import type { ForwardedRequest } from '../forwarding/forwarded-request.ts';
import { Forwarder } from '../forwarding/forwarder.ts';
import type { GatewayParts } from '../gateway-parts.ts';
import type { BodyShare } from '../request-body/body-share.ts';
import { bodyOf } from './read-body.ts';

/** Hands an admitted request and its client's connection to a forwarder, which keeps the body until it is over. */
export function beginForwarding(
  admitted: Admitted,
  request: FastifyRequest,
  response: ServerResponse,
  parts: GatewayParts,
): void {
  const { share } = bodyOf(request);
  share.keep();
  const { requestId } = admitted;
  const forwarded = forwardedOf(admitted, share, parts);
  const client = new ClientAnswer(response, requestId, forwarded);
  const forwarder = new Forwarder(forwarded, client, parts.forwarding, () => {
    parts.inFlight.remove(requestId);
    share.letGo();
    parts.observer.ended(request, response.statusCode, response.headersSent);
  });
  parts.inFlight.add(requestId, forwarder);
  parts.inFlight.answered(requestId);
  response.on('close', () => forwarder.clientLeft());
  response.on('error', () => forwarder.clientLeft());
  forwarder.start();
}

function forwardedOf(admitted: Admitted, room: BodyShare, parts: GatewayParts): ForwardedRequest {
  const { caller, facts, model } = admitted;
  return {
    money: admitted.money,
    model,
    terms: admitted.terms,
    bytes: admitted.bytes,
    facts,
    room,
    maxTokens: facts.maxTokens,
    isStream: facts.isStream,
    asksForFast: admitted.asksForFast,
    mayRunFast: admitted.mayRunFast,
    inputTokensCounted: admitted.inputTokensCounted,
    version: admitted.version,
    trace: admitted.trace,
    deprecation: deprecationHeader(model, admitted.admittedAtMs),
    deployments: admitted.deployments,
    ticket: admitted.ticket,
    observed: admitted.observed,
    rateLimitHeaders: () => parts.rateLimits.headersOf(caller),
    refuseByStanding: () => refuseByStanding(caller, parts.projections.accounts, parts.clock()),
  };
}
