import assert from 'node:assert/strict';
import type { AppendResult, ProposedEvent } from '../../../contracts/event-log.ts';
import { position, revision, type StreamName } from '../../../contracts/ids.ts';
import type { WaitingAppend } from './append-outbox.ts';
import { APPENDED, CONFLICT, FIELDS_PER_OUTCOME, REPEATED } from './messages.ts';

/** Events that are in the log now and were not before: the last of them has this revision and this position. */
export interface CommittedAppend {
  readonly stream: StreamName;
  readonly events: readonly ProposedEvent[];
  readonly lastRevision: number;
  readonly lastPosition: number;
}

/** Each append's result, and of the group what was newly written, in log order. */
export function outcomesOf(
  appends: readonly WaitingAppend[],
  outcomes: readonly number[],
): { committed: CommittedAppend[]; results: AppendResult[] } {
  assert(outcomes.length === appends.length * FIELDS_PER_OUTCOME, 'each append of the group has its outcome');
  const committed: CommittedAppend[] = [];
  const results = appends.map(({ stream, events }, index): AppendResult => {
    const [outcome, lastRevision = 0, lastPosition = 0] = outcomes.slice(
      index * FIELDS_PER_OUTCOME,
      (index + 1) * FIELDS_PER_OUTCOME,
    );
    if (outcome === CONFLICT) return { type: 'conflict', actualRevision: revision(lastRevision) };
    assert(outcome === APPENDED || outcome === REPEATED, 'an outcome is one of three');
    if (outcome === APPENDED) committed.push({ stream, events, lastRevision, lastPosition });
    return { type: 'appended', lastRevision: revision(lastRevision), position: position(lastPosition) };
  });
  return { committed, results };
}
