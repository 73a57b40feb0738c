import type { AccountEvent, EventData } from '../../contracts/events.ts';
import { instant } from '../../contracts/instant.ts';
import { groupedUsd } from '../../contracts/money.ts';
import { MANUAL } from '../../contracts/payments-configuration.ts';
import type { OpenAccount } from './account-state.ts';
import { afterDecline, afterGivenUp, isAfterOthers } from './after-decline.ts';
import { type CommandOf, type CommandRefusal, commandRefused, type Decision } from './commands.ts';
import { freeGrantOfPayment, LONGEST_GRANT_OF_PAYMENT } from './grant-id.ts';
import { refuseWithoutRoom } from './grant-room.ts';
import { attemptOf, declineByEnd, openAttempts, paidBy } from './payments.ts';
import type { PaymentAttempt } from './payments-state.ts';
import { isOpen } from './payments-state.ts';
import { isAwaited, paysTheSame } from './plans.ts';

/** What was paid for burns after what was given. */
export const PAID_PRIORITY = 100;

/** Why an attempt is given up whose decline is not written down as that card's. */
export const OF_ANOTHER_CARD = 'another card than the saved one was declined';

/*
 * The same again, and whatever would only repeat what is known, is done already: outcomes come in any order, and twice.
 */

/** The claim of a purchase: nobody is asked for money before it is written down, and there is one at a time. */
export function startPurchase(command: CommandOf<'StartPurchase'>, state: OpenAccount): Decision {
  const { attemptId, provider, amount, price, by, nowMs } = command;
  if (amount <= 0n) return commandRefused('invalid_amount', 'amount: must be more than 0');
  if (price <= 0n) return commandRefused('invalid_amount', 'price: must be more than 0');
  const { payments } = state.billing;
  const known = attemptOf(payments, attemptId);
  if (known !== undefined) {
    const isSame = known.kind === 'purchase' && known.provider === provider;
    if (isSame && known.credits === amount && known.price === price) return [];
    return commandRefused('id_reused', `attempt ${attemptId} was made for something else`);
  }
  const open = openAttempts(payments).find(({ kind }) => kind === 'purchase');
  if (open !== undefined)
    return commandRefused(
      'attempt_open',
      `purchase ${open.attemptId} of ${groupedUsd(open.credits)} USD is open: another may begin once it is paid, has failed, or was declined (gateway payment decline ${state.accountId} ${open.attemptId} --reason "…")`,
    );
  const noRoom = refuseWithoutRoom(state, { grantId: LONGEST_GRANT_OF_PAYMENT, amount });
  if (noRoom !== null) return noRoom;
  const startedAt = instant(nowMs);
  return [{ type: 'PurchaseStarted', data: { attemptId, provider, amount, price, by, startedAt } }];
}

/**
 * The provider has the money. It is written down together with its credits, also where the attempt was given up before: what
 * was paid is never lost. @returns events, none where it is written down already, also as that of another attempt of a renewal's period
 * where the ledger was put back and does not know this one any more
 */
export function recordPayment(command: CommandOf<'RecordPayment'>, state: OpenAccount): Decision {
  const { attemptId, provider, paymentId, amount, paidAtMs, nowMs } = command;
  const attempt = attemptOf(state.billing.payments, attemptId);
  const other = paidBy(state.billing.payments, paymentId);
  if (attempt === undefined)
    return other !== undefined && paysTheSame(attemptId, other) ? [] : withoutAttempt(attemptId);
  if (attempt.state === 'paid' && attempt.paymentId === paymentId) return [];
  if (attempt.state === 'paid')
    return commandRefused(
      'payment_differs',
      `attempt ${attemptId} was paid by ${attempt.paymentId}, and is not paid by ${paymentId} once more: refund that`,
    );
  if (provider !== attempt.provider || amount !== attempt.price)
    return commandRefused(
      'payment_differs',
      `attempt ${attemptId} is about ${groupedUsd(attempt.price)} USD at ${attempt.provider}, and ${paymentId} is ${groupedUsd(amount)} USD at ${provider}: refund that`,
    );
  if (other !== undefined)
    return commandRefused(
      'payment_differs',
      `payment: ${paymentId} has paid ${other.attemptId}, and pays nothing else`,
    );
  // No provider's begins so, and its grant would be the second of another payment.
  if (paymentId.startsWith('~'))
    return commandRefused(
      'grant_id_reserved',
      `payment: ${paymentId} begins with ~, which none may: choose another name`,
    );
  const granted = freeGrantOfPayment(state, paymentId);
  if (granted === null)
    return commandRefused('grant_exists', `grants were made by hand under all ids that ${paymentId} could have`);
  return [
    { type: 'PaymentSucceeded', data: { attemptId, provider, paymentId, amount, paidAt: instant(paidAtMs) } },
    {
      type: 'CreditsGranted',
      data: {
        ...{ grantId: granted, ...termsOfCredits(attempt, state, nowMs) },
        ...{ amount: attempt.credits, costBasis: amount, priority: PAID_PRIORITY },
        effectiveAt: instant(madeAtMs(attempt, command)),
      },
    },
  ];
}

/**
 * When it was made, by its provider's clock, whenever that is told: its credits begin then, and are of that month. By a clock
 * that is off it would be before it was asked for, or later than now.
 */
