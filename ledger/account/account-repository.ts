import { type EventLog, HiddenStreamError } from '../../contracts/event-log.ts';
import type { AccountEvent } from '../../contracts/events.ts';
import { type AccountId, accountStream, type Revision, revision } from '../../contracts/ids.ts';
import { accountEventOf } from './account-event.ts';
import { AccountUnreadableError } from './account-unreadable-error.ts';
import type { AccountSnapshot } from './load-account.ts';

/**
 * The accounts as this process knows them: each a fold of its stream up to a revision. A port of settlement, which
 * decides on it and folds its own appends into it at once; the projections implement it.
 */
export interface AccountRepository {
  read(accountId: AccountId): AccountSnapshot;
  /**
   * Folds the event at a revision of the account's stream. One that was folded before is ignored, so that events may
   * come from an own append, from a read and from the subscription. @throws Error when a revision is left out;
   * AccountUnreadableError when it cannot follow what stands before it.
   */
  fold(accountId: AccountId, revision: Revision, event: AccountEvent): void;
  /** Called after each event that `fold` took, from wherever it came. */
  onFolded(listener: (accountId: AccountId, event: AccountEvent) => void): void;
  /** In one line, why nothing can be decided on an account: its events cannot be relied on; null where they can. */
  whyAside(accountId: AccountId): string | null;
  /** Nothing can be decided on the account from here on, until all of its events can be relied on again. */
  putAside(accountId: AccountId, why: AsideReason): void;
  /** Called when an account can be decided on again: everything that its stream had by then is folded. */
  onReturned(listener: (accountId: AccountId) => void): void;
}

/** An event of an account that cannot be read or applied, or a stream of which the log's server hides events. */
export type AsideReason = AccountUnreadableError | HiddenStreamError;

export const isAsideReason = (error: unknown): error is AsideReason =>
  error instanceof AccountUnreadableError || error instanceof HiddenStreamError;

/** What was read of an account, or why its events cannot be relied on. @throws as the reading otherwise */
export async function readOrReason<T>(reading: Promise<T>): Promise<T | AsideReason> {
  try {
    return await reading;
  } catch (error) {
    if (isAsideReason(error)) return error;
    throw error;
  }
}

/** The account is set aside: nothing was decided on it, and nothing appended. */
class AccountAsideError extends Error {
  override readonly name = 'AccountAsideError';

  constructor(accountId: AccountId, why: string, options?: ErrorOptions) {
    super(`${accountId} is set aside: ${why}`, options);
  }
}

/** What is done on an account; what says that its events cannot be relied on sets it aside. @throws AccountAsideError then */
export async function unlessAside<T>(
  repository: AccountRepository,
  accountId: AccountId,
  work: () => Promise<T>,
): Promise<T> {
  const why = repository.whyAside(accountId);
  if (why !== null) throw new AccountAsideError(accountId, why);
  try {
    return await work();
  } catch (error) {
    if (!isAsideReason(error)) throw error;
    repository.putAside(accountId, error);
    throw new AccountAsideError(accountId, error.message, { cause: error });
  }
}

/** Folds what an own append has written behind a revision. */
export function foldAppended(
  repository: AccountRepository,
  accountId: AccountId,
  after: Revision,
  events: readonly AccountEvent[],
): void {
  for (const [index, event] of events.entries()) repository.fold(accountId, revision(after + 1 + index), event);
}

/**
 * Reads what others, or an append of ours whose answer was lost, have written since, and folds it into the repository.
 * @throws EventLogError; AccountUnreadableError for an event that cannot be read or applied
 */
export async function catchUpAccount(
  log: EventLog,
  repository: AccountRepository,
  accountId: AccountId,
): Promise<void> {
  const from = revision(repository.read(accountId).revision + 1);
  for await (const recorded of log.readStream(accountStream(accountId), { from }))
    repository.fold(accountId, recorded.revision, accountEventOf(accountId, recorded));
}

/** The same for whoever goes through many accounts: one whose events cannot be relied on is set aside. @throws EventLogError */
export async function catchUpOrPutAside(
  log: EventLog,
  repository: AccountRepository,
  accountId: AccountId,
): Promise<void> {
  try {
    await catchUpAccount(log, repository, accountId);
  } catch (error) {
    if (!isAsideReason(error)) throw error;
    repository.putAside(accountId, error);
  }
}
