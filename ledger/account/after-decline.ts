import type { AccountEvent } from '../../contracts/events.ts';
import type { OpenAccount } from './account-state.ts';
import type { CommandOf } from './commands.ts';
import type { PaymentAttempt } from './payments-state.ts';
import { DAY_MS } from './plan-periods.ts';
import type { PlanState } from './plan-state.ts';
import { isAwaited } from './plans.ts';

const HOUR_MS = 3_600_000;
/** After the first decline, the second, the third; the next one pauses. */
const RELOAD_AGAIN_MS = [HOUR_MS, 2 * HOUR_MS, 4 * HOUR_MS] as const;
/** The same of a period of a plan; after the next one it waits for another payment method, or for the end of its grace. */
const RENEWAL_AGAIN_MS = [DAY_MS, 2 * DAY_MS, 4 * DAY_MS] as const;

interface AfterDecline {
  /** Null is never. */
  readonly nextAttemptAt: string | null;
  readonly pause: AccountEvent[];
}

/** What a decline leads to where nobody is there to try again. */
export function afterDecline(
  attempt: PaymentAttempt,
  { payments: { reload }, plan }: OpenAccount['billing'],
  { code, isTerminal, nowMs }: CommandOf<'RecordPaymentFailure'>,
): AfterDecline {
  const isReload = attempt.kind === 'reload' && reload !== null;
  const waits = isReload ? RELOAD_AGAIN_MS[reload.declines] : waitOfRenewal(attempt, plan);
  if (waits !== undefined && !isTerminal) return { nextAttemptAt: instant(nowMs + waits), pause: [] };
  const paused: AccountEvent = { type: 'AutoReloadPaused', data: { reason: code, at: instant(nowMs) } };
  return { nextAttemptAt: null, pause: isReload ? [paused] : [] };
}

const waitOfRenewal = (attempt: PaymentAttempt, plan: PlanState | null): number | undefined =>
  attempt.kind === 'renewal' && isAwaited(plan, attempt) ? RENEWAL_AGAIN_MS[(plan?.due?.attempts ?? 0) - 1] : undefined;

const instant = (ms: number): string => new Date(ms).toISOString();
