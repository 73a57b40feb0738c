import type { AccountEvent } from '../../contracts/events.ts';
import type { PaymentAttempt, PaymentsState } from './payments-state.ts';

/** The attempts of an account, each with how it stands. @throws Error for an outcome of an attempt that there is not */
export function evolvePayments(payments: PaymentsState, event: AccountEvent): PaymentsState {
  switch (event.type) {
    case 'PaymentMethodSaved': {
      const { consentedAt, by: _by, ...saved } = event.data;
      return { ...payments, method: { ...saved, consentedAtMs: Date.parse(consentedAt) } };
    }
    case 'PaymentMethodRemoved':
      return { ...payments, method: null };
    case 'PurchaseStarted': {
      const { attemptId, provider, amount: credits, price, startedAt } = event.data;
      const begun = { kind: 'purchase', state: 'open', paymentId: null } as const;
      return withAttempt(payments, {
        attemptId,
        provider,
        credits,
        price,
        startedAtMs: Date.parse(startedAt),
        ...begun,
      });
    }
    case 'PaymentSucceeded':
      return ended(payments, event, { state: 'paid', paymentId: event.data.paymentId });
    case 'PaymentFailed':
      return ended(payments, event, { state: 'failed' });
    case 'PaymentActionRequired':
      return ended(payments, event, { state: 'action required', paymentId: event.data.paymentId });
    case 'PaymentAbandoned':
      return ended(payments, event, { state: 'abandoned' });
    default:
      return payments;
  }
}

export const attemptOf = ({ attempts }: PaymentsState, attemptId: string): PaymentAttempt | undefined =>
  Object.hasOwn(attempts, attemptId) ? attempts[attemptId] : undefined;

/** Whether what becomes of it is still to be found out. */
export const isOpen = ({ state }: Pick<PaymentAttempt, 'state'>): boolean =>
  state === 'open' || state === 'action required';

export const openAttempts = ({ attempts }: PaymentsState): PaymentAttempt[] => Object.values(attempts).filter(isOpen);

const withAttempt = (payments: PaymentsState, attempt: PaymentAttempt): PaymentsState => ({
  ...payments,
  attempts: { ...payments.attempts, [attempt.attemptId]: attempt },
});

function ended(
  payments: PaymentsState,
  { type, data: { attemptId } }: { readonly type: string; readonly data: { readonly attemptId: string } },
  change: Partial<PaymentAttempt>,
): PaymentsState {
  const attempt = attemptOf(payments, attemptId);
  if (attempt === undefined) throw new Error(`${type} of ${attemptId}, which was never begun`);
  return withAttempt(payments, { ...attempt, ...change });
}
