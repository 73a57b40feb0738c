import { type EventLog, EventLogError } from '../../contracts/event-log.ts';
import type { Outcome, UsageRecorded } from '../../contracts/events.ts';
import {
  type AccountId,
  accountStream,
  type LeaseId,
  NO_STREAM,
  type RequestId,
  revision,
} from '../../contracts/ids.ts';
import { accountEventOf } from '../account/account-event.ts';
import { type AsideReason, isAsideReason, readOrReason } from '../account/account-repository.ts';
import type { RecoveredRequest } from '../journal/journal.ts';
import { readRecovered } from './read-recovered.ts';

/** A request of an earlier run that the ledger does not have. */
export interface UnsettledRequest {
  readonly accountId: AccountId;
  readonly usage: UsageRecorded;
  readonly leaseId: LeaseId | null;
  /** The ledger has it as `recovered`, and the journal knows what it used. */
  readonly isLate: boolean;
  /** Of the claim under which it was admitted; 0 where none is known. */
  readonly epoch: number;
}

export interface JournalFindings {
  /** To be settled: with the usage that was seen, or as `recovered` and not charged where none was. */
  readonly unsettled: readonly UnsettledRequest[];
  /** The ledger has them: only the journal had not heard of it. */
  readonly recorded: readonly RequestId[];
  /** Accounts of which nothing can be told: their requests are in neither list. */
  readonly untold: ReadonlyMap<AccountId, AsideReason>;
}

/** The revision up to which settlement's repository has folded an account: -1 where it has nothing. */
type FoldedUpTo = (accountId: AccountId) => number;

/**
 * What is to become of the requests that the journal still holds after a restart. A request's usage can only stand
 * after the revision that its account had when it began, so that much of the stream tells whether it is there. What is
 * in the stream after the repository's revision settlement finds by itself.
 * Of accounts whose usage cannot be read, or whose events the log's server hides, nothing can be told.
 * @param ofEarlierGeneration requests that began in an earlier generation of the ledger: their usage can stand anywhere in the stream
 * @throws Error when a journal text is not of its form; EventLogError as `readStream`, and `unavailable` where the node
 *   that answers does not have yet what the repository has: a request could be there and not be seen.
 */
export async function reconcileRecovered(
  log: EventLog,
  recovered: readonly RecoveredRequest[],
  nowMs: number,
  foldedUpTo: FoldedUpTo = () => -1,
  ofEarlierGeneration: ReadonlySet<RequestId> = new Set(),
): Promise<JournalFindings> {
  const requests = recovered.map((request) => readRecovered(request, nowMs));
  const unsettled: UnsettledRequest[] = [];
  const recorded: RequestId[] = [];
  const untold = new Map<AccountId, AsideReason>();
  for (const [accountId, ofAccount] of Map.groupBy(requests, ({ started }) => started.accountId)) {
    const since = Math.min(
      ...ofAccount.map(({ started, usage }) =>
        ofEarlierGeneration.has(usage.requestId) ? NO_STREAM : started.accountRevision,
      ),
    );
    const known = await readOrReason(recordedSince(log, accountId, since, foldedUpTo));
    if (isAsideReason(known)) {
      untold.set(accountId, known);
      continue;
    }
    for (const { usage, started } of ofAccount) {
      const found = known.get(usage.requestId);
      const isLate = found === 'recovered' && usage.outcome !== 'recovered';
      if (found !== undefined && !isLate) recorded.push(usage.requestId);
      else unsettled.push({ accountId, usage, leaseId: started.leaseId ?? null, isLate, epoch: started.epoch ?? 0 });
    }
  }
  return { unsettled, recorded, untold };
}

async function recordedSince(
  log: EventLog,
  accountId: AccountId,
  since: number,
  foldedUpTo: FoldedUpTo,
): Promise<Map<RequestId, Outcome | 'late'>> {
  const recorded = new Map<RequestId, Outcome | 'late'>();
  // Taken before the reading: what is folded meanwhile is for whoever watches the repository.
  const mustReach = foldedUpTo(accountId);
  let reached = since;
  for await (const event of log.readStream(accountStream(accountId), { from: revision(since + 1) })) {
    reached = event.revision;
    if (event.type !== 'UsageRecorded' && event.type !== 'LateUsageReported') continue;
    const decoded = accountEventOf(accountId, event);
    if (decoded.type === 'UsageRecorded') recorded.set(decoded.data.requestId, decoded.data.outcome);
    if (decoded.type === 'LateUsageReported') recorded.set(decoded.data.requestId, 'late');
  }
  if (reached < mustReach)
    throw new EventLogError(
      'unavailable',
      `the log has ${accountId} up to ${reached} only, the views up to ${mustReach}`,
    );
  return recorded;
}
