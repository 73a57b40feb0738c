import type { IncomingHttpHeaders } from 'node:http';
import type { CatalogModel } from '../../contracts/catalog.ts';
import { type Refusal, refusal } from '../../contracts/errors.ts';
import type { LeaseId, RequestId } from '../../contracts/ids.ts';
import type { MessageRequest } from '../../contracts/messages.ts';
import type { MicroUsd } from '../../contracts/money.ts';
import { monthOf } from '../../ledger/account/month.ts';
import type { Caller } from '../authenticate.ts';
import type { GatewayParts } from '../gateway-parts.ts';
import { countUpstream } from '../upstream/count-tokens.ts';
import type { Deployment } from '../upstream/upstream-directory.ts';
import { asksForFast, type ValidRequest, validateMessageRequest } from '../validate.ts';
import type { NoLease } from './lease-queue.ts';
import { findModel, refusedFor } from './model-lifecycle.ts';
import { type MoneyRequest, refuseByMoney, takenByHolds } from './money-gate.ts';
import { requestSize } from './request-size.ts';
import { refuseByStanding } from './standing.ts';
import { dearestInputClass, inputTokensBound, inputTokensGuess, type RequestSize, worstCase } from './worst-case.ts';

/** A request that may go upstream: its worst case is held. */
export interface Admitted {
  readonly type: 'admitted';
  readonly requestId: RequestId;
  readonly caller: Caller;
  readonly valid: ValidRequest<MessageRequest>;
  readonly model: CatalogModel;
  readonly deployments: readonly Deployment[];
  readonly asksForFast: boolean;
  readonly inputTokensGuess: number;
  /** What its provider has counted for it, where it was asked; null where it was not. */
  readonly inputTokensCounted: number | null;
  /** What it is held under; null where one proxy has all of an account's credit. */
  readonly leaseId: LeaseId | null;
  /** The most that it may be debited. */
  readonly hold: MicroUsd;
  readonly admittedAtMs: number;
}

export interface IncomingRequest {
  readonly requestId: RequestId;
  readonly caller: Caller;
  readonly headers: IncomingHttpHeaders;
  readonly body: unknown;
}

interface Candidate extends Omit<Admitted, 'type' | 'leaseId' | 'hold' | 'admittedAtMs'> {
  readonly size: RequestSize;
}

/**
 * Everything that stands between a caller who is known and the way upstream, in order: body, model, allow-list, rate
 * limit, money.
 * Only where the worst case by size does not fit, but the exact count may, is there a wait.
 */
export function admit(
  incoming: IncomingRequest,
  parts: GatewayParts,
): Admitted | Refusal | Promise<Admitted | Refusal> {
  const unavailable = parts.availability.refuse();
  if (unavailable !== null) return unavailable;
  if (parts.inFlight.isFull) return refusal('gateway_overloaded', 'too many requests are under way', 1);
  const candidate = candidateOf(incoming, parts);
  if ('code' in candidate) return candidate;
  const { size, model } = candidate;
  const bound = inputTokensBound(size, model.contextWindow);
  const held = hold(candidate, bound, parts);
  if (held === null) return holdUnderLease(candidate, bound, parts);
  if (held.type === 'admitted' || !mayFitByCount(candidate, bound, parts)) return held;
  return admitByCount(candidate, held, parts);
}

function candidateOf(incoming: IncomingRequest, parts: GatewayParts): Candidate | Refusal {
  const { requestId, caller, headers } = incoming;
  const nowMs = parts.clock();
  const valid = validateMessageRequest(incoming.body, headers);
  if (valid.type === 'refusal') return valid;
  const fast = asksForFast(valid.request, headers);
  if (typeof fast !== 'boolean') return fast;
  const model = findCallable(caller, valid.request.model, parts);
  if ('code' in model) return model;
  const deployments = parts.upstreams.deploymentsOf(model);
  const refused = refuseByDeployments(valid.request, model, deployments);
  if (refused !== null) return refusedFor(model, nowMs, refused);
  const size = requestSize(valid.request, valid.body.length);
  const guess = inputTokensGuess(size, model.contextWindow);
  const limited = parts.rateLimit.take(caller, guess, nowMs);
  if (limited !== null) return refusedFor(model, nowMs, limited);
  return {
    requestId,
    caller,
    valid,
    model,
    deployments,
    asksForFast: fast,
    inputTokensGuess: guess,
    inputTokensCounted: null,
    size,
  };
}

/** The model, where this caller may call it. Shared with count_tokens, which does not pass the money gate. */
export function findCallable(caller: Caller, id: string, parts: GatewayParts): CatalogModel | Refusal {
  const { accounts, catalog } = parts.projections;
  const nowMs = parts.clock();
  const model = findModel(catalog.state, id, nowMs);
  if ('code' in model) return model;
  const refused = refuseByStanding(caller, accounts, nowMs);
  if (refused !== null) return refusedFor(model, nowMs, refused);
  if (caller.key.models !== null && !caller.key.models.includes(model.id))
    return refusedFor(model, nowMs, refusal('model_not_allowed', `model: the key may not call ${model.id}`));
  return model;
}

/** What may have come about while a request waited: nothing is admitted any more, or its caller may not call. */
function refuseAfterWait({ caller, model }: Candidate, parts: GatewayParts): Refusal | null {
  const nowMs = parts.clock();
  const refused = parts.availability.refuse() ?? refuseByStanding(caller, parts.projections.accounts, nowMs);
  return refused === null ? null : refusedFor(model, nowMs, refused);
}

