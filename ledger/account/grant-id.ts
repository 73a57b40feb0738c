import { type GrantId, grantId, type PaymentId, paymentId } from '../../contracts/ids.ts';
import type { OpenAccount } from './account-state.ts';
import { type CommandRefusal, commandRefused } from './commands.ts';

const OF_PAYMENT = 'payment_';

/** What a payment bought is granted under it. */
export const grantOfPayment = (paymentId: PaymentId): GrantId => grantId(OF_PAYMENT + paymentId);

/** For what is not paid yet: no provider that is known calls a payment by more. */
export const LONGEST_GRANT_OF_PAYMENT = grantOfPayment(paymentId('x'.repeat(100)));

/** A grant by hand has an id of its own, and none that a payment would be granted under: it could not be written down then. */
export function refuseGrantId({ grants }: OpenAccount, id: GrantId): CommandRefusal | null {
  if (id.startsWith(OF_PAYMENT))
    return commandRefused(
      'grant_id_reserved',
      `id: ${OF_PAYMENT}… is what payments are granted under, and ${id} would keep one from being recorded: choose another`,
    );
  return grants.some((grant) => grant.grantId === id)
    ? commandRefused('grant_exists', `grant ${id} was already made`)
    : null;
}
