import type { AccountEvent, EventData } from '../../contracts/events.ts';
import { disputeLostAgain, isNumbered, withdrawnId, wonId } from '../../contracts/lost-again.ts';
import { microUsd } from '../../contracts/money.ts';
import { inOrder } from './attempt-order.ts';
import type { BillingState, Revocation } from './billing-state.ts';
import { entryOf, valuesOf } from './keyed-tree.ts';
import { notWon, type PaymentAttempt, type PaymentsState, wentBack, withAttempt } from './payments-state.ts';
import { type PaidPeriod, paidPeriodOf } from './plan-state.ts';
import { evolveReload } from './reload.ts';

/** What an event changes of payments. @throws Error where it cannot follow */
export function withPayments(billing: BillingState, event: AccountEvent): BillingState {
  const payments = evolvePayments(billing.payments, event);
  return { ...billing, payments: { ...payments, reload: evolveReload(payments, event) } };
}

/** The attempts of an account, each with how it stands. @throws Error for an outcome of an attempt that there is not */
function evolvePayments(payments: PaymentsState, event: AccountEvent): PaymentsState {
  switch (event.type) {
    case 'PaymentMethodSaved': {
      const { consentedAt, by: _by, ...saved } = event.data;
      return { ...payments, method: { ...saved, consentedAtMs: Date.parse(consentedAt) } };
    }
    case 'PaymentMethodRemoved':
      return { ...payments, method: null, methodRemovedAtMs: Date.parse(event.data.removedAt) };
    case 'PurchaseStarted':
    case 'AutoReloadStarted': {
      const { amount: credits } = event.data;
      const kind = event.type === 'PurchaseStarted' ? 'purchase' : 'reload';
      return withBegun(payments, begun({ ...event.data, credits }, kind, null, payments));
    }
    case 'RenewalStarted':
      if (event.data.price === 0n) return payments;
      return withBegun(payments, begun(event.data, event.data.kind, paidPeriodOf(event.data), payments));
    case 'PaymentSucceeded':
      return ended(payments, event, { state: 'paid', paymentId: event.data.paymentId });
    case 'PaymentFailed': {
      const { declinedMethodId = null } = event.data;
      return ended(payments, event, { state: 'failed', decline: declineOf(payments, event.data), declinedMethodId });
    }
    case 'PaymentActionRequired':
      return ended(payments, event, { state: 'action required', paymentId: event.data.paymentId });
    case 'PaymentAbandoned':
      return ended(payments, event, { state: 'abandoned', decline: declineByEnd(event.data) });
    case 'PaymentRefunded': {
      const { paymentId, refundId, amount } = event.data;
      return withPaid(payments, paymentId, ({ refunds }) => {
        if (refunds.some((one) => one.refundId === refundId)) throw new Error(`${refundId} is refunded twice`);
        return { refunds: [...refunds, { refundId, amount }] };
      });
    }
    case 'RefundWithdrawn': {
      const { paymentId, refundId, amount } = event.data;
      return withPaid(payments, paymentId, ({ refunds }) => {
        const refund = refunds.find((one) => one.refundId === refundId);
        if (refund === undefined || refund.amount !== amount || amount === 0n)
          throw new Error(`${refundId} is withdrawn, and is no refund of ${amount} micro-USD`);
        return { refunds: refunds.map((one) => (one === refund ? { ...one, amount: microUsd(0n) } : one)) };
      });
    }
    case 'PaymentDisputed': {
      const { paymentId, disputeId, amount } = event.data;
      const opened = { disputeId, amount, outcome: null };
      return withPaid(payments, paymentId, ({ disputes }) => {
        if (disputes.some((one) => one.disputeId === disputeId)) throw new Error(`${disputeId} is disputed twice`);
        return { disputes: [...disputes, opened] };
      });
    }
    case 'DisputeClosed': {
      const { paymentId, disputeId, outcome, replaces } = event.data;
      return withPaid(payments, paymentId, ({ disputes }) => {
        const dispute = disputes.find((one) => one.disputeId === disputeId);
        if (dispute === undefined || dispute.outcome !== replaces || outcome === replaces)
          throw new Error(`${disputeId} is ${outcome}, and is no ${replaces ?? 'open'} dispute`);
        return { disputes: disputes.map((one) => (one === dispute ? { ...one, outcome } : one)) };
      });
    }
    default:
      return payments;
  }
}