const madeAtMs = (
  { startedAtMs }: PaymentAttempt,
  { paidAtMs, nowMs }: Pick<CommandOf<'RecordPayment'>, 'paidAtMs' | 'nowMs'>,
): number => Math.min(nowMs, Math.max(startedAtMs, paidAtMs));

/** What is paid for a period that is over, or of a plan that the account has no more, is credit as bought. */
function termsOfCredits(
  attempt: PaymentAttempt,
  { billing }: OpenAccount,
  nowMs: number,
): Pick<EventData<'CreditsGranted'>, 'source' | 'expiresAt'> {
  const endMs = attempt.period?.endMs ?? nowMs;
  const isOfPlan = nowMs < endMs && isAwaited(billing, attempt);
  return isOfPlan ? { source: 'plan', expiresAt: instant(endMs) } : { source: 'purchase', expiresAt: null };
}

export const recordPaymentFailure = (command: CommandOf<'RecordPaymentFailure'>, state: OpenAccount): Decision =>
  whileOpen(state, command.attemptId, (attempt) => {
    const { attemptId, code, isTerminal, nowMs, declinedMethodId = attempt.paymentMethodId } = command;
    const { billing } = state;
    const isAnothers = declinedMethodId !== null && declinedMethodId !== attempt.paymentMethodId;
    if (isAnothers && isAfterOthers(billing.payments, attempt))
      return givenUp({ attemptId, reason: OF_ANOTHER_CARD, nowMs }, attempt, state);
    const anothers = isAnothers ? { declinedMethodId } : {};
    const { nextAttemptAt, pause } = afterDecline({ ...attempt, ...anothers }, billing, command);
    const failed = { attemptId, code, isTerminal, failedAt: instant(nowMs), nextAttemptAt, ...anothers };
    return [{ type: 'PaymentFailed', data: failed }, ...pause];
  });

export const requirePaymentAction = (
  { attemptId, paymentId, nowMs }: CommandOf<'RequirePaymentAction'>,
  state: OpenAccount,
): Decision =>
  whileOpen(state, attemptId, ({ state: before }) =>
    before === 'action required'
      ? []
      : [{ type: 'PaymentActionRequired', data: { attemptId, paymentId, at: instant(nowMs) } }],
  );

export const abandonPayment = (command: CommandOf<'AbandonPayment'>, state: OpenAccount): Decision =>
  whileOpen(state, command.attemptId, (attempt) => givenUp(command, attempt, state));

/** Of what an operator takes by hand nobody else ends it. */
function givenUp(
  { attemptId, reason, endedBy: ender, nowMs }: Omit<CommandOf<'AbandonPayment'>, 'type'>,
  attempt: PaymentAttempt,
  { billing }: OpenAccount,
): AccountEvent[] {
  const endedBy = attempt.provider === MANUAL ? null : (ender ?? null);
  const ended = { ...attempt, decline: declineByEnd({ endedBy }) };
  return [
    { type: 'PaymentAbandoned', data: { attemptId, reason, at: instant(nowMs), endedBy } },
    ...afterGivenUp(ended, billing, nowMs),
  ];
}

export function endPurchase(command: CommandOf<'EndPurchase'>, state: OpenAccount): Decision {
  const kind = attemptOf(state.billing.payments, command.attemptId)?.kind ?? 'purchase';
  if (kind !== 'purchase')
    return commandRefused(
      'attempt_not_found',
      `${command.attemptId} is no purchase (${kind}): it ends with the plan, or the auto-reload, that it is of`,
    );
  return abandonPayment({ ...command, type: 'AbandonPayment' }, state);
}

export function savePaymentMethod(
  { type: _type, consentedAtMs, by, ...saved }: CommandOf<'SavePaymentMethod'>,
  { billing: { payments } }: OpenAccount,
): AccountEvent[] {
  if (payments.method?.paymentMethodId === saved.paymentMethodId && payments.method.provider === saved.provider)
    return [];
  // A consent of before is told again: a later one stands, and one that was withdrawn since does not.
  const standsFromMs = payments.method?.consentedAtMs ?? payments.methodRemovedAtMs;
  if (standsFromMs !== null && consentedAtMs < standsFromMs) return [];
  return [{ type: 'PaymentMethodSaved', data: { ...saved, consentedAt: instant(consentedAtMs), by } }];
}

export function removePaymentMethod(
  { by, nowMs }: CommandOf<'RemovePaymentMethod'>,
  { billing: { payments } }: OpenAccount,
): AccountEvent[] {
  if (payments.method === null) return [];
  const { provider, paymentMethodId } = payments.method;
  return [{ type: 'PaymentMethodRemoved', data: { provider, paymentMethodId, removedAt: instant(nowMs), by } }];
}

/** What comes after an attempt has ended says nothing new. */
function whileOpen(
  { billing: { payments } }: OpenAccount,
  attemptId: string,
  eventsOf: (attempt: PaymentAttempt) => AccountEvent[],
): Decision {
  const attempt = attemptOf(payments, attemptId);
  if (attempt === undefined) return withoutAttempt(attemptId);
  return isOpen(attempt) ? eventsOf(attempt) : [];
}

const withoutAttempt = (attemptId: string): CommandRefusal =>
  commandRefused('attempt_not_found', `the account has no payment attempt ${attemptId}`);
