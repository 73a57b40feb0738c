import { type Refusal, refusal } from '../../contracts/errors.ts';
import { timeOfRequest } from '../../contracts/ids.ts';
import { LIMITS } from '../../contracts/limits.ts';
import { rateOfUse } from '../../contracts/rate-card.ts';
import { OUTAGE_RETRY_S } from '../availability.ts';
import type { RateTicket } from '../rate-limits/rate-ticket.ts';
import type { OpenRequest } from '../request-accounting.ts';
import { readFacts } from '../request-body/read-facts.ts';
import type { MessageFacts } from '../request-body/request-facts.ts';
import type { AskedUse } from '../request-body/request-size.ts';
import { countUpstream } from '../upstream/count-tokens.ts';
import type { Deployment } from '../upstream/upstream-directory.ts';
import type { AdmissionParts } from './admission-parts.ts';
import { type Candidate, candidateOf, type IncomingRequest } from './candidate.ts';
import type { NoLease } from './lease-queue.ts';
import { refusedFor, widestWindow } from './model-lifecycle.ts';
import { type MoneyRequest, type Remedies, refuseByMoney, takenByHolds } from './money-gate.ts';
import { openRequest } from './open-request.ts';
import type { ReloadWait } from './reload-waits.ts';
import { refuseByKeyNow, refuseByStanding, refuseSetAside } from './standing.ts';
import { costOfUses, dearestInputClass, inputTokensBound, inputTokensByCount, worstCase } from './worst-case.ts';

/** A request that may go upstream: its worst case is held, and the journal has its start. */
export interface Admitted extends Candidate {
  readonly type: 'admitted';
  readonly money: OpenRequest;
  readonly admittedAtMs: number;
}

/**
 * Everything that stands between a caller who has its place (routes/take-place.ts) and the way upstream, in order: body,
 * model, allow-list, tokens a minute, money. What is refused has its place no more, and has taken its request.
 * There are four waits. A body that is long, in bytes or values, is read by another thread, after which the caller is
 * looked at again. With several proxies there may have to be a lease. And where the worst case by size does not fit, but
 * one by the exact count may, it is counted: never where something brings input that a count does not know. And where
 * credits lack that are being bought, they may be waited for.
 */
export function admit(
  incoming: IncomingRequest,
  parts: AdmissionParts,
): Admitted | Refusal | Promise<Admitted | Refusal> {
  const { ticket } = incoming;
  try {
    const closed = refuseAll(parts);
    if (closed !== null) {
      ticket.turnedAway();
      return closed;
    }
    const result = admitOpen(incoming, parts);
    return result instanceof Promise
      ? result.then(
          (late) => kept(late, ticket),
          (error: unknown) => {
            ticket.end();
            throw error;
          },
        )
      : kept(result, ticket);
  } catch (error) {
    ticket.end();
    throw error;
  }
}

/** Nobody is admitted, whoever asks. */
function refuseAll({ availability, inFlight }: AdmissionParts): Refusal | null {
  const unavailable = availability.refuse();
  if (unavailable !== null) return unavailable;
  return inFlight.isFull ? refusal('gateway_overloaded', 'too many requests are under way', 1) : null;
}

function kept(result: Admitted | Refusal, ticket: RateTicket): Admitted | Refusal {
  if (result.type === 'refusal') ticket.end();
  return result;
}

function admitOpen(incoming: IncomingRequest, parts: AdmissionParts): Admitted | Refusal | Promise<Admitted | Refusal> {
  const { caller, headers, bytes, owner } = incoming;
  const facts = readFacts(
    'message',
    {
      bytes,
      headers,
      owner,
      isWanted: () => !incoming.client.hasLeft,
      windowMax: () => widestWindow(parts.projections.catalog.state),
    },
    parts,
  );
  return facts instanceof Promise
    ? facts.then(
        (read) => refuseByKeyNow(caller, parts.projections.accounts, parts.clock()) ?? admitRead(incoming, read, parts),
      )
    : admitRead(incoming, facts, parts);
}

