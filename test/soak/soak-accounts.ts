/** What an account of the soak is there for. */
export interface SoakAccount {
  readonly id: string;
  /** To begin with, in USD. */
  readonly creditUsd: string;
  /** Operators grant it a little now and then. */
  readonly isTopped: boolean;
  /** Per calendar month, in USD; null is none. */
  readonly monthlyLimitUsd: string | null;
  /** Of each of its keys. */
  readonly keyLimitUsd: string | null;
  /** Whether its requests are refused for want of money, and should be. */
  readonly runsOut: boolean;
}

const plain = { creditUsd: '100000', isTopped: false, monthlyLimitUsd: null, keyLimitUsd: null, runsOut: false };

/** Operators move its limit, and its keys', while the run lasts. */
export const MOVED_ACCOUNT = 'acct_moved';

/** Several with plenty, some that live from one grant to the next, some that meet their monthly limits. */
export const SOAK_ACCOUNTS: readonly SoakAccount[] = [
  { ...plain, id: 'acct_ada' },
  { ...plain, id: 'acct_bob' },
  { ...plain, id: 'acct_cyd' },
  { ...plain, id: 'acct_poor', creditUsd: '0.30', isTopped: true, runsOut: true },
  { ...plain, id: 'acct_thin', creditUsd: '0.10', isTopped: true, runsOut: true },
  { ...plain, id: 'acct_capped', monthlyLimitUsd: '1.50', runsOut: true },
  { ...plain, id: MOVED_ACCOUNT, runsOut: true },
  { ...plain, id: 'acct_keyed', keyLimitUsd: '0.40', runsOut: true },
];
