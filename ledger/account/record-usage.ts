import type { AccountEvent, CreditsDebited, UsageRecorded } from '../../contracts/events.ts';
import type { KeyId, LeaseId } from '../../contracts/ids.ts';
import { debitWithCarry, type MicroUsd, microUsd } from '../../contracts/money.ts';
import type { RateCard } from '../../contracts/rate-card.ts';
import { rateUsage } from '../rating.ts';
import type { OpenAccount } from './account-state.ts';
import { burn } from './grants.ts';
import { monthOf } from './month.ts';
import { monthOfSpend, spentByKey } from './spend.ts';

/** Percent of a monthly limit whose crossing is written down, once per scope and month. */
const THRESHOLDS_PERCENT = [50, 80, 100] as const;

/**
 * The one settlement path (rule 2): a usage, then a debit where it costs anything, then the thresholds it crosses.
 * @param leaseId what the request was admitted under; null where one proxy has all of an account's credit.
 * @throws Error when the card is not the one that the usage names (rule 6).
 */
export function recordUsage(
  state: OpenAccount,
  usage: UsageRecorded,
  card: RateCard,
  leaseId: LeaseId | null = null,
): AccountEvent[] {
  if (card.hash !== usage.rateCard.hash)
    throw new Error(`usage names rate card ${usage.rateCard.hash}, not ${card.hash}`);
  const events: AccountEvent[] = [{ type: 'UsageRecorded', data: usage }];
  const rated = rateUsage(usage.tokens, usage.lane, card);
  if (!usage.billable || rated.cost === 0n) return events;
  const debit = { ...debitOf(state, usage, rated), ...(leaseId === null ? {} : { leaseId }) };
  events.push({ type: 'CreditsDebited', data: debit }, ...thresholdsCrossed(state, debit));
  return events;
}

function debitOf(state: OpenAccount, usage: UsageRecorded, rated: ReturnType<typeof rateUsage>): CreditsDebited {
  const startedAtMs = Date.parse(usage.startedAt);
  const { amount, carryAfter } = debitWithCarry(state.carry, rated.cost);
  const { shares, uncovered } = burn(state.grants, amount, startedAtMs);
  const month = monthOf(startedAtMs);
  const spent = monthOfSpend(state.spend, month);
  return {
    requestId: usage.requestId,
    keyId: usage.keyId,
    model: usage.model,
    lane: usage.lane,
    cost: rated.cost,
    carryBefore: state.carry,
    carryAfter,
    amount,
    leftOut: microUsd(0n),
    lines: rated.lines,
    uses: [],
    grants: [...shares],
    uncovered,
    balanceAfter: microUsd(state.balance - amount),
    month,
    monthToDateAfter: microUsd(spent.account + amount),
    keyMonthToDateAfter: microUsd(spentByKey(spent, usage.keyId) + amount),
  };
}

function thresholdsCrossed(state: OpenAccount, debit: CreditsDebited): AccountEvent[] {
  const { accountLimit, keyLimits } = state.spend;
  const keyLimit = keyLimits[debit.keyId];
  const ofAccount = accountLimit === null ? [] : crossedIn(state, debit, null, accountLimit, debit.monthToDateAfter);
  const ofKey = keyLimit === undefined ? [] : crossedIn(state, debit, debit.keyId, keyLimit, debit.keyMonthToDateAfter);
  return [...ofAccount, ...ofKey];
}

function crossedIn(
  state: OpenAccount,
  { month }: CreditsDebited,
  keyId: KeyId | null,
  limit: MicroUsd,
  spent: MicroUsd,
): AccountEvent[] {
  const { crossed } = monthOfSpend(state.spend, month);
  return THRESHOLDS_PERCENT.filter(
    (percent) => spent * 100n >= limit * BigInt(percent) && !crossed.includes(`${keyId ?? 'account'}:${percent}`),
  ).map((thresholdPercent) => ({
    type: 'SpendThresholdCrossed',
    data: { scope: keyId === null ? 'account' : 'key', keyId, month, thresholdPercent, limit, spent },
  }));
}