export const attemptOf = ({ attempts }: PaymentsState, attemptId: string): PaymentAttempt | undefined =>
  entryOf(attempts, attemptId);

/** In the order in which they were begun. */
export const allAttempts = ({ attempts }: PaymentsState): PaymentAttempt[] => inOrder(valuesOf(attempts));

/** The attempt that a payment has paid. */
export const paidBy = ({ attempts }: PaymentsState, paymentId: string): PaymentAttempt | undefined =>
  valuesOf(attempts).find((one) => one.state === 'paid' && one.paymentId === paymentId);

/**
 * Of what a payment bought, the part whose money has gone back: refunds, and disputes that were not won; together it may be more. Less
 * what an operator has given back of it all the same.
 */
export function creditsGone(billing: BillingState, attempt: PaymentAttempt, grantId: string): bigint {
  const ofRefunds = creditsOf(attempt, wentBack(attempt)) - givenBack(billing, attempt, grantId);
  return notWon(attempt).reduce((sum, { amount }) => sum + creditsOf(attempt, amount), ofRefunds);
}

/** By hand, of what refunds have taken that stand, and of what disputes that were not won took last. */
function givenBack(billing: BillingState, attempt: PaymentAttempt, grantId: string): bigint {
  const refunds = attempt.refunds.filter(({ amount }) => amount > 0n);
  const standing = [
    ...refunds.map(({ refundId: id }) => ({ id, cause: 'refund' }) as const),
    ...notWon(attempt).map(({ disputeId: id }) => ({ id, cause: 'dispute' }) as const),
  ];
  return standing
    .flatMap((one) => takenBy(billing, one, grantId).at(-1)?.restorations ?? [])
    .reduce((sum, { restorationId, amount }) => (isWithMoney(attempt, restorationId) ? sum : sum + amount), 0n);
}

/** What a refund or a dispute has taken of what its payment bought: an id alone does not say whose credits those are. */
export const takenBy = (
  { revocations, payments }: BillingState,
  { id, cause }: { readonly id: string; readonly cause: 'refund' | 'dispute' },
  grantId: string,
): Revocation[] =>
  revocations.filter(
    (one) =>
      one.grantId === grantId &&
      (cause === 'dispute' ? isOfDispute(payments, one, id) : one.cause === cause && one.revocationId === id),
  );

/** What it took as it was opened, or as it was lost after it had been won. */
const isOfDispute = (
  payments: PaymentsState,
  { revocationId, cause }: Pick<Revocation, 'revocationId' | 'cause'>,
  disputeId: string,
): boolean =>
  cause === 'dispute' &&
  (revocationId === disputeId || (disputeLostAgain(revocationId) === disputeId && !isOfReturn(payments, revocationId)));

/** Whether it came back with the money of a refund or a dispute of the payment, by itself. */
const isWithMoney = ({ refunds, disputes }: PaymentAttempt, restorationId: string): boolean =>
  refunds.some(({ refundId }) => isNumbered(restorationId, withdrawnId(refundId))) ||
  disputes.some(({ disputeId }) => isNumbered(restorationId, wonId(disputeId)));

/** What so much of its price has bought. */
export const creditsOf = ({ credits, price }: Pick<PaymentAttempt, 'credits' | 'price'>, amount: bigint): bigint =>
  (credits * amount) / price;

type Revoked = Pick<BillingState, 'revocations'>;

