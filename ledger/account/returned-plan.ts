import { isNumbered } from '../../contracts/lost-again.ts';
import type { OpenAccount } from './account-state.ts';
import { entryOf } from './keyed-tree.ts';
import { renewalId } from './plans.ts';

/**
 * Whether all the money that was paid for the period that an account has has gone back, and none of it is here again: such a plan lends
 * nothing, and is not renewed. What was paid for a dearer plan within it counts for neither. Of a period that cost nothing none can go
 * back, though somebody may have paid for another plan instead of it, too late.
 */
export function isReturned({ billing: { plan, payments }, grants }: Pick<OpenAccount, 'billing' | 'grants'>): boolean {
  const period = plan?.period ?? null;
  if (payments.returned === null || period === null) return false;
  if (entryOf(payments.returned, String(period.startMs)) === undefined) return false;
  const first = renewalId(period.startMs);
  return !grants.some(({ grantId }) => isNumbered(grantId, first));
}
