import type { AccountEvent } from '../../contracts/events.ts';
import type { AccountId, Revision } from '../../contracts/ids.ts';
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
