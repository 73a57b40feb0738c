import { decodeEvent } from '../../contracts/event-codec.ts';
import type { EventLog } from '../../contracts/event-log.ts';
import { type AccountEvent, isAccountEvent } from '../../contracts/events.ts';
import { type AccountId, accountStream, type Revision, revision } from '../../contracts/ids.ts';
import type { AccountSnapshot } from './load-account.ts';

/**
 * The accounts as this process knows them: each a fold of its stream up to a revision. A port of settlement, which
 * decides on it and folds its own appends into it at once; the projections implement it.
 */
export interface AccountBook {
  read(accountId: AccountId): AccountSnapshot;
  /**
   * Folds the event at a revision of the account's stream. One that was folded before is ignored, so that events may
   * come from an own append, from a read and from the subscription. @throws Error when a revision is left out.
   */
  fold(accountId: AccountId, revision: Revision, event: AccountEvent): void;
  /** Called after each event that `fold` took, from wherever it came. */
  onFolded(listener: (accountId: AccountId, event: AccountEvent) => void): void;
}

/** Folds what an own append has written behind a revision. */
export function foldAppended(
  book: AccountBook,
  accountId: AccountId,
  after: Revision,
  events: readonly AccountEvent[],
): void {
  for (const [index, event] of events.entries()) book.fold(accountId, revision(after + 1 + index), event);
}

/** Reads what others, or an append of ours whose answer was lost, have written since, and folds it into the book. */
export async function catchUpBook(log: EventLog, book: AccountBook, accountId: AccountId): Promise<void> {
  const from = revision(book.read(accountId).revision + 1);
  for await (const recorded of log.readStream(accountStream(accountId), { from })) {
    const event = decodeEvent(recorded);
    if (!isAccountEvent(event)) throw new Error(`${recorded.stream}: ${event.type} does not belong there`);
    book.fold(accountId, recorded.revision, event);
  }
}
