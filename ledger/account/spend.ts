import type { AccountEvent } from '../../contracts/events.ts';
import type { KeyId } from '../../contracts/ids.ts';
import { type MicroUsd, microUsd } from '../../contracts/money.ts';
import { NOTHING, type OpenAccount, type SpendOfMonth, type SpendState } from './account-state.ts';
import { keptAmount } from './kept-amount.ts';
import { entryOf, withEntry } from './keyed-tree.ts';
import { keysOfMember } from './members.ts';
import { type LimitScope, limitName, withHardLimit, withLimit } from './spend-limits.ts';

const EMPTY_MONTH: SpendOfMonth = { account: NOTHING, keys: null, crossed: [] };

/**
 * Limits and what was spent against them, by calendar month of the request's start. There is no reset: a month is a
 * key, so a new month starts at zero by itself. One fold, used by the account's state and by the spend-limit view.
 */
export function evolveSpend(spend: SpendState, event: AccountEvent): SpendState {
  switch (event.type) {
    case 'ApiKeyIssued': {
      const { keyId, monthlyLimit } = event.data;
      return monthlyLimit === null ? spend : withHardLimit(spend, keyId, monthlyLimit);
    }
    case 'SpendLimitSet':
      return withLimit(spend, event.data);
    case 'CreditsDebited':
    case 'ExceptionApproved': {
      const { month, keyId, amount } = event.data;
      return withSpent(spend, month, keyId, amount);
    }
    case 'DebitReversed': {
      const { month, keyId, amount } = event.data;
      return withSpent(spend, month, keyId, -amount);
    }
    case 'SpendThresholdCrossed': {
      const { month, thresholdPercent } = event.data;
      const before = monthOfSpend(spend, month);
      const crossed = [...before.crossed, `${limitName(event.data)}:${thresholdPercent}`];
      return { ...spend, months: { ...spend.months, [month]: { ...before, crossed } } };
    }
    default:
      return spend;
  }
}

export const monthOfSpend = (spend: SpendState, month: string): SpendOfMonth => spend.months[month] ?? EMPTY_MONTH;

export const spentByKey = (month: SpendOfMonth, keyId: KeyId): MicroUsd => entryOf(month.keys, keyId) ?? NOTHING;

/** A member's spending of a month is that of the member's keys. */
export const spentByMember = (
  state: Pick<OpenAccount, 'keys' | 'email'>,
  month: SpendOfMonth,
  email: string,
): MicroUsd => microUsd(keysOfMember(state, email).reduce((sum, keyId) => sum + spentByKey(month, keyId), 0n));

/** What counts against a limit of the scope. */
export function spentAgainst(
  state: Pick<OpenAccount, 'keys' | 'email'>,
  month: SpendOfMonth,
  { keyId, member }: LimitScope,
): MicroUsd {
  if (keyId !== null) return spentByKey(month, keyId);
  return member === null ? month.account : spentByMember(state, month, member);
}

function withSpent(spend: SpendState, month: string, keyId: KeyId, amount: bigint): SpendState {
  const before = monthOfSpend(spend, month);
  const { account, key } = spentAfter(before, keyId, amount);
  // Copied and then set: a name that is computed within the braces takes half as long again, for each debit of a replay.
  const months = { ...spend.months };
  months[month] = { ...before, account, keys: withEntry(before.keys, keyId, key) };
  return { ...spend, months };
}

/** What an account and one of its keys have spent in a month, with an amount more. @throws RangeError */
export const spentAfter = (before: SpendOfMonth, keyId: KeyId, amount: bigint) => ({
  account: keptAmount(before.account + amount),
  key: keptAmount(spentByKey(before, keyId) + amount),
});
