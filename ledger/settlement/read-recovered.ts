import { z } from 'zod';
import type { UsageRecorded } from '../../contracts/events.ts';
import type { RecoveredRequest } from '../journal/journal.ts';
import { endingSchema, recoveredEnding, type StartedRequest, startedRequestSchema, usageOf } from './request-record.ts';

const finishedSchema = z.strictObject({ started: startedRequestSchema, ending: endingSchema });

/** A request that the journal has kept over a restart, as it is to be settled where the ledger has not heard of it. */
export interface ReadRequest {
  readonly started: StartedRequest;
  /** What was seen, or `recovered` and not charged where nothing was. */
  readonly usage: UsageRecorded;
}

/** @throws Error when a journal text is not of its form. */
export function readRecovered(request: RecoveredRequest, nowMs: number): ReadRequest {
  // The finished text holds the start, too, so it is enough where the part of the journal with the start is damaged.
  if (request.finished !== null) {
    const { started, ending } = finishedSchema.parse(JSON.parse(request.finished));
    return { started, usage: usageOf(request.requestId, started, ending) };
  }
  if (request.start === null) throw new Error(`${request.requestId}: the journal has neither its start nor its end`);
  const started = startedRequestSchema.parse(JSON.parse(request.start));
  return { started, usage: usageOf(request.requestId, started, recoveredEnding(started, nowMs)) };
}
