import { z } from 'zod';
import { attemptIdField, microUsdField, paymentIdField } from '../../contracts/event-fields.ts';
import { type MicroUsd, microUsd } from '../../contracts/money.ts';
import { entryOf, type KeyedTree, recordOf, treeOfSorted, valuesOf, withEntry, withoutEntry } from './keyed-tree.ts';
import { monthOf } from './month.ts';
import { paidPeriodSchema } from './plan-state.ts';

const ms = z.int();

const paymentMethod = z.strictObject({
  provider: z.string(),
  customerId: z.string(),
  paymentMethodId: z.string(),
  brand: z.string(),
  last4: z.string(),
  consentedAtMs: ms,
});

export const attemptSchema = z.strictObject({
  attemptId: attemptIdField,
  kind: z.enum(['purchase', 'reload', 'renewal', 'upgrade']),
  provider: z.string(),
  credits: microUsdField,
  price: microUsdField,
  startedAtMs: ms,
  /** One that failed or was abandoned becomes `paid` where the provider turns out to have the money. */
  state: z.enum(['open', 'action required', 'failed', 'abandoned', 'paid']),
  /** What of a plan it pays for; null where it is credit alone. */
  period: paidPeriodSchema.nullable(),
  /** Of the methods that were saved the one that it was begun with; null where none was of its provider, '' where it was begun before the one that is saved, and it is not known whether with another, or with none. */
  paymentMethodId: z.string().nullable(),
  /** Of one that was declined the method that was, where its provider says that it was another; null else. */
  declinedMethodId: z.string().nullable(),
  /** How it was declined: that method, or, abandoned, all of it by an operator. Null where it was not, or another method was saved by then: which of them was charged is not known. */
  decline: z.enum(['this time', 'for good']).nullable(),
  /** Of the provider, once it is known. */
  paymentId: paymentIdField.nullable(),
  /** An amount of 0 is one that was withdrawn. */
  refunds: z.array(z.strictObject({ refundId: z.string(), amount: microUsdField })),
  disputes: z.array(
    z.strictObject({ disputeId: z.string(), amount: microUsdField, outcome: z.enum(['won', 'lost']).nullable() }),
  ),
});
export type PaymentAttempt = z.infer<typeof attemptSchema>;

const reload = z.strictObject({
  threshold: microUsdField,
  target: microUsdField,
  monthlyCap: microUsdField,
  /** Null is off. */
  consentedAtMs: ms.nullable(),
  /** Of attempts, one after another. */
  declines: z.int(),
  /** Attempts since then, or between them, that were given up as nobody has answered: they make the wait longer, and pause nothing. */
  unanswered: z.int(),
  /** No attempt before; null is any time. */
  nextAttemptAtMs: ms.nullable(),
  /** Why; null where it is not. */
  paused: z.string().nullable(),
  /** Why none was begun last, where that is still so. */
  skipped: z.string().nullable(),
});
export type ReloadState = z.infer<typeof reload>;

const storedPayments = z.strictObject({
  /** What may be charged without its owner being there; null is nothing. */
  method: paymentMethod.nullable(),
  /** When the last one was removed: a consent of before is none any more, however often it is told. Null is never. */
  methodRemovedAtMs: ms.nullable(),
  /** By id, those that are open; the others are kept each by itself (stored-parts.ts). */
  attempts: z.record(z.string(), attemptSchema),
  /** Null where it was never configured. */
  reload: reload.nullable(),
});

/** What an account has paid, and is about to pay. Of attempts there may be any number: no event copies them, no debit looks at each. */
export type PaymentsState = Omit<z.output<typeof storedPayments>, 'attempts'> & {
  /** By id. */
  readonly attempts: KeyedTree<PaymentAttempt>;
  /** Those of which it is still to be found out what becomes of them. */
  readonly open: KeyedTree<PaymentAttempt>;
  /** What was bought by auto-reload, or may have been, by the calendar month (UTC) in which it was begun. */
  readonly reloaded: KeyedTree<MicroUsd>;
  /** By when a period of a plan ends (milliseconds), where a payment of it has gone back whole: all that it was paid by, for whichever plan. */
  readonly returned: KeyedTree<readonly PaymentAttempt[]>;
};

export const NO_PAYMENTS: PaymentsState = Object.freeze({
  ...{ method: null, methodRemovedAtMs: null, reload: null },
  ...{ attempts: null, open: null, reloaded: null, returned: null },
});

/** What follows of the attempts is not stored. */
export const paymentsSchema = z.codec(storedPayments, z.custom<PaymentsState>(), {
  decode: ({ attempts, ...others }) =>
    Object.values(attempts).reduce<PaymentsState>(withAttempt, { ...NO_PAYMENTS, ...others }),
  encode: ({ attempts: _attempts, open, reloaded: _reloaded, returned: _returned, ...kept }) => ({
    ...kept,
    attempts: recordOf(open),
  }),
});

/** Whether what becomes of it is still to be found out. */
export const isOpen = ({ state }: Pick<PaymentAttempt, 'state'>): boolean =>
  state === 'open' || state === 'action required';

type OfMethod = Pick<PaymentAttempt, 'paymentMethodId' | 'declinedMethodId'>;

/** Of which method it says something: of the one that it was begun with, unless another was declined. */
export const methodOf = ({ paymentMethodId, declinedMethodId }: OfMethod): string | null =>
  declinedMethodId ?? paymentMethodId;

