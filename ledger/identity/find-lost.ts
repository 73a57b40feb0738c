import type { EventLog, RecordedEvent } from '../../contracts/event-log.ts';
import { NO_STREAM, revision } from '../../contracts/ids.ts';
import { type Claim, claimsOf, type LedgerKnowledge } from './known-ledger.ts';
import { IDENTITY_LIMITS } from './limits.ts';

/** A stream of which more is known than the ledger has. */
export interface LostRange extends Claim {
  /** The last revision that the ledger has in common with what is known, as far as that can be told; -1 is none. */
  readonly has: number;
  /** The ledger has another event in the place of the one that is known: it went on after it had lost it. */
  readonly isReplaced: boolean;
}

/** Which of the known events a ledger does not have. @throws EventLogError when the log does not answer: that is no loss */
export async function findLost(log: EventLog, known: readonly LedgerKnowledge[]): Promise<LostRange[]> {
  const claims = claimsOf(known);
  const lost: LostRange[] = [];
  for (let from = 0; from < claims.length; from += IDENTITY_LIMITS.readsAtOnce) {
    const some = claims.slice(from, from + IDENTITY_LIMITS.readsAtOnce);
    for (const one of await Promise.all(some.map((claim) => missing(log, claim)))) if (one !== null) lost.push(one);
  }
  return lost;
}

async function missing(log: EventLog, claim: Claim): Promise<LostRange | null> {
  const there = await eventAt(log, claim);
  if (there !== null && (claim.id === null || there.id === claim.id)) return null;
  if (there !== null) return { ...claim, has: claim.revision - 1, isReplaced: true };
  for await (const { revision } of log.readStream(claim.stream, { direction: 'backwards', limit: 1 }))
    return { ...claim, has: revision, isReplaced: false };
  return { ...claim, has: NO_STREAM, isReplaced: false };
}

async function eventAt(log: EventLog, { stream, revision: at }: Claim): Promise<RecordedEvent | null> {
  for await (const event of log.readStream(stream, { from: revision(at), limit: 1 }))
    return event.revision === at ? event : null;
  return null;
}
