import { isNumbered } from '../../contracts/lost-again.ts';
import type { OpenAccount } from './account-state.ts';
import { inOrder } from './attempt-order.ts';
import { grantsOfPaid } from './grant-id.ts';
import { entryOf } from './keyed-tree.ts';
import { isBack } from './payments-state.ts';
import { renewalId } from './plans.ts';

type Paid = Pick<OpenAccount, 'billing' | 'grants'>;

/**
 * Whether all the money that was paid for the period that an account has has gone back, and none of it is here again: such a plan lends
 * nothing, and is not renewed. What was paid for a dearer plan within it counts for neither, nor what turned out to be paid for another plan
 * than the period's. Of a period that cost nothing none can go back, though somebody may have paid for another plan instead of it, too late.
 */
export function isReturned(account: Paid): boolean {
  const { plan, payments } = account.billing;
  const period = plan?.period ?? null;
  if (plan === null || payments.returned === null || period === null) return false;
  const paid = entryOf(payments.returned, String(period.startMs));
  if (paid === undefined) return false;
  const first = renewalId(period.startMs);
  if (account.grants.some(({ grantId }) => isNumbered(grantId, first))) return false;
  // By whose credits: a dearer plan may be there by now. Told after its end they are as bought, and no dearer one was there in time.
  const own = inOrder(paid).findLast((one) => hasPlansCredits(account, grantsOfPaid(account, [one])));
  const ofPlan = own?.period?.plan ?? plan.plan;
  const ofPeriod = paid.filter((one) => one.period?.plan === ofPlan);
  return ofPeriod.length > 0 && ofPeriod.every(isBack);
}

const hasPlansCredits = ({ grants }: Pick<Paid, 'grants'>, ids: ReturnType<typeof grantsOfPaid>): boolean =>
  grants.some(({ grantId, source }) => source === 'plan' && ids.has(grantId));
