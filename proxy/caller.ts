import type { AccountId } from '../contracts/ids.ts';
import type { ApiKey, OpenAccount } from '../ledger/account/account-state.ts';

/** Whose request it is: a key that may be used at that moment, and its account as it was then (standing.ts looks again). */
export interface Caller {
  readonly type: 'caller';
  readonly accountId: AccountId;
  readonly account: OpenAccount;
  readonly key: ApiKey;
  /** Of the secret that it came with. */
  readonly sha256: string;
}
