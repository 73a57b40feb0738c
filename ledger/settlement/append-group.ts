import { encodeEvents } from '../../contracts/event-codec.ts';
import { type EventLog, EventLogError, type ProposedEvent } from '../../contracts/event-log.ts';
import type { AccountEvent } from '../../contracts/events.ts';
import { type AccountId, accountStream, commandOfLateUsage, commandOfRequest } from '../../contracts/ids.ts';
import { LIMITS } from '../../contracts/limits.ts';
import { type AccountRepository, catchUpAccount, foldAppended, isAsideReason } from '../account/account-repository.ts';
import { decide } from '../account/decide.ts';
import { evolve } from '../account/evolve.ts';
import type { Timing } from '../timing.ts';
import type { AwaitedFolds } from './awaited-folds.ts';
import { commandOf, type PendingRequest } from './pending-request.ts';
import type { PendingRequests } from './pending-requests.ts';

/** Other writers of the account were always first. */
export class ContentionError extends Error {
  override readonly name = 'ContentionError';
}

export interface GroupAppendParts {
  readonly log: EventLog;
  readonly repository: AccountRepository;
  readonly clock: () => number;
  readonly timing: Timing;
  readonly pending: PendingRequests;
  readonly awaited: AwaitedFolds;
  readonly isClosed: () => boolean;
}

/**
 * Brings the requests of one account into the ledger, as one append at the revision that the repository knows, and again after
 * each conflict, until none of them is pending or the settlement is closed.
 * @throws EventLogError, or ContentionError where others were first too often in a row; what is pending then stays so
 */
export async function appendGroup(
  accountId: AccountId,
  group: readonly PendingRequest[],
  parts: GroupAppendParts,
): Promise<void> {
  const { log, repository, timing } = parts;
  for (let conflicts = 0; !parts.isClosed(); ) {
    const { events, proposed, at } = decideGroup(accountId, group, parts);
    if (proposed.length === 0) return;
    try {
      const result = await log.append(accountStream(accountId), at, proposed);
      if (result.type === 'appended') {
        foldAppended(repository, accountId, at, events);
        conflicts = 0;
      } else {
        const { actualRevision } = result;
        // A log that says less than the repository knows is asked why.
        if (actualRevision <= at || !(await parts.awaited.has(accountId, actualRevision)))
          await catchUpAccount(log, repository, accountId);
        conflicts++;
      }
    } catch (error) {
      if (error instanceof EventLogError && error.kind === 'invalid' && !isAsideReason(error))
        return appendOneByOne(accountId, group, error, parts);
      throw error;
    }
    if (conflicts >= LIMITS.settlementAttemptsMax)
      throw new ContentionError(`${conflicts} conflicts in a row on ${accountId}`);
    // Who has lost twice lets others go first for a moment: of several that always start together one always loses.
    if (conflicts > 1) await timing.pause(timing.random() * conflicts * LIMITS.settlementLingerMs);
  }
}

/** The log will never take this append as it is: the requests that it would take are told from those that are stuck. */
async function appendOneByOne(
  accountId: AccountId,
  group: readonly PendingRequest[],
  error: EventLogError,
  parts: GroupAppendParts,
): Promise<void> {
  const left = group.filter((request) => parts.pending.has(request));
  const [only, ...others] = left;
  if (only !== undefined && others.length === 0) parts.pending.giveUp(only, error);
  else for (const request of left) await appendGroup(accountId, [request], parts);
}

/** Decides each request that is still pending on the state that the one before it leaves. */
function decideGroup(accountId: AccountId, group: readonly PendingRequest[], parts: GroupAppendParts) {
  const { repository, clock, pending } = parts;
  const snapshot = repository.read(accountId);
  const recordedAt = new Date(clock()).toISOString();
  const events: AccountEvent[] = [];
  const proposed: ProposedEvent[] = [];
  let bytes = 0;
  let { state } = snapshot;
  for (const request of group) {
    if (!pending.has(request) || request.recorded) continue;
    try {
      const decided = decide(commandOf(request), state);
      if ('type' in decided) throw new Error(`${accountId}: ${decided.message}`);
      if (decided.length === 0) {
        // Its late usage was reported before.
        pending.settled(request);
        continue;
      }
      request.hasDebit = decided.some(({ type }) => type === 'CreditsDebited');
      const encoded = encodeRequest(request, decided, recordedAt);
      for (const event of decided) state = evolve(state, event);
      events.push(...decided);
      proposed.push(...encoded);
      bytes += encoded.reduce((sum, { data, metadata }) => sum + data.length + metadata.length, 0);
      // The rest of the group goes with the next append.
      if (bytes > LIMITS.appendBytesMax / 2) break;
    } catch (error) {
      pending.giveUp(request, error);
    }
  }
  return { events, proposed, at: snapshot.revision };
}

function encodeRequest({ usage, isLate }: PendingRequest, decided: readonly AccountEvent[], recordedAt: string) {
  const commandId = isLate ? commandOfLateUsage(usage.requestId) : commandOfRequest(usage.requestId);
  return encodeEvents(decided, { commandId, actor: usage.keyId, recordedAt });
}
