import type { AccountEvent, CreditsDebited, EventData, UsageRecorded } from '../../contracts/events.ts';
import type { Grant, OpenAccount, SpendOfMonth, SpendState } from './account-state.ts';
import { amountsAfter, evolve } from './evolve.ts';
import { nextUsage, usageOfDebit } from './exceptions.ts';
import type { ExceptionsState } from './exceptions-state.ts';
import { remainingAfter } from './grants.ts';
import { withLeaseReduced } from './leases.ts';
import { monthOfSpend, spentAfter } from './spend.ts';

/**
 * Parts of a state that its fold has made and nobody else has: those it may change. They are known by identity, so that what was
 * made elsewhere since is none of them.
 */
export class OwnParts {
  state: OpenAccount | null = null;
  exceptions: ExceptionsState | null = null;
  grants: Grant[] | null = null;
  /** The one that was debited last. */
  grant: Grant | null = null;
  spend: SpendState | null = null;
  months: SpendState['months'] | null = null;
  /** The one that was debited last; its keys and members are trees, which share with those before them. */
  month: SpendOfMonth | null = null;
}

/**
 * As `evolve`, onto a state that nobody but the caller asks for: what each request leaves, its usage and its debit, changes the
 * own parts of it in place, for a state that lives until its account's next event is what a fold of many events has to collect.
 * Where it throws, nothing is changed. @throws as `evolve`
 */
export function evolveOwn(state: OpenAccount, event: AccountEvent, own: OwnParts): OpenAccount {
  if (event.type === 'UsageRecorded' && event.data.unpriced.length === 0) return withUsage(state, event.data, own);
  // More than one share is where a grant ends: seldom, and each is to be there before any is taken.
  if (event.type === 'CreditsDebited' && event.data.leftOut === 0n && event.data.grants.length <= 1)
    return withDebit(state, event.data, own);
  return evolve(state, event);
}

function withUsage(state: OpenAccount, usage: UsageRecorded, own: OwnParts): OpenAccount {
  const lastUsage = nextUsage(state.exceptions, usage);
  if (own.exceptions !== state.exceptions) own.exceptions = { ...state.exceptions, lastUsage };
  else own.exceptions.lastUsage = lastUsage;
  const next = ownState(state, own);
  next.exceptions = own.exceptions;
  return next;
}

function withDebit(state: OpenAccount, debit: CreditsDebited, own: OwnParts): OpenAccount {
  const spent = spentAfter(state, monthOfSpend(state.spend, debit.month), debit.keyId, debit.amount);
  usageOfDebit(state.exceptions, debit);
  const [share] = debit.grants;
  const index = share === undefined ? -1 : state.grants.findIndex(({ grantId }) => grantId === share.grantId);
  const remaining = share === undefined ? null : remainingAfter(state.grants[index], share);
  const { carry, uncovered, balance } = amountsAfter(state, debit);
  const leases = withLeaseReduced(state.leases, debit);
  // From here on nothing throws.
  const next = ownState(state, own);
  if (remaining !== null) ownGrant(next, index, own).remaining = remaining;
  const month = ownMonth(next, debit, own);
  month.account = spent.account;
  month.keys = spent.keys;
  month.members = spent.members;
  next.carry = carry;
  next.uncovered = uncovered;
  next.balance = balance;
  next.leases = leases;
  return next;
}

function ownState(state: OpenAccount, own: OwnParts): OpenAccount {
  if (own.state !== state) own.state = { ...state };
  return own.state;
}

function ownGrant(state: OpenAccount, index: number, own: OwnParts): Grant {
  if (own.grants !== state.grants) own.grants = state.grants = [...state.grants];
  const grant = own.grants[index] as Grant;
  if (own.grant !== grant) own.grant = own.grants[index] = { ...grant };
  return own.grant;
}

function ownMonth(state: OpenAccount, { month: name }: Pick<EventData<'CreditsDebited'>, 'month'>, own: OwnParts) {
  if (own.spend !== state.spend) own.spend = state.spend = { ...state.spend };
  if (own.months !== own.spend.months) own.months = own.spend.months = { ...own.spend.months };
  const month = monthOfSpend(own.spend, name);
  if (own.month !== month) own.month = own.months[name] = { ...month };
  return own.month;
}
