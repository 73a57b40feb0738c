import type { Logger } from 'pino';
import type { AccountId } from '../contracts/ids.ts';
import { type CreditsMoved, sayMoved } from '../ledger/account/credits-moved.ts';

/**
 * Whether money that did not go back is to be sent another way nobody but an operator knows; and of money that went back twice, as by
 * a refund of what was disputed, the credits are there once.
 */
export function tellMoved(logger: Logger, accountId: AccountId, moved: CreditsMoved): void {
  const { id } = moved;
  const isNotBack = moved.type === 'back' && moved.cause === 'refund';
  if (isNotBack || (moved.type === 'taken' && moved.notRevoked > 0n))
    logger.warn(
      { accountId, id },
      `${isNotBack ? 'a refund that was written down did not go back' : 'money of a payment went back whose credits were revoked before'}: ${sayMoved(moved)}`,
    );
}
