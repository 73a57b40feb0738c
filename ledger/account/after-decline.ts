import type { AccountEvent } from '../../contracts/events.ts';
import { instant } from '../../contracts/instant.ts';
import { MANUAL } from '../../contracts/payments-configuration.ts';
import type { OpenAccount } from './account-state.ts';
import type { CommandOf } from './commands.ts';
import { isLastDecline } from './declined-method.ts';
import { allAttempts } from './payments.ts';
import type { PaymentAttempt, PaymentsState, ReloadState } from './payments-state.ts';
import { isAnothersDecline, isOfMethodBefore, isOfUnknownMethod, isOpen } from './payments-state.ts';
import { isWithoutGrace } from './plan-grace.ts';
import { DAY_MS } from './plan-periods.ts';
import { duePlan, isAwaited, newestRenewal, renewalsOf } from './plans.ts';
import { isAnswered, isAnsweredOf, isConsented, pausesNext, waitAfter } from './reload.ts';

/**
 * Of a period of a plan, after the first attempt that was declined or given up, the second, and each from the third on. After the fourth
 * decline it waits for another payment method, or for the end of its grace.
 */
const RENEWAL_AGAIN_MS = [DAY_MS, 2 * DAY_MS, 4 * DAY_MS] as const;
/** So many of a period that nobody has answered end its plan once its grace is over. */
const GIVEN_UP_MAX = 4;

/** So many declines of other methods than the saved one, one after another, cost no wait; each further one is given up, and waits as that does. */
const OTHERS_MAX = 8;

const GIVEN_UP = 'given_up';

interface AfterDecline {
  /** Null is never. */
  readonly nextAttemptAt: string | null;
  readonly pause: AccountEvent[];
}

/** What a decline leads to where nobody is there to try again. */
export function afterDecline(
  attempt: PaymentAttempt,
  billing: OpenAccount['billing'],
  { code, isTerminal, nowMs }: CommandOf<'RecordPaymentFailure'>,
): AfterDecline {
  const { reload } = billing.payments;
  const isReload = attempt.kind === 'reload' && reload !== null;
  const isTriedAgain = isReload || (attempt.kind === 'renewal' && isAwaited(billing, attempt));
  // What is saved by now has not been asked for anything yet.
  if (isTriedAgain && isOfMethodBefore(billing.payments, attempt)) return { nextAttemptAt: instant(nowMs), pause: [] };
  const waits = isReload ? (pausesNext(reload) ? undefined : waitAfter(reload)) : waitOfRenewal(attempt, billing);
  const isLast = isTerminal || isLastDecline(billing.payments, attempt, nowMs);
  if (waits !== undefined && !isLast) return { nextAttemptAt: instant(nowMs + waits), pause: [] };
  return { nextAttemptAt: null, pause: isReload ? pauseOf(reload, code, nowMs) : [] };
}

/**
 * Whether there were so many declines for the same of other methods than each was begun with, one after another, but for what was given
 * up between. In the lost part of a ledger that was put back there are some of a card that was saved then; whatever answers so for ever
 * is not asked at once for ever. What was declined of the method that it was begun with, or was paid, ends the row.
 */
export function isAfterOthers(payments: PaymentsState, { attemptId, kind, period }: PaymentAttempt): boolean {
  const ofTheSame = allAttempts(payments).filter(
    (one) => one.attemptId !== attemptId && one.kind === kind && one.period?.startMs === period?.startMs,
  );
  const isIt = (one: PaymentAttempt): boolean => isAnothersDecline(payments, one);
  const ended = ofTheSame.findLastIndex((one) => !isIt(one) && !isUnanswered(one));
  return ofTheSame.slice(ended + 1).filter(isIt).length >= OTHERS_MAX;
}

/**
 * The same where nothing was charged and the attempt was given up: it waits as after a decline, and says so only by a pause. A provider
 * that is away, or refuses, has declined nothing, and is asked again for ever, now and then; what an operator says is an answer.
 */