function admitRead(
  incoming: IncomingRequest,
  facts: MessageFacts | Refusal,
  parts: AdmissionParts,
): Admitted | Refusal | Promise<Admitted | Refusal> {
  if (facts.type === 'refusal') return facts;
  const candidate = candidateOf(incoming, facts, parts);
  if ('code' in candidate) return candidate;
  const asked = { isStream: facts.isStream, inputTokens: candidate.inputTokensGuess };
  const limited = parts.rateLimits.ask(incoming.ticket, asked);
  if (limited !== null) return refusedFor(candidate.model, parts.clock(), limited);
  const admitted = admitCandidate(candidate, parts);
  return admitted instanceof Promise
    ? admitted.then((late) => orOnceReloaded(late, incoming, facts, parts))
    : orOnceReloaded(admitted, incoming, facts, parts);
}

/** Where only credits lack, and some are being bought, it waits for them, if it may. */
function orOnceReloaded(
  result: Admitted | Refusal,
  incoming: IncomingRequest,
  facts: MessageFacts,
  parts: AdmissionParts,
): Admitted | Refusal | Promise<Admitted | Refusal> {
  if (!lacksCredits(result)) return result;
  const { caller, client, bytes } = incoming;
  const refused = { client, bytes: bytes.length, isOnlyHeld: isOnlyHeld(result) };
  const wait = parts.reloadWaits.begin(caller.accountId, refused);
  return wait === null ? result : onceReloaded(wait, result, incoming, facts, parts);
}

/** Decided anew whenever its account has changed, as though it came then; what it took of its caller's limits it has. */
async function onceReloaded(
  wait: ReloadWait,
  refused: Refusal,
  incoming: IncomingRequest,
  facts: MessageFacts,
  parts: AdmissionParts,
): Promise<Admitted | Refusal> {
  try {
    for (;;) {
      await wait.change();
      if (incoming.client.hasLeft) return refused;
      const result = refuseAll(parts) ?? (await decide(incoming, facts, parts));
      if (!lacksCredits(result) || !wait.goesOn()) return result;
      wait.isOnlyHeld = isOnlyHeld(result);
    }
  } finally {
    if (incoming.observed !== null) incoming.observed.reloadWaitMs = wait.ms;
    wait.end();
  }
}

function decide(
  incoming: IncomingRequest,
  facts: MessageFacts,
  parts: AdmissionParts,
): Admitted | Refusal | Promise<Admitted | Refusal> {
  const candidate = candidateOf(incoming, facts, parts);
  return 'code' in candidate ? candidate : admitCandidate(candidate, parts);
}

const lacksCredits = (result: Admitted | Refusal): result is Refusal =>
  result.type === 'refusal' && result.lacksCreditsAlone === true;

/** Then it says when to come again. */
const isOnlyHeld = ({ retryAfterS }: Refusal): boolean => retryAfterS !== undefined;

function admitCandidate(candidate: Candidate, parts: AdmissionParts): Admitted | Refusal | Promise<Admitted | Refusal> {
  const bound = inputTokensBound(candidate.facts.size, candidate.terms.contextWindow);
  const held = hold(candidate, bound, parts);
  if (held === null) return holdUnderLease(candidate, bound, parts);
  if (held.type === 'admitted' || !mayFitByCount(candidate, bound, parts)) return held;
  return admitByCount(candidate, bound, held, parts);
}

/** As things are now, whatever they were before a wait: nothing may be admitted any more, or its caller may not call. */
function refuseNow({ caller, model }: Candidate, parts: AdmissionParts): Refusal | null {
  const nowMs = parts.clock();
  const refused = parts.availability.refuse() ?? refuseByStanding(caller, parts.projections.accounts, nowMs);
  return refused === null ? null : refusedFor(model, nowMs, refused);
}

