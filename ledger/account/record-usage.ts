import type { AccountEvent, CreditsDebited, UsageRecorded } from '../../contracts/events.ts';
import type { LeaseId } from '../../contracts/ids.ts';
import { microUsd } from '../../contracts/money.ts';
import type { RateCard } from '../../contracts/rate-card.ts';
import { type RatedUsage, rateUsage } from '../rating.ts';
import type { OpenAccount } from './account-state.ts';
import { debitWithinHold } from './at-most-the-hold.ts';
import { burnFor } from './grants.ts';
import { monthOf } from './month.ts';
import { monthOfSpend, spentByKey } from './spend.ts';
import { thresholdsCrossed } from './thresholds.ts';

/**
 * The one settlement path, however a request ends: a usage, then a debit where it costs anything, then the thresholds it
 * crosses.
 * @param leaseId what the request was admitted under; null where one proxy has all of an account's credit.
 * @throws Error when the card is not the one that the usage names: no debit is priced with another.
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
  const rated = rateUsage(usage, card);
  if (!usage.billable || rated.cost === 0n) return events;
  const debit = { ...debitOf(state, usage, rated), ...(leaseId === null ? {} : { leaseId }) };
  events.push({ type: 'CreditsDebited', data: debit }, ...thresholdsCrossed(state, debit));
  return events;
}

function debitOf(state: OpenAccount, usage: UsageRecorded, rated: RatedUsage): CreditsDebited {
  const startedAtMs = Date.parse(usage.startedAt);
  const finishedAtMs = Date.parse(usage.finishedAt);
  const { amount, leftOut, carryAfter } = debitWithinHold(usage.hold, state.carry, rated.cost);
  const { shares, uncovered } = burnFor(state.grants, amount, { startedAtMs, finishedAtMs });
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
    leftOut,
    lines: rated.lines,
    uses: rated.uses,
    grants: [...shares],
    uncovered,
    balanceAfter: microUsd(state.balance - amount),
    month,
    monthToDateAfter: microUsd(spent.account + amount),
    keyMonthToDateAfter: microUsd(spentByKey(spent, usage.keyId) + amount),
  };
}
