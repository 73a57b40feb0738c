import type { AccountState } from '../../ledger/account/account-state.ts';
import { entriesOf } from '../../ledger/account/keyed-tree.ts';
import { attemptSchema, NO_PAYMENTS, paymentsSchema } from '../../ledger/account/payments-state.ts';
import type { KnownAccount, KnownPayments } from './known-accounts.ts';

type KnownAttempt = KnownPayments['attempts'][string];

/** What money has done outside of the ledger stays done: each is to be looked up with whoever has it. Amounts are micro-USD. */
export interface PaymentsToDoAgain {
  /** With how the ledger has them; null where it has nothing of them. */
  readonly attempts: readonly (Omit<KnownAttempt, 'refunds' | 'disputes' | 'period'> & {
    readonly is: string | null;
  })[];
  /** Refunds, and disputes with how they ended, where that is lost. */
  readonly returned: readonly Returned[];
  /** As they were, where they are not so; `was` null is none. */
  readonly method: { readonly was: KnownPayments['method'] } | null;
  readonly reload: { readonly was: KnownPayments['reload'] } | null;
}

interface Returned {
  readonly id: string;
  readonly paymentId: string | null;
  readonly amount: string;
  /** `refunded`, `withdrawn` (of 0), `disputed`, or how a dispute ended. */
  readonly was: string;
}

/** Null where nothing of it is lost. What the ledger has decided since the views is not lost. */
export function missingPayments(
  { now, then }: { readonly now: AccountState; readonly then: AccountState },
  { billing }: KnownAccount,
): PaymentsToDoAgain | null {
  const known = billing?.payments;
  if (known === undefined) return null;
  const [has, had] = [paymentsIn(now), paymentsIn(then)];
  const attempts = Object.values(known.attempts).flatMap(({ refunds: _, disputes: __, period: ___, ...attempt }) => {
    const is = has.attempts[attempt.attemptId]?.state ?? null;
    const isThere = attempt.state === is || attempt.state === had.attempts[attempt.attemptId]?.state;
    return isThere ? [] : [{ ...attempt, is }];
  });
  const returnedThere = new Set([has, had].flatMap(returnsOf).map(textOf));
  const returned = returnsOf(known).filter((one) => !returnedThere.has(textOf(one)));
  const isSame = <T>(of: (payments: KnownPayments) => T): boolean =>
    [has, had].some((one) => JSON.stringify(of(one)) === JSON.stringify(of(known)));
  const method = isSame(methodOf) ? null : { was: known.method };
  const reload = isSame(reloadOf) ? null : { was: known.reload };
  const isNothing = attempts.length + returned.length === 0 && method === null && reload === null;
  return isNothing ? null : { attempts, returned, method, reload };
}

/** As views have it, all attempts among it. */
function paymentsIn(state: AccountState): KnownPayments {
  const payments = state.type === 'open' ? state.billing.payments : NO_PAYMENTS;
  const attempts = [...entriesOf(payments.attempts)].map(
    ([id, attempt]) => [id, attemptSchema.encode(attempt)] as const,
  );
  return { ...paymentsSchema.encode(payments), attempts: Object.fromEntries(attempts) };
}

const methodOf = ({ method }: KnownPayments) =>
  method === null ? null : [method.provider, method.brand, method.last4];

const reloadOf = ({ reload }: KnownPayments) =>
  reload === null ? null : [reload.threshold, reload.target, reload.monthlyCap, reload.consentedAtMs === null];

const returnsOf = ({ attempts }: KnownPayments): Returned[] =>
  Object.values(attempts).flatMap(({ paymentId, refunds, disputes }) => [
    ...refunds.map(({ refundId: id, amount }) => ({
      id,
      paymentId,
      amount,
      was: amount === '0' ? 'withdrawn' : 'refunded',
    })),
    ...disputes.map(({ disputeId: id, amount, outcome }) => ({ id, paymentId, amount, was: outcome ?? 'disputed' })),
  ]);

const textOf = ({ id, paymentId, was }: Returned): string => JSON.stringify([id, paymentId, was]);
