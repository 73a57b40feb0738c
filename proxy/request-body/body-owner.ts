import type { AccountId } from '../../contracts/ids.ts';
import { hasPaid } from '../../ledger/account/has-paid.ts';
import type { Caller } from '../caller.ts';

/** Whose a body is. */
export interface BodyOwner {
  readonly accountId: AccountId;
  /** Whether the account has ever paid: of those that have not there may be as many as somebody likes. */
  readonly hasPaid: boolean;
}

export const bodyOwner = ({ accountId, account }: Caller): BodyOwner => ({ accountId, hasPaid: hasPaid(account) });
