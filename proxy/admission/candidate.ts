import type { IncomingHttpHeaders } from 'node:http';
import type { CatalogModel } from '../../contracts/catalog.ts';
import { type Refusal, refusal } from '../../contracts/errors.ts';
import type { RequestId } from '../../contracts/ids.ts';
import { planInForce } from '../../ledger/account/plan-over.ts';
import type { Caller } from '../caller.ts';
import type { CallingClient } from '../calling-client.ts';
import { headerOf } from '../header.ts';
import type { ObservedRequest } from '../observation/observed-request.ts';
import { type TraceContext, traceContextOf } from '../observation/trace-context.ts';
import { protocolVersionOf } from '../protocol-version.ts';
import type { RateTicket } from '../rate-limits/rate-ticket.ts';
import type { BodyOwner } from '../request-body/body-owner.ts';
import type { RequestBytes } from '../request-body/request-bytes.ts';
import type { MessageFacts } from '../request-body/request-facts.ts';
import type { RequestSize } from '../request-body/request-size.ts';
import type { Deployment } from '../upstream/upstream-directory.ts';
import type { AdmissionParts } from './admission-parts.ts';
import { refuseByRoles } from './message-roles.ts';
import { findModel, refusedFor } from './model-lifecycle.ts';
import { refuseByStanding } from './standing.ts';
import { type Terms, termsOf } from './terms.ts';
import { inputTokensGuess, usesWithoutPrice } from './worst-case.ts';

export interface IncomingRequest {
  readonly requestId: RequestId;
  readonly caller: Caller;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: RequestBytes;
  /** Whose the body is, as it was when that began to come. */
  readonly owner: BodyOwner;
  readonly client: CallingClient;
  /** What it has taken of its caller's limits: whoever ends the request ends it. */
  readonly ticket: RateTicket;
  /** Null where nobody observes requests. */
  readonly observed: ObservedRequest | null;
}

/** A request that only its caller's tokens a minute, and money, may still stand in the way of. */
export interface Candidate extends Omit<IncomingRequest, 'headers'> {
  readonly facts: MessageFacts;
  readonly model: CatalogModel;
  /** Where it may run, in the order in which to try. */
  readonly deployments: readonly Deployment[];
  readonly asksForFast: boolean;
  /** It asks for the fast lane, and the model has one: then it is held for it, runs in it, and may be billed by it. */
  readonly mayRunFast: boolean;
  readonly inputTokensGuess: number;
  /** What its provider has counted for it, where it was asked; null where it was not. */
  readonly inputTokensCounted: number | null;
  readonly terms: Terms;
  /** `anthropic-version`, as the client sent it; null where it did not. */
  readonly version: string | null;
  /** As its caller says; null where it says nothing. */
  readonly trace: TraceContext | null;
}

/** What a request is, or why it is refused before its money is: its model, what has no price. */
export function candidateOf(
  incoming: IncomingRequest,
  facts: MessageFacts,
  parts: AdmissionParts,
): Candidate | Refusal {
  const { requestId, caller, headers, bytes, owner, client, ticket, observed } = incoming;
  const nowMs = parts.clock();
  const fast = asksForFast(facts, headers);
  if (typeof fast !== 'boolean') return fast;
  const protocol = protocolVersionOf(headers);
  if ('code' in protocol) return protocol;
  const model = findCallable(caller, facts.model, observed, parts);
  if ('code' in model) return model;
  const deployments = parts.upstreams.deploymentsOf(model);
  const refused = refuseByRoles(facts, model) ?? refuseByDeployments(facts, model, deployments);
  if (refused !== null) return refusedFor(model, nowMs, refused);
  const mayRunFast = fast && model.rateCard.fastMultiplier !== null;
  const terms = termsOf(model, {
    header: headerOf(headers, 'anthropic-beta'),
    saysSpeed: mayRunFast || facts.speed === 'standard',
    unknownBetas: parts.unknownBetas,
  });
  if ('code' in terms) return refusedFor(model, nowMs, terms);
  const unknown = refuseBySize(facts.size, model, terms);
  if (unknown !== null) return refusedFor(model, nowMs, unknown);
  const found = { requestId, caller, facts, bytes, owner, client, model, deployments, terms, ticket, observed };
  return {
    ...found,
    ...protocol,
    trace: traceContextOf(headers),
    asksForFast: fast,
    mayRunFast,
    inputTokensGuess: inputTokensGuess(facts.size, terms.contextWindow),
    inputTokensCounted: null,
  };
}

/** What has no bound or no price is refused before it goes upstream. A free model has a price for everything. */
function refuseBySize(size: RequestSize, model: CatalogModel, { rateCard }: Terms): Refusal | null {
  if (size.refused !== null) return refusal('invalid_request', size.refused);
  const [unpriced] = model.free ? [] : usesWithoutPrice(size, rateCard);
  if (unpriced === undefined) return null;
  const { path, name } = unpriced;
  return refusal('invalid_request', `${path}: the catalog has no price a use (${name}) for model ${model.id}`);
}

/** The model, where this caller may call it. Shared with count_tokens, which does not pass the money gate. */
export function findCallable(
  caller: Caller,
  id: string,
  observed: ObservedRequest | null,
  parts: AdmissionParts,
): CatalogModel | Refusal {
  const { accounts, catalog } = parts.projections;
  if (observed !== null) observed.model = catalog.state.models.get(id)?.id ?? null;
  const nowMs = parts.clock();
  const model = findModel(catalog.state, id, nowMs);
  if ('code' in model) return model;
  const refused = refuseByStanding(caller, accounts, nowMs);
  if (refused !== null) return refusedFor(model, nowMs, refused);
  if (caller.key.models !== null && !caller.key.models.includes(model.id))
    return refusedFor(model, nowMs, refusal('model_not_allowed', `model: the key may not call ${model.id}`));
  const ofPlan = refuseByPlan(caller, model, parts, nowMs);
  return ofPlan === null ? model : refusedFor(model, nowMs, ofPlan);
}

function refuseByPlan(
  { accountId }: Caller,
  { id }: CatalogModel,
  { projections }: AdmissionParts,
  nowMs: number,
): Refusal | null {
  const { accounts, catalog } = projections;
  const { state } = accounts.read(accountId);
  const plan = state.type === 'open' ? planInForce(state, catalog.state, nowMs) : null;
  if (plan === null || plan.models === null || plan.models.includes(id)) return null;
  return refusal('model_not_allowed', `model: the plan ${plan.id} does not have ${id}`);
}

function refuseByDeployments(
  { wantsThread }: MessageFacts,
  model: CatalogModel,
  deployments: readonly Deployment[],
): Refusal | null {
  if (deployments.length === 0)
    return refusal('upstream_failed', `no upstream of model ${model.id} is configured on this gateway`);
  if (wantsThread && deployments.some(({ upstream }) => !upstream.keepsThreads))
    return refusal(
      'thread_unsupported',
      `thread: model ${model.id} does not keep message threads; send the whole history`,
    );
  return null;
}

/** Whether the fast lane is asked for, by the body or by `x-svc-speed` (interface, 5.3). */
function asksForFast({ speed }: Pick<MessageFacts, 'speed'>, headers: IncomingHttpHeaders): boolean | Refusal {
  const header = headers['x-svc-speed'];
  if (header !== undefined && header !== 'fast' && header !== 'standard')
    return refusal('invalid_request', 'x-svc-speed: expected one of "standard", "fast"');
  return header === 'fast' || speed === 'fast';
}
