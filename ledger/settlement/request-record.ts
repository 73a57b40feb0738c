import { z } from 'zod';
import {
  accountIdField,
  instantField,
  keyIdField,
  leaseIdField,
  microUsdField,
  rateCardRefField,
  tokenCountsField,
} from '../../contracts/event-fields.ts';
import { EVENT_SCHEMAS, type UsageRecorded } from '../../contracts/events.ts';
import type { RequestId } from '../../contracts/ids.ts';
import { NO_TOKENS } from '../../contracts/usage.ts';

const usageFields = EVENT_SCHEMAS.UsageRecorded.shape;

/** What the journal holds of a request before it goes upstream. */
export const startedRequestSchema = z.strictObject({
  accountId: accountIdField,
  /** The revision of the account's stream that was known then: the request's usage can only stand after it. */
  accountRevision: z.int().min(-1),
  keyId: keyIdField,
  model: z.string(),
  upstream: z.strictObject({ provider: z.string(), model: z.string() }),
  startedAt: instantField,
  rateCard: rateCardRefField,
  /** Absent where one proxy has all of an account's credit. */
  leaseId: leaseIdField.optional(),
  /** Of the claim under which it was admitted; absent where there is none, and in journals from before there were claims. */
  epoch: z.int().min(1).optional(),
  /** The most that it may be debited; absent in journals from before it was kept. */
  hold: microUsdField.optional(),
});
export type StartedRequest = z.infer<typeof startedRequestSchema>;

/** What the journal holds of a request once it has ended, however it ended. */
export const endingSchema = z.strictObject({
  upstream: usageFields.upstream,
  tokens: tokenCountsField,
  /** Absent where there was nothing of it, and in journals from before they were kept. */
  uses: usageFields.uses.optional(),
  unpriced: usageFields.unpriced.optional(),
  lane: usageFields.lane,
  outcome: usageFields.outcome,
  source: usageFields.source,
  billable: z.boolean(),
  finishedAt: instantField,
});
export type Ending = z.infer<typeof endingSchema>;

export function usageOf(requestId: RequestId, started: StartedRequest, ending: Ending): UsageRecorded {
  const { keyId, model, startedAt, rateCard, hold = null } = started;
  const { uses = {}, unpriced = [], ...rest } = ending;
  return { requestId, keyId, model, startedAt, rateCard, hold, uses, unpriced, ...rest };
}

/** A request's start as the journal holds it. */
export const startText = (started: StartedRequest): string =>
  JSON.stringify({ ...started, hold: started.hold?.toString() });

/** The ending of a request whose gateway died before any usage was seen: recorded, not charged. */
export function recoveredEnding(started: StartedRequest, nowMs: number): Ending {
  return {
    upstream: { ...started.upstream, requestId: null },
    tokens: NO_TOKENS,
    lane: 'standard',
    outcome: 'recovered',
    source: 'estimated',
    billable: false,
    // A clock may have been set back since.
    finishedAt: new Date(Math.max(nowMs, Date.parse(started.startedAt))).toISOString(),
  };
}
