import type { AccountEvent } from '../../contracts/events.ts';
import { microUsd } from '../../contracts/money.ts';
import type { Grant, OpenAccount } from './account-state.ts';
import { type CommandOf, type CommandRefusal, commandRefused } from './commands.ts';
import { isExpired } from './grants.ts';

/**
 * Writes down, a stated time late, what the clock has made true (rule 11). The event takes money for good, and a clock
 * can be wrong: so not while a lease runs or has only just ended, under which requests may be that still burn the grant.
 */
export function expireCredits({ nowMs, lateMs }: CommandOf<'ExpireCredits'>, state: OpenAccount): AccountEvent[] {
  const dueMs = nowMs - lateMs;
  if (Object.values(state.leases).some(({ expiresAtMs }) => expiresAtMs > dueMs)) return [];
  return state.grants
    .filter((grant) => grant.remaining > 0n && isExpired(grant, dueMs))
    .map(({ grantId, remaining, expiresAtMs }) => ({
      type: 'CreditsExpired',
      data: { grantId, amount: remaining, expiredAt: new Date(expiresAtMs ?? nowMs).toISOString() },
    }));
}

/**
 * Gives a grant back what was written down as expired and should not have been. The grant keeps its end where that is
 * still to come; where it has passed, a later one must be named, or what is given back could not be spent.
 */
export function reinstateCredits(
  command: CommandOf<'ReinstateCredits'>,
  state: OpenAccount,
): AccountEvent[] | CommandRefusal {
  const { grantId, reason, actor, nowMs } = command;
  const grant = state.grants.find((one) => one.grantId === grantId);
  if (grant === undefined) return commandRefused('grant_not_found', `the account has no grant ${grantId}`);
  const amount = command.amount ?? grant.expired;
  if (grant.expired === 0n) return commandRefused('nothing_expired', `nothing of grant ${grantId} has expired`);
  if (amount <= 0n) return commandRefused('invalid_amount', 'amount: must be more than 0');
  if (amount > grant.expired)
    return commandRefused(
      'invalid_amount',
      `amount: of grant ${grantId} only ${grant.expired} micro-USD have expired, not ${amount}`,
    );
  const expiresAtMs = command.expiresAtMs ?? endOf(grant);
  if (expiresAtMs < endOf(grant))
    return commandRefused('invalid_period', `expiresAt: grant ${grantId} has until ${instant(endOf(grant))} already`);
  if (expiresAtMs <= nowMs)
    return commandRefused(
      'invalid_period',
      `expiresAt: grant ${grantId} has ended at ${instant(expiresAtMs)}: name an end that is still to come`,
    );
  const expiresAt = instant(expiresAtMs);
  return [{ type: 'CreditsReinstated', data: { grantId, amount: microUsd(amount), expiresAt, reason, actor } }];
}

/** Only a grant with an end can have expired. */
function endOf({ grantId, expiresAtMs }: Grant): number {
  if (expiresAtMs === null) throw new Error(`grant ${grantId} never ends, and has expired`);
  return expiresAtMs;
}

const instant = (ms: number): string => new Date(ms).toISOString();
