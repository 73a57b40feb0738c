import type { Outcome } from '../../contracts/events.ts';
import { type Lane, NO_TOKENS, type TokenCounts } from '../../contracts/usage.ts';
import type { Ending } from '../../ledger/settlement/request-record.ts';
import { isReported, type SeenUsage, tokenCounts } from '../meter/seen-usage.ts';

/** Bytes of stream that are counted as one token where the upstream did not say: an event is longer, so it is too few. */
const STREAM_BYTES_PER_TOKEN = 128;

export interface EndedRequest {
  readonly outcome: Exclude<Outcome, 'recovered'>;
  readonly upstream: Ending['upstream'];
  /** Null where no answer with status 200 began. */
  readonly seen: SeenUsage | null;
  /** The upstream's last word on usage has come. */
  readonly isFinal: boolean;
  readonly isStream: boolean;
  readonly maxTokens: number;
  readonly inputTokensGuess: number;
  /** It asked for the fast lane, and the model has one. */
  readonly mayRunFast: boolean;
  readonly chargeInterrupted: 'none' | 'reported';
  readonly nowMs: number;
}

/**
 * How a request ended, as it is settled. Reported usage is taken as it is; where the upstream's last word is missing,
 * what was seen stands, with the output estimated from the stream's length and never above max_tokens.
 */
export function endingOf(request: EndedRequest): Ending {
  const { outcome, upstream, seen, nowMs } = request;
  const isReportedWhole = seen !== null && request.isFinal && isReported(seen);
  return {
    upstream,
    tokens: seen === null ? NO_TOKENS : isReportedWhole ? tokenCounts(seen) : estimate(request, seen),
    lane: laneOf(seen, request.mayRunFast),
    outcome,
    source: seen === null || isReportedWhole || outcome === 'upstream_interrupted' ? 'reported' : 'estimated',
    billable: isBillable(request),
    finishedAt: new Date(nowMs).toISOString(),
  };
}

function isBillable({ outcome, seen, chargeInterrupted }: EndedRequest): boolean {
  if (seen === null || outcome === 'upstream_refused') return false;
  return outcome !== 'upstream_interrupted' || chargeInterrupted === 'reported';
}

function estimate(request: EndedRequest, seen: SeenUsage): TokenCounts {
  const reported = tokenCounts(seen);
  // What an upstream broke off is never charged by estimate.
  if (request.outcome === 'upstream_interrupted') return reported;
  const streamed = request.isStream ? Math.floor(seen.bytes / STREAM_BYTES_PER_TOKEN) : 0;
  const isOutputKnown = request.isFinal && seen.outputTokens !== null;
  const output = isOutputKnown ? reported.output : Math.max(reported.output, Math.min(streamed, request.maxTokens));
  const input = seen.inputTokens ?? request.inputTokensGuess;
  return { ...reported, input, output };
}

/**
 * The fast lane is billed only when the answer says so. A priority that nobody asked for costs standard prices: the
 * specification doubles requests with `speed: fast`, and only for those does the hold cover it (rule 7).
 */
function laneOf(seen: SeenUsage | null, mayRunFast: boolean): Lane {
  return mayRunFast && seen?.serviceTier === 'priority' ? 'fast' : 'standard';
}
