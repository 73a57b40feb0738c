import type { AccountEvent, CreditsDebited } from '../../contracts/events.ts';
import type { KeyId } from '../../contracts/ids.ts';
import type { MicroUsd } from '../../contracts/money.ts';
import { NOTHING, type SpendOfMonth, type SpendState } from './account-state.ts';
import { keptAmount } from './kept-amount.ts';

/** Percent of a monthly limit whose crossing is written down, once per scope and month. */
const THRESHOLDS_PERCENT = [50, 80, 100] as const;

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

/** What a debit has brought a month to. */
type Spent = Pick<CreditsDebited, 'keyId' | 'month' | 'monthToDateAfter' | 'keyMonthToDateAfter'>;

/** The thresholds that a debit crosses, of the account's monthly limit and of its key's. */
export function thresholdsCrossed(spend: SpendState, debit: Spent): AccountEvent[] {
  const { accountLimit, keyLimits } = spend;
  const keyLimit = keyLimits[debit.keyId];
  const ofAccount = accountLimit === null ? [] : crossedIn(spend, debit, null, accountLimit, debit.monthToDateAfter);
  const ofKey = keyLimit === undefined ? [] : crossedIn(spend, debit, debit.keyId, keyLimit, debit.keyMonthToDateAfter);
  return [...ofAccount, ...ofKey];
}

function crossedIn(
  spend: SpendState,
  { month }: Spent,
  keyId: KeyId | null,
  limit: MicroUsd,
  spent: MicroUsd,
): AccountEvent[] {
  const { crossed } = monthOfSpend(spend, month);
  return THRESHOLDS_PERCENT.filter(
    (percent) => spent * 100n >= limit * BigInt(percent) && !crossed.includes(`${keyId ?? 'account'}:${percent}`),
  ).map((thresholdPercent) => ({
    type: 'SpendThresholdCrossed',
    data: { scope: keyId === null ? 'account' : 'key', keyId, month, thresholdPercent, limit, spent },
  }));
}

function withKeyLimit(spend: SpendState, keyId: KeyId, limit: MicroUsd | null): SpendState {
  const { [keyId]: _before, ...others } = spend.keyLimits;
  return { ...spend, keyLimits: limit === null ? others : { ...others, [keyId]: limit } };
}

function withSpent(spend: SpendState, month: string, keyId: KeyId, amount: bigint): SpendState {
  const before = monthOfSpend(spend, month);
  // Copied and then set: a name that is computed within the braces takes half as long again, for each debit of a replay.
  const keys = { ...before.keys };
  keys[keyId] = keptAmount(spentByKey(before, keyId) + amount);
  const months = { ...spend.months };
  months[month] = { ...before, account: keptAmount(before.account + amount), keys };
  return { ...spend, months };
}
