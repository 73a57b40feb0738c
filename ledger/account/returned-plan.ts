import { isNumbered } from '../../contracts/lost-again.ts';
import type { OpenAccount } from './account-state.ts';
import { inOrder } from './attempt-order.ts';
import { grantsOfPaid } from './grant-id.ts';
import { entryOf } from './keyed-tree.ts';
import { isBack, type PaymentAttempt, paidUntil } from './payments-state.ts';
import { renewalId } from './plans.ts';

type Paid = Pick<OpenAccount, 'billing' | 'grants'>;

const HALF_DAY_MS = 12 * 3_600_000;

/**
 * Whether all the money that was paid for the period that an account has, as it began and for dearer plans within it, has gone back, and
 * none of it is here again: such a plan lends nothing, and is not renewed. What turned out to be paid for a plan that it had at no time within
 * that is credit as bought, and counts for neither. Of what cost nothing none can go back.
 */
export function isReturned(account: Paid): boolean {
  const { plan, payments } = account.billing;
  if (payments.returned === null || plan === null || plan.period === null) return false;
  const paid = entryOf(payments.returned, String(plan.period.endMs));
  return paid !== undefined && areAllBack(thatCount(account, paid));
}

export const areAllBack = (payments: readonly Parameters<typeof isBack>[0][]): boolean =>
  payments.length > 0 && payments.every(isBack);

/** By which the period that an account has is paid, as `isReturned` counts them; none where it has none. */
export function paymentsOfPeriod(account: Paid): PaymentAttempt[] {
  const { plan, payments } = account.billing;
  return plan === null || plan.period === null ? [] : thatCount(account, paidUntil(payments, plan.period.endMs));
}

/** @param paid all whose period ends as the account's does, for whichever plan */
function thatCount(account: Paid, paid: readonly PaymentAttempt[]): PaymentAttempt[] {
  const { plan } = account.billing;
  if (plan === null || plan.period === null) return [];
  const has = { startMs: plan.period.startMs, plan: plan.plan };
  return [...paidAsItBegan(account, paid, has), ...paidForDearer(account, paid, has)];
}

interface Has {
  /** When its period begins. */
  readonly startMs: number;
  readonly plan: string;
}

function paidAsItBegan(account: Paid, paid: readonly PaymentAttempt[], { startMs, plan }: Has): PaymentAttempt[] {
  const first = renewalId(startMs);
  if (account.grants.some(({ grantId }) => isNumbered(grantId, first))) return [];
  const renewals = paid.filter(({ kind, period }) => kind === 'renewal' && period?.startMs === startMs);
  // By whose credits: a dearer plan may be there by now. Told after its end they are as bought, and no dearer one was there in time.
  const own = inOrder(renewals).findLast((one) => hasPlansCredits(account, one));
  const ofPlan = own?.period?.plan ?? plan;
  return renewals.filter(({ period }) => period?.plan === ofPlan);
}

/**
 * For those that it had within the period: what there is now was brought by a payment also where that was told after the end, and its
 * credits are as bought. Of an earlier plan whose period ends in the same instant they are days older; a clock that is behind is not.
 */
function paidForDearer(account: Paid, paid: readonly PaymentAttempt[], { startMs, plan }: Has): PaymentAttempt[] {
  const upgrades = paid.filter(
    ({ kind, period }) => kind === 'upgrade' && (period?.startMs ?? 0) > startMs - HALF_DAY_MS,
  );
  const had = upgrades.filter((one) => hasPlansCredits(account, one)).map(({ period }) => period?.plan);
  return upgrades.filter(({ period }) => period?.plan === plan || had.includes(period?.plan));
}

function hasPlansCredits(account: Paid, attempt: PaymentAttempt): boolean {
  const ids = grantsOfPaid(account, [attempt]);
  return account.grants.some(({ grantId, source }) => source === 'plan' && ids.has(grantId));
}
