import { mayBeEstimated, type Outcome } from '../../contracts/events.ts';
import { type MicroUsd, mostDebited, PICO_PER_MICRO } from '../../contracts/money.ts';
import { type RateCard, rateInLane } from '../../contracts/rate-card.ts';
import { type Lane, NO_TOKENS, type TokenClass, type TokenCounts } from '../../contracts/usage.ts';
import { type BilledUsage, rateUsage } from '../../ledger/rating.ts';
import type { Ending } from '../../ledger/settlement/request-record.ts';
import { isReported, nothingSeen, type SeenUsage, saysUsage, tokenCounts } from '../meter/seen-usage.ts';
import { tokensOfMillitokens } from '../tokens/text-tokens.ts';
import { extrasOf, unreadOf } from './answer-extras.ts';

export interface EndedRequest {
  readonly outcome: Exclude<Outcome, 'recovered'>;
  readonly upstream: Ending['upstream'];
  /** Null where no answer with status 200 began. */
  readonly seen: SeenUsage | null;
  /** The upstream's last word on usage has come. */
  readonly isFinal: boolean;
  readonly maxTokens: number;
  /** What its input is, in the cheapest class that it can be; asked for only where the upstream has not said it. */
  readonly estimateInput: () => TokenCounts;
  readonly card: RateCard;
  /** The most that it may be debited; null where that is not known. */
  readonly hold: MicroUsd | null;
  /** It asked for the fast lane, and the model has one. */
  readonly mayRunFast: boolean;
  readonly chargeInterrupted: 'none' | 'reported';
  readonly nowMs: number;
}

/**
 * How a request ended, as it is settled. Reported usage is taken as it is. Where the upstream's last word is missing in
 * an answer that the client got, or that it left, what was reported up to then stands and the rest is estimated: output
 * from the text that was seen, never above max_tokens; input by count or text; both together never above the hold
 * (What holds, 15).
 */
export function endingOf(request: EndedRequest): Ending {
  const { outcome, upstream, seen, nowMs } = request;
  const lane = laneOf(seen, request.mayRunFast);
  const isWhole = seen !== null && request.isFinal && isReported(seen);
  const isEstimated = !isWhole && mayBeEstimated(outcome);
  const billable = isBillable(request);
  const extras = extrasIn(seen, billable, request.card);
  return {
    upstream,
    tokens: isEstimated
      ? estimate(request, { lane, uses: extras.uses ?? {} })
      : seen === null
        ? NO_TOKENS
        : tokenCounts(seen),
    lane,
    outcome,
    // Of what nobody has said anything the zeros are the gateway's own.
    source: isEstimated || seen === null || !saysUsage(seen) ? 'estimated' : 'reported',
    billable,
    ...extras,
    finishedAt: new Date(nowMs).toISOString(),
  };
}

function extrasIn(seen: SeenUsage | null, billable: boolean, card: RateCard): Pick<Ending, 'uses' | 'unpriced'> {
  if (seen === null) return {};
  return billable ? extrasOf(seen, card) : unreadOf(seen);
}

/** What a client left is charged though no answer has begun: its upstream had the request, and was not heard any more. */
function isBillable({ outcome, seen, chargeInterrupted }: EndedRequest): boolean {
  switch (outcome) {
    case 'completed':
    case 'client_disconnected':
      return true;
    case 'upstream_interrupted':
      return seen !== null && chargeInterrupted === 'reported';
    case 'upstream_refused':
      return false;
    default:
      return outcome satisfies never;
  }
}

function estimate(request: EndedRequest, billed: BilledBeside): TokenCounts {
  const seen = request.seen ?? nothingSeen();
  const reported = tokenCounts(seen);
  const isOutputKnown = request.isFinal && seen.outputTokens !== null;
  const ofText = Math.min(tokensOfMillitokens(seen.textMillitokens), request.maxTokens);
  const output = isOutputKnown ? reported.output : Math.max(reported.output, ofText);
  const input = seen.inputTokens === null ? inputBeside(reported, request.estimateInput()) : reported;
  return withinHold(reported, { ...input, output }, billed, request);
}

/** The classes of cached input may have been reported without the rest: then they are part of what is estimated. */
function inputBeside(reported: TokenCounts, estimated: TokenCounts): TokenCounts {
  const known = reported.cacheRead + reported.cacheWrite5m + reported.cacheWrite1h;
  const input: Counts = { ...reported };
  for (const name of INPUT_CLASSES) input[name] += Math.max(0, estimated[name] - known);
  return input;
}

const INPUT_CLASSES = ['input', 'cacheRead', 'cacheWrite5m', 'cacheWrite1h'] as const;
const ESTIMATED_CLASSES = ['output', ...INPUT_CLASSES] as const;

/** Takes from what was estimated, and never from what was reported, until it fits the hold. */
function withinHold(
  reported: TokenCounts,
  tokens: TokenCounts,
  billed: BilledBeside,
  request: EndedRequest,
): TokenCounts {
  const { hold, card } = request;
  if (hold === null) return tokens;
  const fitting: Counts = { ...tokens };
  for (const name of ESTIMATED_CLASSES) {
    const { cost } = rateUsage({ tokens: fitting, ...billed }, card);
    const rate = rateInLane(card, name, billed.lane);
    if (mostDebited(cost) <= hold || rate === 0n) continue;
    const over = (cost - hold * PICO_PER_MICRO + rate - 1n) / rate;
    const estimated = BigInt(Math.max(0, fitting[name] - reported[name]));
    fitting[name] -= Number(over < estimated ? over : estimated);
  }
  return fitting;
}

/** What decides what tokens cost, and what costs beside them. */
type BilledBeside = Omit<BilledUsage, 'tokens'>;

type Counts = { -readonly [C in TokenClass]: number };

/** Priority capacity that nobody asked for: it costs standard prices, and is counted. */
export const isPriorityUnasked = (seen: SeenUsage | null, mayRunFast: boolean): boolean =>
  !mayRunFast && seen?.serviceTier === 'priority';

/** Fast only where the answer says so, and it was asked for: only then does the hold cover it (interface, 5.3). */
function laneOf(seen: SeenUsage | null, mayRunFast: boolean): Lane {
  return mayRunFast && seen?.serviceTier === 'priority' ? 'fast' : 'standard';
}
