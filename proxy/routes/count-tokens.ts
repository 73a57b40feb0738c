import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { CatalogModel } from '../../contracts/catalog.ts';
import type { Refusal } from '../../contracts/errors.ts';
import { findCallable } from '../admission/candidate.ts';
import { refuseByRoles } from '../admission/message-roles.ts';
import { deprecationHeader } from '../admission/model-lifecycle.ts';
import { refuseByKeyNow, refuseByStanding } from '../admission/standing.ts';
import { termsOf } from '../admission/terms.ts';
import { answer, refuse } from '../answer.ts';
import { CallingClient } from '../calling-client.ts';
import { Failover } from '../forwarding/failover.ts';
import { saidRefusal } from '../forwarding/said-refusal.ts';
import { refusalForStatus } from '../forwarding/upstream-refusal.ts';
import type { GatewayParts } from '../gateway-parts.ts';
import { headerOf } from '../header.ts';
import { traceContextOf } from '../observation/trace-context.ts';
import { protocolVersionOf } from '../protocol-version.ts';
import { readFacts } from '../request-body/read-facts.ts';
import { type CountRequest, type CountResult, countUpstream } from '../upstream/count-tokens.ts';
import type { Deployment } from '../upstream/upstream-directory.ts';
import { inTurn } from './in-turn.ts';
import { callerOf, knowCaller, knowCallerStill } from './know-caller.ts';
import { bodyOf, readBody } from './read-body.ts';
import { takePlace, ticketOf } from './take-place.ts';
import { tellRateLimits } from './tell-rate-limits.ts';

/** A token of an estimate: where no upstream of the model counts. */
const ESTIMATED_BYTES_PER_TOKEN = 4;

/** What is wrong with the request itself, which no estimate mends. A path or method that is unknown there is not. */
const CALLERS_FAULTS: ReadonlySet<number> = new Set([400, 413, 422]);
const TOO_MANY_REQUESTS = 429;

type Count = Extract<CountResult, { readonly type: 'counted' }>;

const PATHS = ['/v1/messages/count_tokens', '/messages/count_tokens'];

/** POST /v1/messages/count_tokens: counts without generating. It costs nothing and does not pass the money gate. */
export function routeCountTokens(app: FastifyInstance, parts: GatewayParts): void {
  const hooks = {
    onRequest: [knowCaller(parts), takePlace(parts, 'count')],
    preHandler: [readBody(parts), inTurn(parts), knowCallerStill(parts)],
    onSend: tellRateLimits(parts),
  };
  for (const path of PATHS)
    app.post(path, hooks, async (request, reply) => {
      const { share } = bodyOf(request);
      const ticket = ticketOf(request);
      // Its bytes are there until they are counted, also where nobody waits for that any more.
      share.keep();
      try {
        return await answerCount(request, reply, parts);
      } finally {
        ticket.end();
        share.letGo();
      }
    });
}

async function answerCount(request: FastifyRequest, reply: FastifyReply, parts: GatewayParts): Promise<FastifyReply> {
  const client = new CallingClient(reply.raw);
  const asked = await askedCount(request, client, parts);
  if ('code' in asked) return refuse(reply, asked);
  const deprecation = deprecationHeader(asked.model, parts.clock());
  if (deprecation !== null) void reply.header('x-svc-deprecation', deprecation);
  return await count(asked, request, reply, parts);
}

interface AskedCount {
  readonly model: CatalogModel;
  readonly count: CountRequest;
}

async function askedCount(
  request: FastifyRequest,
  client: CallingClient,
  parts: GatewayParts,
): Promise<AskedCount | Refusal> {
  const { headers } = request;
  const caller = callerOf(request);
  const { bytes, share } = bodyOf(request);
  const { owner } = share;
  const isWanted = (): boolean => !client.hasLeft;
  const body = { bytes, headers, owner, isWanted, windowMax: () => 0 };
  const facts = await readFacts('count', body, parts);
  const refusedByKey = refuseByKeyNow(caller, parts.projections.accounts, parts.clock());
  if (refusedByKey !== null) return refusedByKey;
  if (facts.type === 'refusal') return facts;
  const model = findCallable(caller, facts.model, request.observed, parts);
  if ('code' in model) return model;
  const roles = refuseByRoles(facts, model);
  if (roles !== null) return roles;
  const protocol = protocolVersionOf(headers);
  if ('code' in protocol) return protocol;
  const { unknownBetas } = parts;
  const terms = termsOf(model, { header: headerOf(headers, 'anthropic-beta'), saysSpeed: false, unknownBetas });
  if ('code' in terms) return terms;
  const trace = traceContextOf(headers);
  return { model, count: { bytes, facts, owner, client, beta: terms.beta, trace, ...protocol } };
}

async function count(
  { model, count }: AskedCount,
  request: FastifyRequest,
  reply: FastifyReply,
  parts: GatewayParts,
): Promise<FastifyReply> {
  const counting = parts.upstreams.deploymentsOf(model).filter(({ upstream }) => upstream.countsTokens);
  const counted = await countAtFirstThatAnswers(counting, count, request, parts);
  if (count.client.hasLeft) {
    parts.observer.left(request);
    return reply.hijack();
  }
  const refusedNow = refuseByStanding(callerOf(request), parts.projections.accounts, parts.clock());
  if (refusedNow !== null) return refuse(reply, refusedNow);
  return counted === null ? sendEstimate(reply, count.bytes.length) : sendCount(reply, counted);
}

/** Null where none has answered: none counts, or none could. A refusal is for those alone that ask to be asked later. */
async function countAtFirstThatAnswers(
  deployments: readonly Deployment[],
  count: CountRequest,
  { id }: FastifyRequest,
  parts: GatewayParts,
): Promise<Count | Refusal | null> {
  if (deployments.length === 0) return null;
  const failover = new Failover(deployments, {
    requestId: id,
    failedAs: 'an upstream did not count',
    logger: parts.logger,
  });
  let told: Refusal | null = null;
  for (let hasNext = true; hasNext; ) {
    const { deployment } = failover;
    const result = await countUpstream(deployment, count);
    if (result.type === 'counted') return result;
    if (count.client.hasLeft) return null;
    if (result.type === 'failed') hasNext = failover.failed({ error: result.error.message });
    else {
      const { status, headers, body } = result;
      if (CALLERS_FAULTS.has(status)) return saidRefusal(status, body, deployment.upstream.words);
      if (status === TOO_MANY_REQUESTS) told = failover.worthTelling(refusalForStatus(status, headers.retryAfterS));
      hasNext = failover.failed({ status });
    }
  }
  return told;
}

/** An estimate says that it is one. */
function sendEstimate(reply: FastifyReply, bytes: number): FastifyReply {
  void reply.header('x-svc-token-count', 'estimate');
  return answer(reply, { input_tokens: Math.ceil(bytes / ESTIMATED_BYTES_PER_TOKEN) });
}

function sendCount(reply: FastifyReply, result: Count | Refusal): FastifyReply {
  switch (result.type) {
    case 'refusal':
      return refuse(reply, result);
    case 'counted':
      return answer(reply, { input_tokens: result.inputTokens });
    default:
      return result satisfies never;
  }
}