/** How much of a payment's money is with who paid it: of a refund whose credits were restored, since it failed, that part is back. */
export const refundedOf = ({ revocations }: Revoked, { refunds }: Pick<PaymentAttempt, 'refunds'>): bigint =>
  refunds.reduce((sum, { refundId, amount }) => {
    const taken = revocations.find((one) => one.revocationId === refundId && one.cause === 'refund');
    return sum + amount - (taken === undefined ? 0n : (amount * taken.restored) / taken.amount);
  }, 0n);

/** Whether it is the id of a refund or a dispute, of whichever payment. */
export const isOfReturn = ({ attempts }: PaymentsState, id: string): boolean =>
  valuesOf(attempts).some(
    ({ refunds, disputes }) =>
      refunds.some(({ refundId }) => refundId === id) || disputes.some(({ disputeId }) => disputeId === id),
  );

/** Of attempts that events have begun, and of which a provider is to be asked. */
export const claimsIn = (events: readonly AccountEvent[]): ReadonlySet<string> =>
  new Set(
    events.flatMap(({ type, data }) => {
      const isClaim = type === 'PurchaseStarted' || type === 'AutoReloadStarted' || type === 'RenewalStarted';
      return isClaim && data.price > 0n ? [data.attemptId] : [];
    }),
  );

export const openAttempts = ({ open }: PaymentsState): PaymentAttempt[] => [...valuesOf(open)];

type Claim = Pick<EventData<'RenewalStarted'>, 'attemptId' | 'provider' | 'credits' | 'price' | 'startedAt'>;

const begun = (
  { attemptId, provider, credits, price, startedAt }: Claim,
  kind: PaymentAttempt['kind'],
  period: PaidPeriod | null,
  { method }: Pick<PaymentsState, 'method'>,
): PaymentAttempt => ({
  ...{ attemptId, kind, provider, credits, price, startedAtMs: Date.parse(startedAt), period },
  // Who buys is there, and pays with whatever they like.
  paymentMethodId: kind !== 'purchase' && method?.provider === provider ? method.paymentMethodId : null,
  declinedMethodId: null,
  ...{ state: 'open', decline: null, paymentId: null, refunds: [], disputes: [] },
});

/** Who ends it without its provider has said no. */
export const declineByEnd = ({ endedBy }: Pick<EventData<'PaymentAbandoned'>, 'endedBy'>): PaymentAttempt['decline'] =>
  endedBy === null ? null : 'this time';

/** Who replaces a method while it may be charged is not blamed for whichever of the two was. */
function declineOf(
  { attempts, method }: PaymentsState,
  { attemptId, isTerminal, declinedMethodId }: EventData<'PaymentFailed'>,
): PaymentAttempt['decline'] {
  const charged = declinedMethodId ?? entryOf(attempts, attemptId)?.paymentMethodId;
  if (method === null || method.paymentMethodId !== charged) return null;
  return isTerminal ? 'for good' : 'this time';
}

/** One that was begun before stays as it has come to stand. @throws Error */
function withBegun(payments: PaymentsState, attempt: PaymentAttempt): PaymentsState {
  if (attemptOf(payments, attempt.attemptId) !== undefined) throw new Error(`${attempt.attemptId} is begun twice`);
  return withAttempt(payments, attempt);
}

function withPaid(
  payments: PaymentsState,
  paymentId: string,
  change: (attempt: PaymentAttempt) => Partial<PaymentAttempt>,
): PaymentsState {
  const attempt = paidBy(payments, paymentId);
  if (attempt === undefined) throw new Error(`${paymentId} was never paid`);
  return withAttempt(payments, { ...attempt, ...change(attempt) });
}

function ended(
  payments: PaymentsState,
  { type, data: { attemptId } }: { readonly type: string; readonly data: { readonly attemptId: string } },
  change: Partial<PaymentAttempt>,
): PaymentsState {
  const attempt = attemptOf(payments, attemptId);
  if (attempt === undefined) throw new Error(`${type} of ${attemptId}, which was never begun`);
  if (attempt.state === 'paid') throw new Error(`${type} of ${attemptId}, which ${attempt.paymentId} has paid`);
  return withAttempt(payments, { ...attempt, ...change });
}
