import type { AccountEvent } from '../../contracts/events.ts';
import type { KeyId } from '../../contracts/ids.ts';
import { type MicroUsd, microUsd } from '../../contracts/money.ts';
import { NOTHING, type SpendOfMonth, type SpendState } from './account-state.ts';

const EMPTY_MONTH: SpendOfMonth = { account: NOTHING, keys: {}, crossed: [] };

/**
 * Limits and what was spent against them, by calendar month of the request's start. There is no reset: a month is a
 * key, so a new month starts at zero by itself. One fold, used by the account's state and by the spend-limit view.
 */
export function evolveSpend(spend: SpendState, event: AccountEvent): SpendState {
  switch (event.type) {
    case 'ApiKeyIssued': {
      const { keyId, monthlyLimit } = event.data;
      return monthlyLimit === null ? spend : withKeyLimit(spend, keyId, monthlyLimit);
    }
    case 'SpendLimitSet': {
      const { keyId, limit } = event.data;
      return keyId === null ? { ...spend, accountLimit: limit } : withKeyLimit(spend, keyId, limit);
    }
    case 'CreditsDebited': {
      const { month, keyId, amount } = event.data;
      return withSpent(spend, month, keyId, amount);
    }
    case 'DebitReversed': {
      const { month, keyId, amount } = event.data;
      return withSpent(spend, month, keyId, -amount);
    }
    case 'SpendThresholdCrossed': {
      const { month, keyId, thresholdPercent } = event.data;
      const before = monthOfSpend(spend, month);
      const crossed = [...before.crossed, `${keyId ?? 'account'}:${thresholdPercent}`];
      return { ...spend, months: { ...spend.months, [month]: { ...before, crossed } } };
    }
    default:
      return spend;
  }
}

export const monthOfSpend = (spend: SpendState, month: string): SpendOfMonth => spend.months[month] ?? EMPTY_MONTH;

export const spentByKey = (month: SpendOfMonth, keyId: KeyId): MicroUsd => month.keys[keyId] ?? NOTHING;

function withKeyLimit(spend: SpendState, keyId: KeyId, limit: MicroUsd | null): SpendState {
  const { [keyId]: _before, ...others } = spend.keyLimits;
  return { ...spend, keyLimits: limit === null ? others : { ...others, [keyId]: limit } };
}

function withSpent(spend: SpendState, month: string, keyId: KeyId, amount: bigint): SpendState {
  const before = monthOfSpend(spend, month);
  const after = {
    ...before,
    account: microUsd(before.account + amount),
    keys: { ...before.keys, [keyId]: microUsd(spentByKey(before, keyId) + amount) },
  };
  return { ...spend, months: { ...spend.months, [month]: after } };
}
