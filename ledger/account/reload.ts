import type { AccountEvent } from '../../contracts/events.ts';
import { entryOf } from './keyed-tree.ts';
import type { PaymentsState, ReloadState } from './payments-state.ts';

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
      const { attemptId, nextAttemptAt } = event.data;
      if (!isReload(payments, attemptId)) return reload;
      const nextAttemptAtMs = nextAttemptAt === null ? null : Date.parse(nextAttemptAt);
      return { ...reload, declines: reload.declines + 1, nextAttemptAtMs };
    }
    default:
      return reload;
  }
}

/** As nothing has been in vain yet. */
const ANEW = { declines: 0, nextAttemptAtMs: null, paused: null, skipped: null } as const;

const isReload = ({ attempts }: PaymentsState, attemptId: string): boolean =>
  entryOf(attempts, attemptId)?.kind === 'reload';
