import type { AccountEvent, CreditsDebited } from '../../contracts/events.ts';
import { type MicroUsd, microUsd } from '../../contracts/money.ts';
import type { OpenAccount, SpendOfMonth } from './account-state.ts';
import { entryOf } from './keyed-tree.ts';
import { memberKey, memberOfKey } from './members.ts';
import { monthOf } from './month.ts';
import { monthOfSpend, spentAgainst, spentByMember } from './spend.ts';
import { kindOf, type LimitScope, limitName, limitOf, type SpendLimit } from './spend-limits.ts';

/** What a debit has brought a month to. */
type Spent = Pick<CreditsDebited, 'keyId' | 'month' | 'amount' | 'monthToDateAfter' | 'keyMonthToDateAfter'>;

/**
 * The thresholds that a debit crosses: of the account's monthly limit, of its member's and of its key's. Each is told once a
 * month, also where the limit has changed since.
 */
export function thresholdsCrossed(state: OpenAccount, debit: Spent): AccountEvent[] {
  const { accountLimit, keyLimits, otherLimits } = state.spend;
  const { keyId } = debit;
  // Most accounts have none.
  if (accountLimit === null && otherLimits === null && entryOf(keyLimits, keyId) === undefined) return [];
  const ofAccount = crossedIn(state, debit, { keyId: null, member: null }, debit.monthToDateAfter);
  const ofKey = crossedIn(state, debit, { keyId, member: null }, debit.keyMonthToDateAfter);
  return [...ofAccount, ...(otherLimits === null ? [] : crossedByMember(state, debit)), ...ofKey];
}

function crossedByMember(state: OpenAccount, debit: Spent): AccountEvent[] {
  const key = entryOf(state.keys, debit.keyId);
  if (key === undefined) return [];
  const whose = memberOfKey(state, key);
  // As it was written down when the member came; who has left is called as the key says it.
  const member = state.organization.members[memberKey(whose)]?.email ?? whose;
  if (limitOf(state.spend, { keyId: null, member }) === null) return [];
  const spent = microUsd(spentByMember(state, monthOfSpend(state.spend, debit.month), member) + debit.amount);
  return crossedIn(state, debit, { keyId: null, member }, spent);
}

function crossedIn({ spend }: OpenAccount, { month }: Spent, scope: LimitScope, spent: MicroUsd): AccountEvent[] {
  const set = limitOf(spend, scope);
  return set === null ? [] : crossingsOf(set, scope, { month, spent, crossed: monthOfSpend(spend, month).crossed });
}

/**
 * The thresholds that a limit has behind it as it is set: those that what was spent in the month of the instant has reached, and that
 * nobody was told of. Where nothing was spent nothing is reached, whatever the limit.
 */
export function thresholdsReached(
  state: OpenAccount,
  scope: LimitScope,
  set: SpendLimit,
  nowMs: number,
): AccountEvent[] {
  const month = monthOf(nowMs);
  const ofMonth = monthOfSpend(state.spend, month);
  const spent = spentAgainst(state, ofMonth, scope);
  return spent === 0n ? [] : crossingsOf(set, scope, { month, spent, crossed: ofMonth.crossed });
}

interface SpentOfMonth extends Pick<SpendOfMonth, 'crossed'> {
  readonly month: string;
  readonly spent: MicroUsd;
}

const crossingsOf = (
  { limit, thresholdsPercent }: SpendLimit,
  scope: LimitScope,
  { month, spent, crossed }: SpentOfMonth,
): AccountEvent[] =>
  thresholdsPercent
    .filter((percent) => spent * 100n >= limit * BigInt(percent) && !crossed.includes(`${limitName(scope)}:${percent}`))
    .map((thresholdPercent) => ({
      type: 'SpendThresholdCrossed',
      data: { scope: kindOf(scope), keyId: scope.keyId, month, thresholdPercent, limit, spent, member: scope.member },
    }));