/** Nothing can come between the look at caller and money, and the hold; null: a lease has no room for it yet. */
function hold(candidate: Candidate, inputTokens: number, parts: AdmissionParts): Admitted | Refusal | null {
  const { model } = candidate;
  const refusedNow = refuseNow(candidate, parts);
  if (refusedNow !== null) return refusedNow;
  const request = moneyRequest(candidate, inputTokens, parts);
  const { account, accountId, keyId, worst, nowMs } = request;
  const refused =
    refuseByStart(candidate, nowMs) ??
    (worst.hold === 0n ? null : refuseByClaim(parts)) ??
    refuseByMoney(request, parts.projections.accounts, takenByHolds(request, parts.holds));
  if (refused !== null) return refusedFor(model, nowMs, refused);
  const lease = worst.hold === 0n ? null : (parts.fleet?.leases.scopeOf(account, keyId, nowMs) ?? null);
  if (lease !== null && parts.fleet?.takeRoom(accountId, account, lease, worst.hold) === false) return null;
  const money = openRequest(candidate, request, lease?.leaseId ?? null, parts);
  return 'code' in money ? money : { type: 'admitted', ...candidate, money, admittedAtMs: nowMs };
}

/** Its id says when it came, and what stands in the ledger of it when it started: the two are of one time. */
function refuseByStart({ requestId }: Candidate, nowMs: number): Refusal | null {
  const isOfOneTime = Math.abs(nowMs - timeOfRequest(requestId)) <= LIMITS.requestStartMs;
  return isOfOneTime
    ? null
    : refusal('gateway_overloaded', 'the clock was set while the request came: send it again', 1);
}

/** What costs nothing needs no claim, and goes on. */
function refuseByClaim({ claimDoubt }: AdmissionParts): Refusal | null {
  const why = claimDoubt();
  return why === null ? null : refusal('gateway_overloaded', why, OUTAGE_RETRY_S);
}

function moneyRequest(candidate: Candidate, inputTokens: number, parts: AdmissionParts): MoneyRequest {
  const { accountId, key } = candidate.caller;
  const { state: account } = parts.projections.accounts.read(accountId);
  if (account.type === 'unopened') throw new Error(`${accountId} was authenticated and is not open`);
  const worst = worstOf(candidate, inputTokens);
  const maxTokens = candidate.facts.maxTokens;
  const behind = {
    fieldBehind: candidate.facts.size.behind,
    betaBehind: candidate.terms.behind,
    ...remediesOf(candidate),
  };
  return { accountId, account, keyId: key.keyId, worst, maxTokens, ...behind, nowMs: parts.clock() };
}

/** What its caller can do for a smaller hold, or has to know of it. */
function remediesOf({ facts: { size }, terms, deployments }: Candidate): Remedies {
  const isPaid = ({ name }: AskedUse): boolean => (rateOfUse(terms.rateCard, name) ?? 0n) > 0n;
  const bounded = size.uses.find((use) => use.most > 1 && use.name !== 'code_execution_requests' && isPaid(use));
  return {
    takenAsWorst: size.usesAnything,
    // Where anything may be used, what one tool may is no matter.
    fewerUses:
      bounded === undefined || size.usesAnything
        ? null
        : { path: bounded.path.replace(/type$/, 'max_uses'), most: bounded.most - 1 },
    mayBeCounted: !size.isFedFromOutside && deployments.some(canCount),
  };
}

/** Waits until credit is leased for the request, which is then held, or says why it cannot be. */
async function holdUnderLease(
  candidate: Candidate,
  inputTokens: number,
  parts: AdmissionParts,
): Promise<Admitted | Refusal> {
  const { fleet } = parts;
  if (fleet === null) throw new Error('a lease is needed where there are none');
  const { accountId, keyId, worst } = moneyRequest(candidate, inputTokens, parts);
  let held: Admitted | Refusal | null = null;
  const outcome = await fleet.queue.whenHeld(accountId, {
    keyId,
    need: worst.hold,
    client: candidate.client,
    tryHold: () => {
      held = hold(candidate, inputTokens, parts);
      return held !== null;
    },
  });
  if (held !== null) return held;
  const refusedNow = refuseNow(candidate, parts);
  if (refusedNow !== null) return refusedNow;
  return refusedFor(candidate.model, parts.clock(), refuseWithoutLease(candidate, inputTokens, outcome, parts));
}

