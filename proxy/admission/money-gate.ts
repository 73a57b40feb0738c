import { type Refusal, refusal } from '../../contracts/errors.ts';
import type { AccountId, KeyId, RequestId } from '../../contracts/ids.ts';
import { formatUsd, type MicroUsd, microUsd } from '../../contracts/money.ts';
import type { OpenAccount } from '../../ledger/account/account-state.ts';
import { isExpired, usableCredits } from '../../ledger/account/grants.ts';
import { monthOf } from '../../ledger/account/month.ts';
import type { AccountViews } from '../../projections/account-views.ts';
import type { SpendAgainstLimit } from '../../projections/spend-limit-view.ts';
import type { Holds } from './holds.ts';
import { maxTokensThatFit, type WorstCase } from './worst-case.ts';

export interface MoneyRequest {
  readonly requestId: RequestId;
  readonly accountId: AccountId;
  readonly account: OpenAccount;
  readonly keyId: KeyId;
  readonly worst: WorstCase;
  readonly maxTokens: number;
  readonly nowMs: number;
}

/** What can be spent now: usable credits less what earlier debits left uncovered. May be below zero. */
export const spendable = (account: OpenAccount, nowMs: number): MicroUsd =>
  microUsd(usableCredits(account.grants, nowMs) - account.uncovered);

/**
 * Holds a request's worst case against credits, the account's monthly limit and the key's, or says what it does not
 * fit. One synchronous step: between the look and the hold no other request can pass. A hold is never shrunk to fit.
 */
export function holdWorstCase(request: MoneyRequest, accounts: AccountViews, holds: Holds): Refusal | null {
  const { requestId, accountId, keyId, worst, nowMs } = request;
  const month = monthOf(nowMs);
  if (worst.hold > 0n) {
    const refused =
      refuseByBalance(request, holds.ofAccount(accountId)) ??
      refuseByLimit(
        request,
        'account',
        accounts.spendLimits.ofAccount(accountId, month),
        holds.ofAccountMonth(accountId, month),
      ) ??
      refuseByLimit(
        request,
        'key',
        accounts.spendLimits.ofKey(accountId, keyId, month),
        holds.ofKeyMonth(accountId, keyId, month),
      );
    if (refused !== null) return refused;
  }
  holds.place(requestId, { accountId, keyId, month, amount: worst.hold });
  return null;
}

function refuseByBalance(request: MoneyRequest, held: MicroUsd): Refusal | null {
  const left = microUsd(spendable(request.account, request.nowMs) - held);
  if (request.worst.hold <= left) return null;
  if (isTrialOver(request.account, request.nowMs))
    return refusal(
      'trial_expired',
      `the trial credits have expired and no others are left: buy credits or choose a plan; ${figures(request, left, held)}`,
    );
  return refusal('insufficient_credits', `the balance does not cover this request: ${figures(request, left, held)}`);
}

function refuseByLimit(
  request: MoneyRequest,
  scope: 'account' | 'key',
  { limit, spent }: SpendAgainstLimit,
  held: MicroUsd,
): Refusal | null {
  if (limit === null) return null;
  const left = microUsd(limit - spent - held);
  if (request.worst.hold <= left) return null;
  const whose = scope === 'account' ? "the account's" : "the key's";
  return refusal(
    scope === 'account' ? 'account_limit_reached' : 'key_limit_reached',
    `${whose} monthly limit of ${formatUsd(limit)} USD does not cover this request: ${figures(request, left, held)}`,
  );
}

/** Nothing is left but trial credits that the clock has ended. */
function isTrialOver({ grants }: OpenAccount, nowMs: number): boolean {
  const left = grants.filter((grant) => grant.remaining > 0n && !isExpired(grant, nowMs));
  return left.length === 0 && grants.some((grant) => grant.source === 'trial' && isExpired(grant, nowMs));
}

function figures({ worst, maxTokens }: MoneyRequest, left: MicroUsd, held: MicroUsd): string {
  const shown = left < 0n ? microUsd(0n) : left;
  const fitting = maxTokensThatFit(worst, shown);
  const advice =
    fitting >= 1n ? `the largest max_tokens that would pass is ${fitting}` : 'no max_tokens would pass for this input';
  const others = held > 0n ? ` (${formatUsd(held)} USD more is held for requests under way)` : '';
  return `it could cost ${formatUsd(worst.hold)} USD with max_tokens ${maxTokens}, ${formatUsd(shown)} USD is left${others}; ${advice}`;
}
