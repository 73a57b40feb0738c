import type { EventData } from '../../contracts/events.ts';
import { microUsd } from '../../contracts/money.ts';
import { DECREASES, INCREASES } from '../../contracts/statement-events.ts';
import type { OpenAccount } from './account-state.ts';
import { type CommandOf, commandRefused, type Decision } from './commands.ts';
import { isExpired } from './grants.ts';
import { endOfMonthMs } from './month.ts';

/**
 * Closes a month that is over, with what its events add up to: the last closing and they, and what is of later months, are
 * the balance, or it is refused. What the clock has ended of the month's credit is to be written down before.
 */
export function closeStatement(
  { month, sums, later, firstRevision, lastRevision, graceMs, nowMs }: CommandOf<'CloseStatement'>,
  state: OpenAccount,
): Decision {
  const last = state.billing.statement;
  if (last !== null && month === last.month) return [];
  if (last !== null && month < last.month)
    return commandRefused('statement_closed', `month: the statements up to ${last.month} are closed`);
  const endMs = endOfMonthMs(month);
  if (nowMs < endMs + graceMs)
    return commandRefused(
      'month_not_over',
      `month: ${month} can be closed from ${new Date(endMs + graceMs).toISOString()} on`,
    );
  if (state.grants.some((grant) => grant.remaining > 0n && isExpired(grant, endMs)))
    return commandRefused('not_written_off', `credit that ended by the end of ${month} is not written down as expired`);
  const opening = last?.closing ?? microUsd(0n);
  const closing = microUsd(
    INCREASES.reduce((sum, figure) => sum + sums[figure], opening as bigint) -
      DECREASES.reduce((sum, figure) => sum + sums[figure], 0n),
  );
  if (closing + later !== state.balance)
    return commandRefused(
      'account_changed',
      `the events add up to ${closing + later} micro-USD, and the balance is ${state.balance}`,
    );
  const closed: EventData<'StatementClosed'> = {
    ...{ month, product: state.organization.product, opening },
    ...sums,
    ...{ closing, firstRevision, lastRevision, closedAt: new Date(nowMs).toISOString() },
  };
  return [{ type: 'StatementClosed', data: closed }];
}
