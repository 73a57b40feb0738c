import type { EventData } from '../../contracts/events.ts';
import type { AccountId } from '../../contracts/ids.ts';

export type GrantSource = EventData<'CreditsGranted'>['source'];

/**
 * The accounts of the books, as `Root:Part:…`. The roots are the five that hledger and beancount know; what belongs to one
 * customer has the account's id as its third part.
 */

/** Credit that can still be spent, and was paid for. */
export const paidCredits = (customer: AccountId): string => `Liabilities:Credits:${customer}:Paid`;
/** Credit that can still be spent, and was given away. */
export const freeCredits = (customer: AccountId): string => `Liabilities:Credits:${customer}:Free`;
/** Debited beyond what grants covered; the next grant fills it first. */
export const receivable = (customer: AccountId): string => `Assets:Receivable:${customer}`;

export const USAGE_PAID = 'Income:Usage:Paid';
export const USAGE_FREE = 'Income:Usage:Free';
export const USAGE_OWED = 'Income:Usage:Owed';
/** Paid credit that expired unspent. */
export const BREAKAGE = 'Income:Breakage';
/** What was paid for a grant beyond the credit that it gave. */
export const PREMIUM = 'Income:Premium';
/** What an operator took of paid credit without paying it back, and what a correction made owed. */
export const CORRECTIONS = 'Income:Corrections';
/** What was paid back, or disputed, less the credit that was revoked for it. */
export const REFUNDS = 'Income:Refunds';
/** What a customer's bank has taken back while it is disputed, and for good where that is lost. */
export const DISPUTES = 'Assets:Disputes';
/** What stood before the period that is exported. */
export const OPENING = 'Equity:Opening';

const NAMES: { readonly [S in GrantSource]: string } = {
  trial: 'Trials',
  purchase: 'Purchases',
  plan: 'Plans',
  promotion: 'Promotions',
  adjustment: 'Adjustments',
};

/** What payments outside of this ledger have to settle. */
export const clearing = (source: GrantSource): string => `Assets:Clearing:${NAMES[source]}`;

/** What credit that nobody paid for costs; that of an adjustment mends something. */
export const givenAway = (source: GrantSource): string =>
  source === 'adjustment' ? 'Expenses:Corrections' : `Expenses:Promotions:${NAMES[source]}`;

/** Where what was paid comes from, and goes back to. */
export const isMoney = (account: string): boolean => account.startsWith('Assets:Clearing:') || account === DISPUTES;

/** From where what was paid for a grant goes back, or whose it is when it is taken. */
export const revoked = (cause: EventData<'GrantRevoked'>['cause'], source: GrantSource): string =>
  cause === 'refund' ? clearing(source) : cause === 'dispute' ? DISPUTES : CORRECTIONS;

/** Of assets, liabilities and equity a period begins with what there was before; income and expenses begin at nothing. */
export const isCarriedOver = (account: string): boolean =>
  account.startsWith('Assets:') || account.startsWith('Liabilities:');
