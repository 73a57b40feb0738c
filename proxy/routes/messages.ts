import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Refusal } from '../../contracts/errors.ts';
import { refusal } from '../../contracts/errors.ts';
import { requestId } from '../../contracts/ids.ts';
import { JournalError } from '../../ledger/journal/journal-error.ts';
import { type Admitted, admit } from '../admission/admit.ts';
import { deprecationHeader } from '../admission/model-lifecycle.ts';
import { refuseByStanding } from '../admission/standing.ts';
import { refuse } from '../answer.ts';
import { OUTAGE_RETRY_S } from '../availability.ts';
import { keepHeadersForBrowser } from '../browsers.ts';
import { CallingClient } from '../calling-client.ts';
import type { GatewayParts } from '../gateway-parts.ts';
import { ClientAnswer } from '../relay/client-answer.ts';
import { MessageRelay } from '../relay/message-relay.ts';
import type { RelayedRequest } from '../relay/relayed-request.ts';
import type { BodyShare } from '../request-body/body-share.ts';
import { inTurn } from './in-turn.ts';
import { callerOf, knowCaller, knowCallerStill } from './know-caller.ts';
import { bodyOf, readBody } from './read-body.ts';
import { takePlace, ticketOf } from './take-place.ts';
import { tellRateLimits } from './tell-rate-limits.ts';

/** The second is what an SDK makes of a base URL without `/v1` (specification, part 1, rule 2). */
const PATHS = ['/v1/messages', '/messages'];

/** POST /v1/messages: admit, then hand the connection to the relay. */
export function routeMessages(app: FastifyInstance, parts: GatewayParts): void {
  const hooks = {
    onRequest: [knowCaller(parts), takePlace(parts, 'message')],
    preHandler: [readBody(parts), inTurn(), knowCallerStill(parts)],
    onSend: tellRateLimits(parts),
  };
  for (const path of PATHS)
    app.post(path, hooks, (request, reply) => {
      const caller = callerOf(request);
      const { bytes, share } = bodyOf(request);
      const client = new CallingClient(reply.raw);
      const ticket = ticketOf(request);
      const admitted = admit(
        {
          requestId: requestId(request.id),
          caller,
          headers: request.headers,
          bytes,
          owner: share.owner,
          client,
          ticket,
        },
        parts,
      );
      if (!(admitted instanceof Promise)) return proceed(admitted, request, reply, parts);
      share.keep();
      return admitted.then((result) => proceed(result, request, reply, parts)).finally(() => share.letGo());
    });
}

function proceed(admitted: Admitted | Refusal, request: FastifyRequest, reply: FastifyReply, parts: GatewayParts) {
  if (new CallingClient(reply.raw).hasLeft) {
    // The client left while its body was read, or its input counted: nothing has gone upstream.
    if (admitted.type === 'admitted') {
      parts.relay.accounting.neverBegun(admitted.requestId);
      admitted.ticket.end();
    }
    parts.counts.answered(0, false);
    reply.hijack();
    return reply;
  }
  if (admitted.type === 'refusal') return refuse(reply, admitted);
  const { share } = bodyOf(request);
  const relayed = begin(admitted, share, parts);
  if ('code' in relayed) return refuse(reply, relayed);
  keepHeadersForBrowser(request, reply);
  reply.hijack();
  relay(relayed, share, reply, parts);
  return reply;
}

/** Takes the request's start down; from here on it is accounted for, whatever happens. */
function begin(admitted: Admitted, room: BodyShare, parts: GatewayParts): RelayedRequest | Refusal {
  const { requestId, caller, facts, bytes, model, deployments, terms } = admitted;
  const [first] = deployments;
  if (first === undefined) throw new Error(`model ${model.id} was admitted without an upstream`);
  const { id, version, hash } = terms.rateCard;
  try {
    const accounted = parts.relay.accounting.begin(requestId, caller.accountId, terms.rateCard, {
      accountId: caller.accountId,
      accountRevision: parts.projections.accounts.read(caller.accountId).revision,
      keyId: caller.key.keyId,
      model: model.id,
      upstream: { provider: first.upstream.name, model: first.model },
      startedAt: new Date(admitted.admittedAtMs).toISOString(),
      rateCard: { id, version, hash },
      ...(admitted.leaseId === null ? {} : { leaseId: admitted.leaseId }),
      hold: admitted.hold,
    });
    return {
      accounted,
      model,
      terms,
      bytes,
      facts,
      room,
      maxTokens: facts.maxTokens,
      isStream: facts.isStream,
      asksForFast: admitted.asksForFast,
      mayRunFast: admitted.mayRunFast,
      inputTokensCounted: admitted.inputTokensCounted,
      version: admitted.version,
      deprecation: deprecationHeader(model, admitted.admittedAtMs),
      deployments,
      ticket: admitted.ticket,
      rateLimitHeaders: () => parts.rateLimits.headersOf(caller),
      refuseByStanding: () => refuseByStanding(caller, parts.projections.accounts, parts.clock()),
    };
  } catch (error) {
    admitted.ticket.end();
    if (!(error instanceof JournalError)) throw error;
    parts.logger.error({ err: error, requestId }, 'the journal refuses requests');
    return (
      parts.availability.refuse() ??
      refusal('gateway_overloaded', 'the gateway cannot take down usage at the moment', OUTAGE_RETRY_S)
    );
  }
}

function relay(relayed: RelayedRequest, share: BodyShare, reply: FastifyReply, parts: GatewayParts): void {
  const { raw } = reply;
  share.keep();
  const client = new ClientAnswer(raw, relayed.accounted.requestId, relayed);
  const relay: MessageRelay = new MessageRelay(relayed, client, parts.relay, () => {
    parts.inFlight.remove(relay);
    share.letGo();
    parts.counts.answered(raw.statusCode, raw.headersSent);
  });
  parts.inFlight.add(relay);
  parts.inFlight.answered(raw);
  raw.on('close', () => relay.clientLeft());
  raw.on('error', () => relay.clientLeft());
  relay.start();
}
