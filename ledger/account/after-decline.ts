import type { AccountEvent } from '../../contracts/events.ts';
import { MANUAL } from '../../contracts/payments-configuration.ts';
import type { OpenAccount } from './account-state.ts';
import type { CommandOf } from './commands.ts';
import type { PaymentAttempt } from './payments-state.ts';
import { isOpen } from './payments-state.ts';
import { DAY_MS } from './plan-periods.ts';
import { duePlan, isAwaited, newestRenewal } from './plans.ts';
import { isAnswered, isConsented, pausesNext, waitAfter } from './reload.ts';

/** Of a period of a plan, after the first decline, the second, the third; after the next one it waits for another payment method, or for the end of its grace. */
const RENEWAL_AGAIN_MS = [DAY_MS, 2 * DAY_MS, 4 * DAY_MS] as const;

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
  const waits = isReload ? (pausesNext(reload) ? undefined : waitAfter(reload)) : waitOfRenewal(attempt, billing);
  if (waits !== undefined && !isTerminal) return { nextAttemptAt: instant(nowMs + waits), pause: [] };
  const paused: AccountEvent = { type: 'AutoReloadPaused', data: { reason: code, at: instant(nowMs) } };
  return { nextAttemptAt: null, pause: isReload ? [paused] : [] };
}

/**
 * The same where nothing was charged and the attempt was given up: it waits as after a decline, and says so only by a pause. A provider
 * that is away, or refuses, has declined nothing, and is asked again for ever, now and then; what an operator says is an answer.
 */
export function afterGivenUp(
  attempt: PaymentAttempt,
  { payments: { reload } }: OpenAccount['billing'],
  nowMs: number,
): AccountEvent[] {
  const isAnswer = attempt.kind === 'reload' && isAnswered(attempt);
  if (!isAnswer || reload === null || !isConsented(reload, attempt) || !pausesNext(reload)) return [];
  return [{ type: 'AutoReloadPaused', data: { reason: GIVEN_UP, at: instant(nowMs) } }];
}

/**
 * From when on a period may be paid by another attempt because nobody has answered the newest: it is open still, or was given up with
 * nothing charged, as after an outage. At once where that was of another plan than is asked for by now, or is credit as bought. Null where it was answered, or
 * too many were given up. What an operator says, or waits for, is an answer.
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
  const waits = RENEWAL_AGAIN_MS[due.attempts - 1];
  return newest.state === 'abandoned' && waits !== undefined ? newest.startedAtMs + waits : null;
}

const waitOfRenewal = (attempt: PaymentAttempt, billing: OpenAccount['billing']): number | undefined =>
  attempt.kind === 'renewal' && isAwaited(billing, attempt)
    ? RENEWAL_AGAIN_MS[(billing.plan?.due?.attempts ?? 0) - 1]
    : undefined;

const instant = (ms: number): string => new Date(ms).toISOString();