function refuseByDeployments(
  request: MessageRequest,
  model: CatalogModel,
  deployments: readonly Deployment[],
): Refusal | null {
  if (deployments.length === 0)
    return refusal('upstream_failed', `no upstream of model ${model.id} is configured on this gateway`);
  const wantsThread = request.thread !== null && request.thread !== undefined;
  if (wantsThread && deployments.some(({ upstream }) => !upstream.keepsThreads))
    return refusal(
      'thread_unsupported',
      `thread: model ${model.id} does not keep message threads; send the whole history`,
    );
  return null;
}

/**
 * The synchronous step: nothing can come between the look at caller and money, and the hold. With several proxies on the
 * log it is held under a lease; `null` where that has no room for it yet.
 */
function hold(candidate: Candidate, inputTokens: number, parts: GatewayParts): Admitted | Refusal | null {
  const { requestId, model } = candidate;
  const refusedNow = refuseAfterWait(candidate, parts);
  if (refusedNow !== null) return refusedNow;
  const request = moneyRequest(candidate, inputTokens, parts);
  const { account, accountId, keyId, worst, nowMs } = request;
  const refused = refuseByMoney(request, parts.projections.accounts, takenByHolds(request, parts.holds));
  if (refused !== null) return refusedFor(model, nowMs, refused);
  const lease = worst.hold === 0n ? null : (parts.fleet?.leases.scopeOf(account, keyId) ?? null);
  if (lease !== null && parts.fleet?.takeRoom(accountId, account, lease, worst.hold) === false) return null;
  const leaseId = lease?.leaseId ?? null;
  parts.holds.place(requestId, {
    accountId,
    keyId,
    month: monthOf(nowMs),
    amount: worst.hold,
    leaseId,
    startedAtMs: nowMs,
  });
  const { size: _size, ...admitted } = candidate;
  return { type: 'admitted', ...admitted, leaseId, hold: worst.hold, admittedAtMs: nowMs };
}

function moneyRequest(candidate: Candidate, inputTokens: number, parts: GatewayParts): MoneyRequest {
  const { accountId, key } = candidate.caller;
  const { state: account } = parts.projections.accounts.read(accountId);
  if (account.type === 'unopened') throw new Error(`${accountId} was authenticated and is not open`);
  const worst = worstOf(candidate, inputTokens);
  const maxTokens = candidate.valid.request.max_tokens;
  return { accountId, account, keyId: key.keyId, worst, maxTokens, nowMs: parts.clock() };
}

/** Waits until credit is leased for the request, which is then held, or says why it cannot be. */
async function holdUnderLease(
  candidate: Candidate,
  inputTokens: number,
  parts: GatewayParts,
): Promise<Admitted | Refusal> {
  const { fleet } = parts;
  if (fleet === null) throw new Error('a lease is needed where there are none');
  const { accountId, keyId, worst } = moneyRequest(candidate, inputTokens, parts);
  let held: Admitted | Refusal | null = null;
  const outcome = await fleet.queue.whenHeld(accountId, {
    keyId,
    need: worst.hold,
    tryHold: () => {
      held = hold(candidate, inputTokens, parts);
      return held !== null;
    },
  });
  if (held !== null) return held;
  const refusedNow = refuseAfterWait(candidate, parts);
  if (refusedNow !== null) return refusedNow;
  return refusedFor(candidate.model, parts.clock(), refuseWithoutLease(candidate, inputTokens, outcome, parts));
}

function refuseWithoutLease(
  candidate: Candidate,
  inputTokens: number,
  outcome: 'held' | NoLease,
  parts: GatewayParts,
): Refusal {
  if (outcome === 'log_away')
    return refusal('gateway_overloaded', 'the event log does not answer, and no credit is set aside here', 5);
  const request = moneyRequest(candidate, inputTokens, parts);
  const taken = parts.fleet?.takenByLeases(request) ?? takenByHolds(request, parts.holds);
  return (
    refuseByMoney(request, parts.projections.accounts, taken) ??
    refusal('gateway_overloaded', 'credit that is set aside for other requests has not come back in time', 1)
  );
}

const worstOf = ({ model, size, asksForFast, valid }: Candidate, inputTokens: number) =>
  worstCase(model.rateCard, asksForFast ? 'fast' : 'standard', {
    inputTokens,
    inputClass: dearestInputClass(size, model.caching),
    maxTokens: valid.request.max_tokens,
  });

/** Whether the request may fit once its input is counted: what it is at least likely to have fits now. */
function mayFitByCount(candidate: Candidate, bound: number, parts: GatewayParts): boolean {
  const [first] = candidate.deployments;
  if (first?.upstream.countsTokens !== true || candidate.inputTokensGuess >= bound) return false;
  const request = moneyRequest(candidate, candidate.inputTokensGuess, parts);
  return refuseByMoney(request, parts.projections.accounts, takenByHolds(request, parts.holds)) === null;
}

async function admitByCount(candidate: Candidate, refused: Refusal, parts: GatewayParts): Promise<Admitted | Refusal> {
  const [first] = candidate.deployments;
  if (first === undefined) return refused;
  const counted = await countUpstream(first, candidate.valid);
  if (counted.type !== 'counted') return refuseAfterWait(candidate, parts) ?? refused;
  const known = { ...candidate, inputTokensCounted: counted.inputTokens };
  return hold(known, counted.inputTokens, parts) ?? holdUnderLease(known, counted.inputTokens, parts);
}
