import type { AccountEvent } from '../contracts/events.ts';
import type { AccountId } from '../contracts/ids.ts';
import type { Grant } from '../ledger/account/account-state.ts';
import type { ClosedStatement } from '../ledger/account/billing-state.ts';
import type { AccountSnapshot } from '../ledger/account/load-account.ts';
import { endOfMonthMs, lastMonthOver } from '../ledger/account/month.ts';
import { ExpiryCalendar } from './expiry-calendar.ts';

/**
 * Accounts of which something was written down since their last statement, or whose credits have ended: those that rest are not among
 * them, so that a month's end costs what happened in it. Of each the month up to which there is nothing left to close, as far as was looked.
 */
export class UnclosedAccounts {
  #months = new Map<AccountId, string>();
  /** Those that rest until their credits end. */
  #ending = new ExpiryCalendar();
  /** The last that is known to be among them. */
  #observed: AccountId | null = null;

  /** Those of which a month may be still to be closed. */
  *upTo(month: string): Generator<AccountId> {
    for (const id of this.#ending.due(endOfMonthMs(month) - 1)) if (!this.#months.has(id)) this.#months.set(id, '');
    for (const [id, looked] of this.#months) if (looked < month) yield id;
  }

  /** There is nothing left to close up to it. */
  looked(accountId: AccountId, month: string): void {
    this.#months.set(accountId, month);
  }

  addFrom(accountId: AccountId, snapshot: AccountSnapshot): void {
    if (hasUncounted(snapshot)) this.#months.set(accountId, nothingUpTo(snapshot));
    else if (snapshot.state.type === 'open') this.#ending.add(accountId, snapshot.state.grants);
  }

  observe(accountId: AccountId, event: AccountEvent): void {
    // A request's events come together.
    if (event.type === 'StatementClosed' || accountId === this.#observed) return;
    this.#observed = accountId;
    if (!this.#months.has(accountId)) this.#months.set(accountId, '');
  }

  /** Nothing came behind its statement, and none of its credits have ended. */
  forget(accountId: AccountId, grants: readonly Grant[]): void {
    this.#months.delete(accountId);
    this.#ending.add(accountId, grants);
    this.#observed = null;
  }

  adopt(other: UnclosedAccounts): void {
    this.#months = other.#months;
    this.#ending = other.#ending;
    this.#observed = null;
  }

  clear(): void {
    this.#months.clear();
    this.#ending.clear();
    this.#observed = null;
  }
}

/** The month of the last statement; where there is none, the one before whatever has moved its balance first. */
function nothingUpTo({ state }: AccountSnapshot): string {
  if (state.type === 'unopened') return '';
  const { openedAtMs, grants, spend, billing } = state;
  if (billing.statement !== null) return billing.statement.month;
  let firstMs = openedAtMs;
  for (const { effectiveAtMs } of grants) firstMs = Math.min(firstMs, effectiveAtMs);
  for (const month of Object.keys(spend.months)) firstMs = Math.min(firstMs, endOfMonthMs(month) - 1);
  return lastMonthOver(firstMs);
}

/**
 * Whether there may be what no statement has counted: something behind the last one, or of a later month before it; or without any,
 * whatever has moved the balance. (Of a later month that has moved nothing in sum, and had no request, it tells only with what comes
 * next: then it is counted.)
 */
export function hasUncounted(snapshot: AccountSnapshot): boolean {
  const { state, revision } = snapshot;
  if (state.type === 'unopened') return true;
  const { balance, billing, grants, spend } = state;
  const months = Object.keys(spend.months);
  const { statement, adjustments } = billing;
  if (statement !== null) return isBehind(statement, { balance, revision, months });
  // Grants stay also where nothing is left of them, and all else that moves a balance is of one, of a month or an adjustment.
  return grants.length > 0 || months.length > 0 || adjustments.length > 0;
}

/** The same of an account as far as it is known, beside its last statement. */
export function isBehind(
  { month: closed, closing, lastRevision }: ClosedStatement,
  {
    balance,
    revision,
    months,
  }: { readonly balance: bigint | undefined; readonly revision: bigint | number; readonly months: readonly string[] },
): boolean {
  // The statement itself stands behind what it has counted.
  return revision > lastRevision + 1 || balance !== closing || months.some((month) => month > closed);
}
