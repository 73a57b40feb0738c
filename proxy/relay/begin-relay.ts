import type { ServerResponse } from 'node:http';
import type { Admitted } from '../admission/admit.ts';
import { deprecationHeader } from '../admission/model-lifecycle.ts';
import { refuseByStanding } from '../admission/standing.ts';
import type { GatewayParts } from '../gateway-parts.ts';
import type { BodyShare } from '../request-body/body-share.ts';
import { ClientAnswer } from './client-answer.ts';
import { MessageRelay } from './message-relay.ts';
import type { RelayedRequest } from './relayed-request.ts';

/** Hands an admitted request and its client's connection to a relay, which keeps the body until it is over. */
export function beginRelay(admitted: Admitted, share: BodyShare, response: ServerResponse, parts: GatewayParts): void {
  share.keep();
  const relayed = relayedOf(admitted, share, parts);
  const client = new ClientAnswer(response, admitted.requestId, relayed);
  const relay: MessageRelay = new MessageRelay(relayed, client, parts.relay, () => {
    parts.inFlight.remove(relay);
    share.letGo();
    parts.counts.answered(response.statusCode, response.headersSent);
  });
  parts.inFlight.add(relay);
  parts.inFlight.answered(response);
  response.on('close', () => relay.clientLeft());
  response.on('error', () => relay.clientLeft());
  relay.start();
}

function relayedOf(admitted: Admitted, room: BodyShare, parts: GatewayParts): RelayedRequest {
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
    deprecation: deprecationHeader(model, admitted.admittedAtMs),
    deployments: admitted.deployments,
    ticket: admitted.ticket,
    rateLimitHeaders: () => parts.rateLimits.headersOf(caller),
    refuseByStanding: () => refuseByStanding(caller, parts.projections.accounts, parts.clock()),
  };
}
