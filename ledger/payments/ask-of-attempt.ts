import type { AccountId } from '../../contracts/ids.ts';
import { MANUAL } from '../../contracts/payments-configuration.ts';
import type { AccountState, OpenAccount } from '../account/account-state.ts';
import { isWithdrawn, methodFor } from '../account/method-for.ts';
import { attemptOf, paidBy } from '../account/payments.ts';
import type { PaymentAttempt, PaymentsState } from '../account/payments-state.ts';
import { MANUAL_PROVIDER } from './manual-provider.ts';
import {
  type AskedPayment,
  isTelling,
  type PaymentFact,
  type PaymentOutcome,
  type PaymentProvider,
  UnfitAnswerError,
} from './payment-provider.ts';

/** Asks what became of an attempt, or ends it, where what it was claimed for is gone. @throws as the provider does */
export function askOfAttempt(
  provider: PaymentProvider,
  accountId: AccountId,
  { stateNow, attempt, isFirst }: AskedOf,
): Promise<PaymentOutcome> {
  const asked = questionOf(accountId, { stateNow, attempt, isFirst });
  return isWithdrawn(stateNow().billing, attempt) ? provider.withdraw(asked) : provider.ask(asked);
}

/**
 * What a provider has said of an attempt, and of a payment what became of its money, too: that may have been told before its attempt was
 * known here, as in the lost part of a ledger that was put back. It is asked over the connections over which it is asked of attempts.
 *
 * @throws as the provider does; UnfitAnswerError where it knows no such payment of the account then
 */
export async function factsOfOutcome(
  provider: PaymentProvider,
  accountId: AccountId,
  { attemptId, outcome }: Pick<AttemptFact, 'attemptId' | 'outcome'>,
): Promise<readonly PaymentFact[]> {
  const told: PaymentFact = { type: 'attempt', attemptId, outcome };
  if (outcome.type !== 'paid' || !isTelling(provider)) return [told];
  const known = await provider.factsOf({ kind: provider.kinds.payment, id: outcome.paymentId }, { isByItself: true });
  if (known?.accountId !== accountId)
    throw new UnfitAnswerError(
      `${provider.name} says that ${outcome.paymentId} was paid, and knows no such payment of ${accountId}`,
    );
  return [told, ...known.facts];
}

type AttemptFact = Extract<PaymentFact, { readonly type: 'attempt' }>;

/** What a provider is asked. */
export const questionOf = (accountId: AccountId, { stateNow, attempt, isFirst }: AskedOf): AskedPayment => ({
  ...{ accountId, attempt, isFirst },
  method: () => methodFor(stateNow(), attempt),
  saved: () => stateNow().billing.payments.method,
  isAnothers: isAnothersIn(() => stateNow().billing.payments, attempt),
});

/** Looked at as something is found. */
export const isAnothersIn =
  (paymentsNow: () => PaymentsState, { attemptId }: PaymentAttempt): AskedPayment['isAnothers'] =>
  (attempt, paymentId) => {
    const payments = paymentsNow();
    const isKnown = attempt !== attemptId && attemptOf(payments, attempt) !== undefined;
    return isKnown || (paidBy(payments, paymentId)?.attemptId ?? attemptId) !== attemptId;
  };

interface AskedOf extends Pick<AskedPayment, 'attempt' | 'isFirst'> {
  /** As far as it is known at the instant. */
  readonly stateNow: () => OpenAccount;
}

/** Whether a gateway, or a command, of a product takes an account's money: each product may have a provider of its own, and nobody else asks that. */
export const takesMoneyOf = (product: string, state: AccountState): boolean =>
  state.type === 'unopened' || state.organization.product === product;

/** Who has taken it: the one that is configured, or an operator. Null where another was configured then. */
export function takerOf({ provider: name }: PaymentAttempt, configured: PaymentProvider): PaymentProvider | null {
  if (name === MANUAL) return MANUAL_PROVIDER;
  return name === configured.name ? configured : null;
}