function refuseWithoutLease(
  candidate: Candidate,
  inputTokens: number,
  outcome: 'held' | NoLease,
  parts: AdmissionParts,
): Refusal {
  const aside = refuseSetAside(candidate.caller.accountId, parts.projections.accounts);
  if (aside !== null) return aside;
  if (outcome === 'log_away')
    return refusal('gateway_overloaded', 'the event log does not answer, and no credit is set aside here', 5);
  const request = moneyRequest(candidate, inputTokens, parts);
  const taken = parts.fleet?.takenByLeases(request) ?? takenByHolds(request, parts.holds);
  return (
    refuseByMoney(request, parts.projections.accounts, taken) ??
    refusal('gateway_overloaded', 'credit that is set aside for other requests has not come back in time', 1)
  );
}

const worstOf = ({ model, terms, facts, mayRunFast }: Candidate, inputTokens: number) =>
  worstCase(terms.rateCard, mayRunFast ? 'fast' : 'standard', {
    inputTokens,
    inputClass: dearestInputClass(facts.size, model.caching),
    maxTokens: facts.maxTokens,
    uses: costOfUses(facts.size, terms.rateCard),
  });

/** Whether the request may fit once its input is counted: what it is at least likely to have fits now. */
function mayFitByCount(candidate: Candidate, bound: number, parts: AdmissionParts): boolean {
  const { facts, deployments } = candidate;
  if (parts.claimDoubt() !== null) return false;
  // The bytes of what fills the window say nothing of its tokens, which may be few.
  const guess = facts.size.fillsWindow ? 0 : candidate.inputTokensGuess;
  if (facts.size.isFedFromOutside || !deployments.some(canCount) || guess >= bound) return false;
  const request = moneyRequest(candidate, guess, parts);
  return refuseByMoney(request, parts.projections.accounts, takenByHolds(request, parts.holds)) === null;
}

/** Holds by the largest count, and runs nowhere else: another's tokenizer may count the same text as more. */
async function admitByCount(
  candidate: Candidate,
  bound: number,
  refused: Refusal,
  parts: AdmissionParts,
): Promise<Admitted | Refusal> {
  const endOfCount = parts.rateLimits.beginCount(candidate.ticket);
  if (typeof endOfCount !== 'function') return refusedFor(candidate.model, parts.clock(), endOfCount);
  const counted = await countAtAll(candidate).finally(endOfCount);
  if (counted.length === 0 || candidate.client.hasLeft) return refuseNow(candidate, parts) ?? refused;
  const inputTokensCounted = Math.max(...counted.map((count) => count.tokens));
  const tokens = inputTokensByCount(inputTokensCounted, bound);
  const narrowed = { ...candidate, inputTokensCounted, deployments: counted.map(({ deployment }) => deployment) };
  return hold(narrowed, tokens, parts) ?? holdUnderLease(narrowed, tokens, parts);
}

interface CountedAt {
  readonly deployment: Deployment;
  readonly tokens: number;
}

async function countAtAll({ deployments, ...asked }: Candidate): Promise<CountedAt[]> {
  const { bytes, facts, owner, client, version, terms, trace } = asked;
  const call = { bytes, facts, owner, client, version, beta: terms.beta, trace };
  const counts = await Promise.all(
    deployments.filter(canCount).map(async (deployment) => {
      const counted = await countUpstream(deployment, call);
      return counted.type === 'counted' ? [{ deployment, tokens: counted.inputTokens }] : [];
    }),
  );
  return counts.flat();
}

const canCount = ({ upstream }: Deployment): boolean => upstream.countsTokens;