export function afterGivenUp(
  attempt: PaymentAttempt,
  { payments }: OpenAccount['billing'],
  nowMs: number,
): AccountEvent[] {
  const { reload } = payments;
  const isAnswer = attempt.kind === 'reload' && isAnsweredOf(payments, attempt);
  if (!isAnswer || reload === null || !isConsented(reload, attempt) || !pausesNext(reload)) return [];
  return pauseOf(reload, GIVEN_UP, nowMs);
}

/** A refund of what another one has bought may have paused it while this one was open. */
const pauseOf = ({ paused }: ReloadState, reason: string, nowMs: number): AccountEvent[] =>
  paused === null ? [{ type: 'AutoReloadPaused', data: { reason, at: instant(nowMs) } }] : [];

/**
 * From when on a period may be paid by another attempt because nobody has answered the newest: it is open still, or was given up with
 * nothing charged, as after an outage. At once where that was of another plan than is asked for by now, or is credit as bought, or
 * of another payment method than is saved by now. Null where it was answered. What an operator says, or waits for, is an answer. Never
 * where that was of a method of which it is not known whether it is the one that is saved.
 */
export function unansweredUntil({ plan, payments }: OpenAccount['billing']): number | null {
  if (plan === null || plan.due === null) return null;
  const { due } = plan;
  const newest = newestRenewal(payments, due.startMs);
  if (newest === undefined) return null;
  // What was paid, and is not of the plan, was wanted no more then.
  if (newest.period?.plan !== duePlan(plan) || newest.state === 'paid') return 0;
  if (newest.provider === MANUAL) return null;
  if (isOpen(newest)) return Number.POSITIVE_INFINITY;
  if (isOfMethodBefore(payments, newest)) return 0;
  if (isUnanswered(newest)) return newest.startedAtMs + waitAfterAttempts(due.attempts);
  return isOfUnknownMethod(payments, newest) ? Number.POSITIVE_INFINITY : null;
}

const isUnanswered = (attempt: PaymentAttempt): boolean => attempt.state === 'abandoned' && !isAnswered(attempt);

/** Whether the newest attempt was declined, also by an operator, whatever is saved by now. */
export function isDeclined({ plan, payments }: OpenAccount['billing']): boolean {
  if (plan === null || plan.due === null) return false;
  const newest = newestRenewal(payments, plan.due.startMs);
  if (newest === undefined || newest.period?.plan !== duePlan(plan)) return false;
  return isNo(newest);
}

/** Declined, also by an operator. */
const isNo = (attempt: PaymentAttempt): boolean =>
  attempt.state === 'failed' || (attempt.state === 'abandoned' && isAnswered(attempt));

/** Whether nobody has answered the newest attempt, nor so many of before, that what is to be paid is as good as not paid. */
export function isGivenUp({ plan, payments }: OpenAccount['billing']): boolean {
  if (plan === null || plan.due === null) return false;
  const { due } = plan;
  const isOfIt = ({ period }: PaymentAttempt): boolean => period?.plan === duePlan(plan);
  const newest = newestRenewal(payments, due.startMs);
  if (newest === undefined || !isUnanswered(newest) || !isOfIt(newest)) return false;
  const given = renewalsOf(payments, due.startMs).filter(isUnanswered);
  // What was of another plan is withdrawn, and says nothing of this one; but for plans in turns, of a period that they have no grace in.
  return (isWithoutGrace(payments, due) ? given : given.filter(isOfIt)).length >= GIVEN_UP_MAX;
}

/** Undefined is never: the fourth decline of a method is the last, whatever was given up between them. */
function waitOfRenewal(attempt: PaymentAttempt, billing: OpenAccount['billing']): number | undefined {
  const due = billing.plan?.due ?? null;
  if (due === null || attempt.kind !== 'renewal' || !isAwaited(billing, attempt)) return undefined;
  const declines = renewalsOf(billing.payments, due.startMs).filter(
    (one) => isNo(one) && !isOfMethodBefore(billing.payments, one),
  ).length;
  return declines < RENEWAL_AGAIN_MS.length ? waitAfterAttempts(due.attempts) : undefined;
}

/** The longer, the more there were. */
const waitAfterAttempts = (attempts: number): number => RENEWAL_AGAIN_MS[attempts - 1] ?? RENEWAL_AGAIN_MS[2];
