import {
  type GrantId,
  grantsOfPayment,
  namesPayment,
  OF_PAYMENT,
  type PaymentId,
  paymentId,
} from '../../contracts/ids.ts';
import type { OpenAccount } from './account-state.ts';
import { type CommandRefusal, commandRefused } from './commands.ts';
import { paidBy } from './payments.ts';
import type { PaymentAttempt } from './payments-state.ts';

type Granted = Pick<OpenAccount, 'grants'>;
type Paid = Pick<OpenAccount, 'grants' | 'billing'>;

/** What a payment that is written down has bought is granted under it. */
export function grantOfPayment(account: Paid, paid: PaymentId): GrantId {
  const [usual, other] = grantsOfPayment(paid);
  return isMade(account, other) && !isOfNamesake(account, paid) ? other : usual;
}

/** A payment of before may be called as another one with ~ before it: what is the second grant of the other's may be the first of its own. */
function isOfNamesake(account: Paid, paid: PaymentId): boolean {
  const namesake = paymentId(`~${paid}`);
  const [, other] = grantsOfPayment(paid);
  return paidBy(account.billing.payments, namesake) !== undefined && grantOfPayment(account, namesake) === other;
}

/** What those of some attempts have bought that were paid. */
export const grantsOfPaid = (account: Paid, attempts: readonly PaymentAttempt[]): ReadonlySet<GrantId> =>
  new Set(
    attempts.flatMap(({ state, paymentId: paid }) =>
      state === 'paid' && paid !== null ? [grantOfPayment(account, paid)] : [],
    ),
  );

/** Whether it is what a payment has bought; of many payments the ids alone say of nearly all that it is not. */
export const isOfPayment = (account: Paid, id: string, paid: PaymentId): boolean =>
  id.endsWith(paid) && grantOfPayment(account, paid) === id;

/** For a payment that is about to be written down; null where both are taken. */
export const freeGrantOfPayment = (account: Granted, paid: PaymentId): GrantId | null =>
  grantsOfPayment(paid).find((id) => !isMade(account, id)) ?? null;

/** For what is not paid yet: no provider that is known calls a payment by more. */
export const [, LONGEST_GRANT_OF_PAYMENT] = grantsOfPayment(paymentId('x'.repeat(100)));

/** A grant by hand has an id of its own, and none that a payment would be granted under: it would stand in that one's way. */
export function refuseGrantId(account: OpenAccount, id: GrantId): CommandRefusal | null {
  if (namesPayment(id))
    return commandRefused(
      'grant_id_reserved',
      `id: ${OF_PAYMENT}… is what payments are granted under, and ${id} would be in the way of one: choose another`,
    );
  return isMade(account, id)
    ? commandRefused(
        'grant_exists',
        `id: grant ${id} was made before, and this is another one: a further one has an id of its own`,
      )
    : null;
}

const isMade = ({ grants }: Granted, id: GrantId): boolean => grants.some(({ grantId }) => grantId === id);
