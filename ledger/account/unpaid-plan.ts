import { instant } from '../../contracts/instant.ts';
import type { Grant, OpenAccount } from './account-state.ts';
import { grantsOfPaid } from './grant-id.ts';
import { allAttempts } from './payments.ts';
import { DAY_MS } from './plan-periods.ts';
import type { PaidPeriod } from './plan-state.ts';
import { duePlan, isBegunForAnother, newestRenewal, renewalsOf } from './plans.ts';
import { isAnswered } from './reload.ts';

/** In words, of a plan whose period, or first one, is to be paid. */
interface UnpaidPlan {
  /** That it was declined, and why, or is not paid yet; and until when it may be. */
  readonly says: string;
  readonly next: string;
}

/** Null where nothing is to be paid. Of an account as it is told to whoever reads this. */
export function unpaidPlan(
  { billing: { plan, payments } }: Pick<OpenAccount, 'billing'>,
  nowMs: number,
): UnpaidPlan | null {
  if (plan === null || plan.due === null) return null;
  const { declined, graceUntilMs, nextAttemptAtMs, startMs } = plan.due;
  const what = `the ${plan.period === null ? 'first payment' : 'renewal'} of the plan ${duePlan(plan)}`;
  if (isBegunForAnother({ plan, payments }))
    return { says: `${what} is due, and not begun yet`, next: 'ask for the plan again, or buy credits' };
  const grace =
    nowMs < graceUntilMs
      ? `the plan ${plan.period === null ? 'is given up' : 'ends'} unless it is paid by ${instant(graceUntilMs)}`
      : `the time to pay it was over at ${instant(graceUntilMs)}`;
  const newest = newestRenewal(payments, startMs);
  // An operator has ended it, and nothing begins another but whoever asks.
  if (declined === null && newest?.state === 'abandoned' && isAnswered(newest))
    return { says: `${what} was not paid, ${grace}`, next: 'ask for the plan again, or buy credits' };
  if (declined === null) return { says: `${what} is not paid yet, ${grace}`, next: 'pay for it, or buy credits' };
  const again =
    nextAttemptAtMs !== null && nextAttemptAtMs > nowMs ? `it is tried again at ${instant(nextAttemptAtMs)}, and ` : '';
  return {
    says: `${what} was declined (${declined}), ${again}${grace}`,
    next: 'save another payment method, ask for the plan again, or buy credits',
  };
}

/**
 * Whether a plan that has ended unpaid was paid by then all the same, as its provider has told since: its credits, which are as bought,
 * begin before its end.
 */
export function wasPaidInTime(account: Pick<OpenAccount, 'grants' | 'billing'>): boolean {
  const { grants, billing } = account;
  const { endedPlan, payments } = billing;
  if (endedPlan?.reason !== 'unpaid') return false;
  const { atMs } = endedPlan;
  const period = lastOfEnded(billing);
  if (period === null) return false;
  const renewals = renewalsOf(payments, period.startMs).filter((one) => one.period?.plan === period.plan);
  const bought = grantsOfPaid(account, renewals);
  return grants.some(({ grantId, effectiveAtMs }) => effectiveAtMs < atMs && bought.has(grantId));
}

/**
 * Whether the plan that has ended was ever in force: paid for in time, or by a period that cost nothing; else it was asked for, and given
 * up, perhaps after another.
 */
export function wasInForce(account: Pick<OpenAccount, 'grants' | 'billing'>): boolean {
  const { grants, billing } = account;
  const { endedPlan, payments } = billing;
  const bought = grantsOfPaid(
    account,
    allAttempts(payments).filter(({ period }) => period !== null && period.plan === endedPlan?.plan),
  );
  const unpaid = lastOfEnded(billing);
  // What is paid too late is credit as bought.
  return grants.some(
    (grant) => grant.source === 'plan' && (bought.has(grant.grantId) || isFreePeriodBefore(grant, unpaid)),
  );
}

/**
 * Which period of the plan that has ended was to be paid last. One of a plan that was asked for since begins as that was asked for, which may be
 * in the same append as the end, or by a clock behind that of the end.
 */
function lastOfEnded({ plan, payments, endedPlan }: OpenAccount['billing']): PaidPeriod | null {
  const beforeMs = Math.min(endedPlan?.atMs ?? 0, plan?.anchorMs ?? Number.POSITIVE_INFINITY);
  const last = allAttempts(payments).findLast(
    ({ kind, period }) => kind === 'renewal' && period !== null && period.startMs < beforeMs,
  );
  return last?.period ?? null;
}

/** Credits of a period that cost nothing, of one plan with what was not paid then: periods of one anchor begin at its time of day. */
const isFreePeriodBefore = ({ costBasis, expiresAtMs }: Grant, unpaid: PaidPeriod | null): boolean =>
  costBasis === 0n &&
  expiresAtMs !== null &&
  unpaid !== null &&
  expiresAtMs <= unpaid.startMs &&
  (unpaid.startMs - expiresAtMs) % DAY_MS === 0;