/** Whether it says something of another method than the one that is saved by now, and nothing of that. */
export function isOfMethodBefore({ method }: Pick<PaymentsState, 'method'>, attempt: OfMethod): boolean {
  const id = methodOf(attempt) ?? '';
  return method !== null && id !== '' && method.paymentMethodId !== id;
}

/** Whether it was declined, of another method than it was begun with, which is not the one that is saved by now either: that was not asked. */
export const isAnothersDecline = (payments: Pick<PaymentsState, 'method'>, attempt: PaymentAttempt): boolean =>
  attempt.state === 'failed' && attempt.declinedMethodId !== null && isOfMethodBefore(payments, attempt);

/** Whether that is not known: of an attempt in views of before, until they are rebuilt. Where none is saved now it makes no difference. */
export const isOfUnknownMethod = ({ method }: Pick<PaymentsState, 'method'>, attempt: OfMethod): boolean =>
  method !== null && methodOf(attempt) === '';

/** With an attempt that is begun, or as it stands now. */
export function withAttempt(payments: PaymentsState, attempt: PaymentAttempt): PaymentsState {
  const { attemptId, startedAtMs } = attempt;
  const month = monthOf(startedAtMs);
  const before = entryOf(payments.attempts, attemptId);
  const sum = entryOf(payments.reloaded, month) ?? 0n;
  const reloaded = sum + reloadedBy(attempt) - (before === undefined ? 0n : reloadedBy(before));
  const attempts = withEntry(payments.attempts, attemptId, attempt);
  return {
    ...payments,
    attempts,
    returned: returnedAfter({ ...payments, attempts }, attempt),
    open: isOpen(attempt) ? withEntry(payments.open, attemptId, attempt) : withoutEntry(payments.open, attemptId),
    reloaded:
      reloaded === 0n
        ? withoutEntry(payments.reloaded, month)
        : withEntry(payments.reloaded, month, microUsd(reloaded)),
  };
}

/** With all that are not open, at once. */
export function withEndedAttempts(payments: PaymentsState, ended: readonly PaymentAttempt[]): PaymentsState {
  const all = [...valuesOf(payments.open), ...ended];
  const reloaded = new Map<string, MicroUsd>();
  for (const attempt of all) {
    const [month, amount] = [monthOf(attempt.startedAtMs), reloadedBy(attempt)];
    if (amount > 0n) reloaded.set(month, microUsd((reloaded.get(month) ?? 0n) + amount));
  }
  const attempts = treeOfSorted(all.map((attempt) => [attempt.attemptId, attempt]));
  return {
    ...payments,
    attempts,
    reloaded: treeOfSorted(reloaded),
    returned: all.reduce<PaymentsState['returned']>(
      (returned, one) => returnedAfter({ attempts, returned }, one),
      null,
    ),
  };
}

/** The others are looked for only where what was paid by one has gone back. */
function returnedAfter(
  payments: Pick<PaymentsState, 'attempts' | 'returned'>,
  attempt: PaymentAttempt,
): PaymentsState['returned'] {
  const { returned } = payments;
  if (attempt.state !== 'paid' || attempt.period === null) return returned;
  const { endMs } = attempt.period;
  const key = String(endMs);
  if (!isBack(attempt) && entryOf(returned, key) === undefined) return returned;
  const paid = paidUntil(payments, endMs);
  return paid.some(isBack) ? withEntry(returned, key, paid) : withoutEntry(returned, key);
}

/** All by which periods of a plan that end in this instant (milliseconds) were paid, for whichever plan. */
export const paidUntil = ({ attempts }: Pick<PaymentsState, 'attempts'>, endMs: number): PaymentAttempt[] =>
  [...valuesOf(attempts)].filter(({ state, period }) => state === 'paid' && period?.endMs === endMs);

/** Whether none of its money is here. */
export const isBack = (attempt: Pick<PaymentAttempt, 'price'> & Returns): boolean => mayGoBack(attempt) <= 0n;

type Returns = Pick<PaymentAttempt, 'refunds' | 'disputes'>;

/** What went back of a payment, in money alone, whatever became of the credits: less what was withdrawn. */
export const wentBack = ({ refunds }: Pick<Returns, 'refunds'>): bigint =>
  refunds.reduce((sum, { amount }) => sum + amount, 0n);

/** Of a payment's money, what its disputes have: those that are open, and those that were lost. */
export const disputedOf = (attempt: Pick<Returns, 'disputes'>): bigint =>
  notWon(attempt).reduce((sum, { amount }) => sum + amount, 0n);

export const notWon = ({ disputes }: Pick<Returns, 'disputes'>): PaymentAttempt['disputes'] =>
  disputes.filter(({ outcome }) => outcome !== 'won');

/** How much of its price an operator may still write down as gone back, or as disputed; below 0 where its provider has told of more. */
export const mayGoBack = (attempt: Pick<PaymentAttempt, 'price'> & Returns): bigint =>
  attempt.price - wentBack(attempt) - disputedOf(attempt);

/** Paid, or open. */
const reloadedBy = ({ kind, state, price }: PaymentAttempt): bigint =>
  kind === 'reload' && state !== 'failed' && state !== 'abandoned' ? price : 0n;
