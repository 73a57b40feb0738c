import type { AccountEvent } from '../../contracts/events.ts';
import { MANUAL } from '../../contracts/payments-configuration.ts';
import { entryOf } from './keyed-tree.ts';
import { isOfMethodBefore, type PaymentAttempt, type PaymentsState, type ReloadState } from './payments-state.ts';

const HOUR_MS = 3_600_000;
/** After the first attempt that was declined or given up, the second, and each from the third on; a decline behind three of its kind pauses. */
const RELOAD_AGAIN_MS = [HOUR_MS, 2 * HOUR_MS, 4 * HOUR_MS] as const;

/** How auto-reload stands after an event, of which `payments` has the rest already. */
export function evolveReload(payments: PaymentsState, event: AccountEvent): ReloadState | null {
  const { reload } = payments;
  if (event.type === 'AutoReloadConfigured') {
    const { threshold, target, monthlyCap, consentedAt } = event.data;
    const consentedAtMs = consentedAt === null ? null : Date.parse(consentedAt);
    return { threshold, target, monthlyCap, consentedAtMs, ...ANEW };
  }
  if (reload === null) return null;
  switch (event.type) {
    case 'PaymentMethodSaved':
      return { ...reload, ...ANEW };
    case 'AutoReloadStarted':
      return { ...reload, skipped: null };
    case 'AutoReloadSkipped':
      return { ...reload, skipped: event.data.reason };
    case 'AutoReloadPaused':
      return { ...reload, paused: event.data.reason };
    case 'PaymentSucceeded':
      return isReload(payments, event.data.attemptId) ? { ...reload, ...ANEW, paused: reload.paused } : reload;
    case 'PaymentFailed': {
      const { attemptId, nextAttemptAt, failedAt } = event.data;
      if (!isReload(payments, attemptId)) return reload;
      // Without a wait it is none of the method that is saved by now, of which it says nothing.
      if (nextAttemptAt === failedAt) return { ...reload, nextAttemptAtMs: null };
      const nextAttemptAtMs = nextAttemptAt === null ? null : Date.parse(nextAttemptAt);
      return { ...reload, declines: reload.declines + 1, nextAttemptAtMs };
    }
    case 'PaymentAbandoned': {
      const attempt = entryOf(payments.attempts, event.data.attemptId);
      if (attempt?.kind !== 'reload' || !isConsented(reload, attempt)) return reload;
      const nextAttemptAtMs = Date.parse(event.data.at) + waitAfter(reload);
      return isAnsweredOf(payments, attempt)
        ? { ...reload, declines: reload.declines + 1, nextAttemptAtMs }
        : { ...reload, unanswered: reload.unanswered + 1, nextAttemptAtMs };
    }
    default:
      return reload;
  }
}

/** Whether it was begun by the consent that stands: not by one for other terms, of before. */
export const isConsented = (
  reload: Pick<ReloadState, 'consentedAtMs'> | null,
  { startedAtMs }: Pick<PaymentAttempt, 'startedAtMs'>,
): boolean => reload !== null && reload.consentedAtMs !== null && startedAtMs >= reload.consentedAtMs;

/** Of one that is given up, whether somebody has said no by that: an operator does; a provider that is away, or refuses, has declined nothing. */
export const isAnswered = ({ provider, decline }: Pick<PaymentAttempt, 'provider' | 'decline'>): boolean =>
  provider === MANUAL || decline !== null;

/** Whether that is a no to the method that is saved by now: to one of before it was none of this. */
export const isAnsweredOf = (payments: Pick<PaymentsState, 'method'>, attempt: PaymentAttempt): boolean =>
  isAnswered(attempt) && !isOfMethodBefore(payments, attempt);

/** Whether one more decline is the last: what nobody has answered is none. */
export const pausesNext = ({ declines }: ReloadState): boolean => declines >= RELOAD_AGAIN_MS.length;

/** After one more that brought nothing, in milliseconds: the longer, the more there were, answered or not. */
export const waitAfter = ({ declines, unanswered }: ReloadState): number =>
  RELOAD_AGAIN_MS[declines + unanswered] ?? RELOAD_AGAIN_MS[2];

/** As nothing has been in vain yet. */
const ANEW = { declines: 0, unanswered: 0, nextAttemptAtMs: null, paused: null, skipped: null } as const;

const isReload = ({ attempts }: PaymentsState, attemptId: string): boolean =>
  entryOf(attempts, attemptId)?.kind === 'reload';
