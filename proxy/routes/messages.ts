import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Refusal } from '../../contracts/errors.ts';
import { refusal } from '../../contracts/errors.ts';
import { type RequestId, requestId } from '../../contracts/ids.ts';
import { JournalError } from '../../ledger/journal/journal-error.ts';
import { type Admitted, admit } from '../admission/admit.ts';
import { deprecationHeader } from '../admission/model-lifecycle.ts';
import { refuseByStanding } from '../admission/standing.ts';
import { refuse } from '../answer.ts';
import { OUTAGE_RETRY_S } from '../availability.ts';
import { keepHeadersForBrowser } from '../browsers.ts';
import type { GatewayParts } from '../gateway-parts.ts';
import { ClientAnswer } from '../relay/client-answer.ts';
import { MessageRelay } from '../relay/message-relay.ts';
import type { RelayedRequest } from '../relay/relayed-request.ts';
import { inTurn } from './in-turn.ts';
import { callerOf, knowCaller, knowCallerStill } from './know-caller.ts';

/** The second is what an SDK makes of a base URL without `/v1` (specification, part 1, rule 2). */
const PATHS = ['/v1/messages', '/messages'];

/** POST /v1/messages: admit, then hand the connection to the relay. */
export function routeMessages(app: FastifyInstance, parts: GatewayParts): void {
  const hooks = { onRequest: knowCaller(parts), preHandler: [inTurn(), knowCallerStill(parts)] };
  for (const path of PATHS)
    app.post(path, hooks, (request, reply) => {
      const caller = callerOf(request);
      const admitted = admit(
        { requestId: requestId(request.id), caller, headers: request.headers, body: request.body },
        parts,
      );
      if (admitted instanceof Promise) return admitted.then((result) => proceed(result, request, reply, parts));
      return proceed(admitted, request, reply, parts);
    });
}

function proceed(admitted: Admitted | Refusal, request: FastifyRequest, reply: FastifyReply, parts: GatewayParts) {
  if (admitted.type === 'refusal') return refuse(reply, admitted);
  const { requestId } = admitted;
  if (request.raw.socket.destroyed) {
    // The client left while its input was counted: nothing has gone upstream.
    parts.holds.release(requestId);
    parts.counts.answered(0, false);
    reply.hijack();
    return reply;
  }
  const relayed = begin(admitted, parts);
  if ('code' in relayed) return refuse(reply, relayed);
  keepHeadersForBrowser(request, reply);
  reply.hijack();
  relay(relayed, requestId, reply, parts);
  return reply;
}

/** Takes the request's start down; from here on it is accounted for, whatever happens. */
function begin(admitted: Admitted, parts: GatewayParts): RelayedRequest | Refusal {
  const { requestId, caller, valid, model, deployments, terms } = admitted;
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
      body: valid.body,
      maxTokens: valid.request.max_tokens,
      isStream: valid.request.stream === true,
      asksForFast: admitted.asksForFast,
      mayRunFast: admitted.mayRunFast,
      bodyHasSpeed: Object.hasOwn(valid.request, 'speed'),
      modelInBody: valid.request.model,
      inputTokensCounted: admitted.inputTokensCounted,
      inputWeight: admitted.inputWeight,
      version: admitted.version,
      deprecation: deprecationHeader(model, admitted.admittedAtMs),
      deployments,
      refuseByStanding: () => refuseByStanding(caller, parts.projections.accounts, parts.clock()),
    };
  } catch (error) {
    parts.holds.release(requestId);
    if (!(error instanceof JournalError)) throw error;
    parts.logger.error({ err: error, requestId }, 'the journal refuses requests');
    return (
      parts.availability.refuse() ??
      refusal('gateway_overloaded', 'the gateway cannot take down usage at the moment', OUTAGE_RETRY_S)
    );
  }
}

function relay(request: RelayedRequest, requestId: RequestId, reply: FastifyReply, parts: GatewayParts): void {
  const { raw } = reply;
  const client = new ClientAnswer(raw, requestId, request.deprecation);
  const relay: MessageRelay = new MessageRelay(request, client, parts.relay, () => {
    parts.inFlight.remove(relay);
    parts.counts.answered(raw.statusCode, raw.headersSent);
  });
  parts.inFlight.add(relay);
  raw.on('close', () => relay.clientLeft());
  raw.on('error', () => relay.clientLeft());
  relay.start();
}
