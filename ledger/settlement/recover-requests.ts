import { z } from 'zod';
import { decodeEvent } from '../../contracts/event-codec.ts';
import type { EventLog } from '../../contracts/event-log.ts';
import type { UsageRecorded } from '../../contracts/events.ts';
import { type AccountId, accountStream, type LeaseId, type RequestId, revision } from '../../contracts/ids.ts';
import type { RecoveredRequest } from '../journal/journal.ts';
import { endingSchema, recoveredEnding, type StartedRequest, startedRequestSchema, usageOf } from './request-record.ts';

const finishedSchema = z.strictObject({ started: startedRequestSchema, ending: endingSchema });

/** A request of an earlier run that the ledger does not have. */
export interface UnsettledRequest {
  readonly accountId: AccountId;
  readonly usage: UsageRecorded;
  readonly leaseId: LeaseId | null;
}

export interface JournalFindings {
  /** To be settled: with the usage that was seen, or as `recovered` and not charged where none was. */
  readonly unsettled: readonly UnsettledRequest[];
  /** The ledger has them: only the journal had not heard of it. */
  readonly recorded: readonly RequestId[];
}

/**
 * What is to become of the requests that the journal still holds after a restart. A request's usage can only stand
 * after the revision that its account had when it began, so that much of the stream tells whether it is there.
 * @throws Error when a journal text is not of its form.
 */
export async function examineRecovered(
  log: EventLog,
  recovered: readonly RecoveredRequest[],
  nowMs: number,
): Promise<JournalFindings> {
  const requests = recovered.map((request) => readRecovered(request, nowMs));
  const unsettled: UnsettledRequest[] = [];
  const recorded: RequestId[] = [];
  for (const [accountId, ofAccount] of Map.groupBy(requests, ({ started }) => started.accountId)) {
    const since = Math.min(...ofAccount.map(({ started }) => started.accountRevision));
    const known = await recordedSince(log, accountId, since);
    for (const { usage, started } of ofAccount) {
      if (known.has(usage.requestId)) recorded.push(usage.requestId);
      else unsettled.push({ accountId, usage, leaseId: started.leaseId ?? null });
    }
  }
  return { unsettled, recorded };
}

function readRecovered(request: RecoveredRequest, nowMs: number): { started: StartedRequest; usage: UsageRecorded } {
  // The finished text holds the start, too, so it is enough where the part of the journal with the start is damaged.
  if (request.finished !== null) {
    const { started, ending } = finishedSchema.parse(JSON.parse(request.finished));
    return { started, usage: usageOf(request.requestId, started, ending) };
  }
  if (request.start === null) throw new Error(`${request.requestId}: the journal has neither its start nor its end`);
  const started = startedRequestSchema.parse(JSON.parse(request.start));
  return { started, usage: usageOf(request.requestId, started, recoveredEnding(started, nowMs)) };
}

async function recordedSince(log: EventLog, accountId: AccountId, since: number): Promise<Set<RequestId>> {
  const recorded = new Set<RequestId>();
  for await (const event of log.readStream(accountStream(accountId), { from: revision(since + 1) })) {
    if (event.type !== 'UsageRecorded') continue;
    const decoded = decodeEvent(event);
    if (decoded.type === 'UsageRecorded') recorded.add(decoded.data.requestId);
  }
  return recorded;
}
