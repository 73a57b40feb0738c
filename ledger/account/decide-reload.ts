import type { AccountEvent, EventData } from '../../contracts/events.ts';
import { instant } from '../../contracts/instant.ts';
import { groupedUsd, type MicroUsd, microUsd } from '../../contracts/money.ts';
import { CENT, LEAST_CHARGE } from '../../contracts/plan.ts';
import { NOTHING, type OpenAccount } from './account-state.ts';
import { type CommandOf, commandRefused, type Decision } from './commands.ts';
import { refuseDeclined } from './declined-method.ts';
import { usableCredits } from './grants.ts';
import { entryOf } from './keyed-tree.ts';
import { monthOf } from './month.ts';
import { openAttempts } from './payments.ts';
import type { PaymentAttempt, PaymentsState, ReloadState } from './payments-state.ts';
import { isPlanPaying } from './plans.ts';

export function configureAutoReload(
  { type: _type, consentedAtMs, ...said }: CommandOf<'ConfigureAutoReload'>,
  state: OpenAccount,
): Decision {
  const { threshold, target, monthlyCap } = said;
  if (target < threshold + LEAST_CHARGE)
    return commandRefused(
      'invalid_amount',
      `target: must be at least ${groupedUsd(microUsd(LEAST_CHARGE))} USD above the threshold`,
    );
  if (monthlyCap < target - threshold)
    return commandRefused('invalid_amount', 'monthlyCap: would be less than a single reload');
  const { reload } = state.billing.payments;
  const isSame = reload?.threshold === threshold && reload.target === target && reload.monthlyCap === monthlyCap;
  const isAsConsented = (reload?.consentedAtMs === null) === (consentedAtMs === null);
  if (isSame && isAsConsented && reload.paused === null) return [];
  const declined = consentedAtMs === null ? null : refuseDeclined(state, consentedAtMs);
  const isOn = reload !== null && reload.consentedAtMs !== null;
  if (declined !== null && (isSame || !isOn)) return declined;
  const consentedAt = consentedAtMs === null ? null : instant(consentedAtMs);
  const configured: AccountEvent = { type: 'AutoReloadConfigured', data: { ...said, consentedAt } };
  if (declined === null || consentedAt === null || !isOn) return [configured];
  // Its terms are the owner's to change; the method is asked for no more by that.
  const reason = reload.paused ?? declined.code;
  return [configured, { type: 'AutoReloadPaused', data: { reason, at: consentedAt } }];
}

/**
 * Looks at the level, never at what has changed: whether so little is left that more is to be bought, and may be. One attempt at
 * a time, of what brings it to the target at once, what is under way counted. Each reason why not is written down once.
 */
export function startAutoReload(command: CommandOf<'StartAutoReload'>, state: OpenAccount): AccountEvent[] {
  const { attemptId, provider, nowMs } = command;
  const { payments } = state.billing;
  const { reload } = payments;
  if (reload === null) return [];
  const level = levelOf(state, reload, nowMs);
  if (!level.isLow) return [];
  const { available, pending, amount, monthTotal } = level;
  const reason = whyNot(state, reload, level);
  if (reason !== null)
    return reason === reload.skipped ? [] : [{ type: 'AutoReloadSkipped', data: { reason, at: instant(nowMs) } }];
  const balance = available < 0n ? NOTHING : microUsd(available);
  const begun = { attemptId, provider, amount, price: amount, balance, pending: microUsd(pending), monthTotal };
  return [{ type: 'AutoReloadStarted', data: { ...begun, startedAt: instant(nowMs) } }];
}

/** Whether credits are being bought by themselves: an attempt is open, a plan's among them, or the level has one begun. */
export function isReloading(state: OpenAccount, nowMs: number): boolean {
  const { reload } = state.billing.payments;
  if (reload === null) return false;
  const level = levelOf(state, reload, nowMs);
  if (level.pending > 0n) return true;
  const reason = level.isLow ? whyNot(state, reload, level) : 'enough';
  return reason === null || reason === 'pending';
}

interface Level {
  readonly isLow: boolean;
  readonly available: bigint;
  /** What would be bought. */
  readonly amount: MicroUsd;
  readonly monthTotal: MicroUsd;
  readonly pending: bigint;
  readonly nowMs: number;
}

function levelOf(state: OpenAccount, { threshold, target }: ReloadState, nowMs: number): Level {
  const { payments } = state.billing;
  const available = usableCredits(state.grants, nowMs) - state.uncovered;
  const pending = sumOf(openAttempts(payments).filter(({ kind }) => kind === 'reload'));
  const amount = microUsd(roundedUp(target - available - pending));
  const monthTotal = reloadedIn(payments, monthOf(nowMs));
  return { isLow: available + pending <= threshold, available, pending, amount, monthTotal, nowMs };
}

function whyNot(
  { suspended, billing }: OpenAccount,
  reload: ReloadState,
  { amount, monthTotal, pending, nowMs }: Level,
): EventData<'AutoReloadSkipped'>['reason'] | null {
  if (reload.consentedAtMs === null || nowMs < reload.consentedAtMs) return 'disabled';
  if (suspended !== null) return 'suspended';
  if (reload.paused !== null) return 'paused';
  if (pending > 0n || isPlanPaying(billing, nowMs)) return 'pending';
  if (reload.nextAttemptAtMs !== null && nowMs < reload.nextAttemptAtMs) return 'backoff';
  if (billing.payments.method === null) return 'no_payment_method';
  return amount + monthTotal > reload.monthlyCap ? 'cap' : null;
}

/** What a month has, by the claims: paid, or open. */
export const reloadedIn = ({ reloaded }: PaymentsState, month: string): MicroUsd => entryOf(reloaded, month) ?? NOTHING;

const sumOf = (attempts: readonly PaymentAttempt[]): bigint => attempts.reduce((sum, { price }) => sum + price, 0n);

const roundedUp = (amount: bigint): bigint => ((amount + CENT - 1n) / CENT) * CENT;
