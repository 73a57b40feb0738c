import { instant } from '../../../contracts/instant.ts';
import { groupedUsd } from '../../../contracts/money.ts';
import type { OpenAccount } from '../../../ledger/account/account-state.ts';
import { reloadedIn } from '../../../ledger/account/decide-reload.ts';
import { monthOf } from '../../../ledger/account/month.ts';
import { openAttempts } from '../../../ledger/account/payments.ts';
import type { PaymentsState, ReloadState } from '../../../ledger/account/payments-state.ts';
import { SKIP_WORDS } from '../../../ledger/statement/sentences.ts';

type Facts = readonly (readonly [string, string])[];

interface ShownTo {
  readonly nowMs: number;
  /** Whether whoever asks may. */
  readonly seesPayments: boolean;
}

/** What an account owes, and for who may see its payments how it pays, as far as there is anything of that. */
export function paymentFacts(
  { billing: { payments }, uncovered }: OpenAccount,
  { nowMs, seesPayments }: ShownTo,
): Facts {
  const { method, reload } = payments;
  const saved =
    method === null
      ? 'nothing saved'
      : `${method.brand} ending in ${method.last4} (${method.provider}), by consent of ${instant(method.consentedAtMs)}`;
  const owed: Facts = uncovered === 0n ? [] : [['owed', `${usd(uncovered)}, which the next credits fill first`]];
  if (!seesPayments) return owed;
  return [
    ...owed,
    ...(method === null && reload === null ? [] : [['pays by itself', saved] as const]),
    ...(reload === null ? [] : [['auto-reload', reloadInWords(payments, reload, nowMs)] as const]),
    ...openAttempts(payments).map(
      ({ attemptId, kind, provider, credits, price, startedAtMs, state }) =>
        [
          'payment',
          `${attemptId} (${kind}, ${provider}) of ${usd(credits)} for ${usd(price)}: ${state} since ${instant(startedAtMs)}`,
        ] as const,
    ),
  ];
}

function reloadInWords(payments: PaymentsState, reload: ReloadState, nowMs: number): string {
  const { threshold, target, monthlyCap } = reload;
  const month = monthOf(nowMs);
  const spent = `${usd(reloadedIn(payments, month))} of at most ${usd(monthlyCap)} in ${month}`;
  return `${standing(reload, nowMs)}; at ${usd(threshold)} up to ${usd(target)}, ${spent}`;
}

function standing({ consentedAtMs, paused, nextAttemptAtMs, skipped }: ReloadState, nowMs: number): string {
  if (consentedAtMs === null) return 'off';
  if (paused !== null) return `paused: ${paused}`;
  if (nextAttemptAtMs !== null && nextAttemptAtMs > nowMs)
    return `the last one failed, not before ${instant(nextAttemptAtMs)}`;
  return skipped === null ? 'on' : `not begun: ${SKIP_WORDS[skipped as keyof typeof SKIP_WORDS]}`;
}

const usd = (amount: bigint): string => `${groupedUsd(amount)} USD`;
