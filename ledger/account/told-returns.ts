import type { PaymentId } from '../../contracts/ids.ts';
import { disputeLostAgain, nameToldAgain, toldAgainId } from '../../contracts/lost-again.ts';
import type { OpenAccount } from './account-state.ts';
import type { BillingState } from './billing-state.ts';
import type { CommandOf } from './commands.ts';
import { firstFree } from './first-free.ts';
import { isOfPayment } from './grant-id.ts';
import { isOfReturn, paidBy } from './payments.ts';
import type { PaymentAttempt } from './payments-state.ts';

/* Refunds and disputes by what they are called: here, and by the provider that tells of them. */

type Billing = Pick<BillingState, 'payments' | 'revocations'>;
type Refund = PaymentAttempt['refunds'][number];
type Dispute = PaymentAttempt['disputes'][number];

/** The last one of a payment that is written down of what its provider calls so. */
export function toldRefund(
  billing: Billing,
  { paymentId, refundId }: Pick<CommandOf<'RecordRefund'>, 'paymentId' | 'refundId'>,
): Refund | undefined {
  const refunds = paidBy(billing.payments, paymentId)?.refunds;
  return refunds?.findLast((one) => isToldAs(billing, one.refundId, refundId));
}

/** As with a refund. */
export function toldDispute(
  billing: Billing,
  { paymentId, disputeId }: Pick<CommandOf<'RecordDispute'>, 'paymentId' | 'disputeId'>,
): Dispute | undefined {
  const disputes = paidBy(billing.payments, paymentId)?.disputes;
  return disputes?.findLast((one) => isToldAs(billing, one.disputeId, disputeId));
}

/** What is called as the second one would be is that only where there is a first. */
const isToldAs = (billing: Billing, id: string, name: string): boolean =>
  id === name || (nameToldAgain(id) === name && isTaken(billing, name));

/** By hand the one of that id; as its provider tells, the last one that was told under that name. */
export const refundNamed = (
  { billing }: OpenAccount,
  { refunds }: PaymentAttempt,
  command: Pick<CommandOf<'RecordRefund'>, 'paymentId' | 'refundId' | 'reason'>,
): Refund | undefined =>
  command.reason === undefined
    ? toldRefund(billing, command)
    : refunds.find(({ refundId }) => refundId === command.refundId);

/** As with a refund. */
export const disputeNamed = (
  { billing }: OpenAccount,
  { disputes }: PaymentAttempt,
  command: Pick<CommandOf<'RecordDispute'>, 'paymentId' | 'disputeId' | 'reason'>,
): Dispute | undefined =>
  command.reason === undefined
    ? toldDispute(billing, command)
    : disputes.find(({ disputeId }) => disputeId === command.disputeId);

/** Under which id it is written down what its provider calls so: where that has another one, or had, it stands with a word behind it. */
export const idFor = ({ billing }: OpenAccount, name: string): string =>
  isTaken(billing, name) ? firstFree(toldAgainId(name), (one) => isTaken(billing, one)) : name;

/** By money of whatever kind or payment that went back, or by credits that were revoked without any; also where that is undone. */
export const isTaken = ({ payments, revocations }: Billing, id: string): boolean =>
  revocations.some(({ revocationId }) => revocationId === id) || isOfReturn(payments, id);

/** What a refund that an operator writes down is called where nothing else is said. */
export const refundIdOf = (paid: PaymentId): string => `refund_${paid}`;

/** That, or where something has it, or had, with a number behind it. */
export const freeRefundId = (billing: Billing, paid: PaymentId): string =>
  firstFree(refundIdOf(paid), (id) => isTaken(billing, id));

/**
 * Which of a payment's credits were revoked by hand for money that went back, as was done before that was written down, and are not back:
 * they would be taken twice. Its id need not say for which refund or dispute that was, so that none is written down before they are.
 */
export const revokedByHandFor = (state: OpenAccount, paid: PaymentId): string | undefined =>
  state.billing.revocations.find(
    ({ revocationId, grantId, cause, amount, restored }) =>
      (cause === 'refund' || cause === 'dispute') &&
      restored < amount &&
      isOfPayment(state, grantId, paid) &&
      ![revocationId, disputeLostAgain(revocationId)].some(
        (id) => id !== null && isOfReturn(state.billing.payments, id),
      ),
  )?.revocationId;
