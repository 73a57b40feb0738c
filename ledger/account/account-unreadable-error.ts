import type { AccountId, Revision } from '../../contracts/ids.ts';
import { UnreadableEventError } from '../../contracts/unreadable-event-error.ts';

/** An event that cannot be read, or follow what is before it: from there on this one account is not known. */
export class AccountUnreadableError extends UnreadableEventError {
  readonly accountId: AccountId;
  readonly revision: Revision;

  /** @param why names the stream, the revision and the reason, in one line */
  constructor(accountId: AccountId, revision: Revision, why: string, options?: ErrorOptions) {
    super(why, options);
    this.accountId = accountId;
    this.revision = revision;
  }
}
