import type { AccountEvent, ExceptionApproved } from '../../contracts/events.ts';
import { LIMITS } from '../../contracts/limits.ts';
import { debitWithCarry, microUsd, picoUsd } from '../../contracts/money.ts';
import { rateUsage } from '../rating.ts';
import type { OpenAccount } from './account-state.ts';
import { type CommandOf, type CommandRefusal, commandRefused, type Decision, unreasoned } from './commands.ts';
import { evolve } from './evolve.ts';
import { amountOfException, costOfException, endOfException, openException } from './exceptions.ts';
import type { BillingException } from './exceptions-state.ts';
import { burnFor } from './grants.ts';
import { monthOf } from './month.ts';
import { monthOfSpend, spentByKey } from './spend.ts';
import { thresholdsCrossed } from './thresholds.ts';

/**
 * Usage of a request that the ledger has as `recovered` already: whoever asks has seen that. It is never dropped, and a
 * request is never debited twice, so it becomes an exception. Once; usage that says itself that nothing was seen says
 * nothing new.
 */
export function reportLateUsage({ usage, card }: CommandOf<'ReportLateUsage'>, state: OpenAccount): AccountEvent[] {
  if (card.hash !== usage.rateCard.hash)
    throw new Error(`usage names rate card ${usage.rateCard.hash}, not ${card.hash}`);
  const { requestId } = usage;
  const { exceptions } = state;
  const hasCome = (openException(exceptions, requestId)?.late ?? null) !== null;
  const hasEnded = endOfException(exceptions, requestId) !== undefined;
  if (usage.outcome === 'recovered' || hasCome || hasEnded) return [];
  const { cost, lines, uses } = rateUsage(usage, card);
  return [
    { type: 'LateUsageReported', data: { requestId, usage, cost: usage.billable ? cost : picoUsd(0n), lines, uses } },
  ];
}

/** As the request's own debit went: its month, grants usable at its start and end; the rest is uncovered. */
export function approveException(command: CommandOf<'ApproveException'>, state: OpenAccount): Decision {
  const exception = endable(command, state);
  if ('code' in exception) return exception;
  const { requestId, keyId, model, lane, startedAtMs, finishedAtMs } = exception;
  const cost = costOfException(exception);
  const { amount, carryAfter } = debitWithCarry(state.carry, cost);
  const { shares, uncovered } = burnFor(state.grants, amount, { startedAtMs, finishedAtMs });
  const month = monthOf(startedAtMs);
  const spent = monthOfSpend(state.spend, month);
  const approved: ExceptionApproved = {
    requestId,
    keyId,
    model,
    lane,
    cost,
    amount,
    carryBefore: state.carry,
    carryAfter,
    grants: [...shares],
    uncovered,
    balanceAfter: microUsd(state.balance - amount),
    month,
    monthToDateAfter: microUsd(spent.account + amount),
    keyMonthToDateAfter: microUsd(spentByKey(spent, keyId) + amount),
    reason: command.reason,
    actor: command.actor,
  };
  return [{ type: 'ExceptionApproved', data: approved }, ...thresholdsCrossed(state, approved)];
}

export function dropException(command: CommandOf<'DropException'>, state: OpenAccount): Decision {
  const exception = endable(command, state);
  if ('code' in exception) return exception;
  const { requestId, reason, actor } = command;
  return [{ type: 'ExceptionDropped', data: { requestId, amount: amountOfException(exception), reason, actor } }];
}

/** Each as by itself, on what the one before leaves, and no more than one append takes: the next goes on. */
export function endExceptions(command: CommandOf<'EndExceptions'>, state: OpenAccount): Decision {
  const { ending, requestIds, reason, actor } = command;
  const events: AccountEvent[] = [];
  let [now, bytes] = [state, 0];
  for (const requestId of requestIds) {
    if (openException(now.exceptions, requestId) === undefined) continue;
    const one = { requestId, reason, actor };
    const decided =
      ending === 'ApproveException'
        ? approveException({ type: ending, ...one }, now)
        : dropException({ type: ending, ...one }, now);
    if ('code' in decided) return decided;
    bytes += bytesOf(decided, reason);
    if (events.length > 0 && bytes > LIMITS.appendBytesMax / 2) break;
    events.push(...decided);
    now = decided.reduce(evolve, now);
  }
  return events;
}

/** At least as many as their texts have. */
function bytesOf(events: readonly AccountEvent[], reason: string): number {
  const shares = events.reduce(
    (sum, { type, data }) => sum + (type === 'ExceptionApproved' ? data.grants.length : 0),
    0,
  );
  return events.length * EVENT_BYTES + shares * SHARE_BYTES + reason.length * CHARACTER_BYTES;
}

/** An approval without its shares and its reason; a share of a grant; a character as JSON may write it. */
const [EVENT_BYTES, SHARE_BYTES, CHARACTER_BYTES] = [2_000, 200, 6];

function endable(
  { requestId, reason }: CommandOf<'ApproveException' | 'DropException'>,
  { exceptions }: OpenAccount,
): BillingException | CommandRefusal {
  if (reason.trim() === '') return unreasoned();
  const exception = openException(exceptions, requestId);
  if (exception !== undefined) return exception;
  const how = endOfException(exceptions, requestId);
  return how === undefined
    ? commandRefused('exception_not_found', `request ${requestId} has no exception`)
    : commandRefused('exception_ended', `the exception of ${requestId} was already ${how}`);
}
