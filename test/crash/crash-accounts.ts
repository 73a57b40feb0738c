/** Accounts that operators leave alone but for a grant now and then. */
export const PLAIN_ACCOUNTS = ['acct_ada', 'acct_bob'];
/** Its monthly limits, and its keys', are set anew again and again, near what was spent. */
export const CAPPED_ACCOUNT = 'acct_cap';
/** It lives from small grants, some of which end while requests are under way. */
export const THIN_ACCOUNT = 'acct_thin';
/** Accounts whose requests are refused for want of money, and should be. */
export const EARNS_REFUSALS: ReadonlySet<string> = new Set([CAPPED_ACCOUNT, THIN_ACCOUNT]);
