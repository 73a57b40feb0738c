import type { AccountEvent } from '../../contracts/events.ts';
import { instant } from '../../contracts/instant.ts';
import { LIMITS } from '../../contracts/limits.ts';
import { formatUsd, groupedUsd, microUsd } from '../../contracts/money.ts';
import { type Grant, NOTHING, type OpenAccount } from './account-state.ts';
import { writeOff } from './coming-back.ts';
import { type CommandOf, type CommandRefusal, commandRefused, type Decision } from './commands.ts';
import { isExpired } from './grants.ts';

/**
 * Writes down, a stated time late, what the clock has made true. The event takes money for good, and a clock
 * can be wrong: so not while a lease of before the grant's end runs or has only just ended, under which requests may be that still
 * burn it.
 * No more at once than an append takes; the others the next time.
 */
export function expireCredits({ nowMs, lateMs }: CommandOf<'ExpireCredits'>, state: OpenAccount): AccountEvent[] {
  const dueMs = nowMs - lateMs;
  const leases = Object.values(state.leases).filter(({ expiresAtMs }) => expiresAtMs > dueMs);
  const mayBurn = ({ expiresAtMs }: Grant): boolean =>
    leases.some(({ requestsFromMs }) => requestsFromMs === null || requestsFromMs < (expiresAtMs ?? nowMs));
  return state.grants
    .filter((grant) => grant.remaining > 0n && isExpired(grant, dueMs) && !mayBurn(grant))
    .slice(0, LIMITS.expiriesPerAppendMax)
    .map(({ grantId, remaining, expiresAtMs }) => ({
      type: 'CreditsExpired',
      data: { grantId, amount: remaining, expiredAt: new Date(expiresAtMs ?? nowMs).toISOString() },
    }));
}

/**
 * Gives a grant back what was written down as expired and should not have been. The grant keeps its end where that is
 * still to come; where it has passed, a later one must be named, or what is given back could not be spent. What has come back
 * to it before, and is over again, is written down first: nothing else comes back by a later end.
 */
export function reinstateCredits(command: CommandOf<'ReinstateCredits'>, state: OpenAccount): Decision {
  const { grantId, reason, actor, nowMs } = command;
  const grant = state.grants.find((one) => one.grantId === grantId);
  if (grant === undefined) return commandRefused('grant_not_found', `the account has no grant ${grantId}`);
  if (grant.expired === 0n) return refusedAsUnexpired(state, grant, command);
  const rest = isExpired(grant, nowMs) ? grant.remaining : NOTHING;
  const expired = microUsd(grant.expired + rest);
  const amount = command.amount ?? expired;
  if (amount <= 0n) return commandRefused('invalid_amount', 'amount: must be more than 0');
  if (amount > expired)
    return commandRefused(
      'invalid_amount',
      `amount: of grant ${grantId} only ${groupedUsd(expired)} USD have expired, not ${groupedUsd(amount)}`,
    );
  const expiresAtMs = command.expiresAtMs ?? endOf(grant);
  if (expiresAtMs < endOf(grant))
    return commandRefused('invalid_period', `expiresAt: grant ${grantId} has until ${instant(endOf(grant))} already`);
  if (expiresAtMs <= nowMs)
    return commandRefused(
      'invalid_period',
      `expiresAt: grant ${grantId} has ended at ${instant(expiresAtMs)}: name an end that is still to come`,
    );
  const writtenOff = rest > 0n ? writeOff(grant, state, nowMs) : null;
  if (writtenOff !== null && 'code' in writtenOff) return writtenOff;
  const expiresAt = instant(expiresAtMs);
  return [
    ...(writtenOff === null ? [] : [writtenOff]),
    { type: 'CreditsReinstated', data: { grantId, amount: microUsd(amount), expiresAt, reason, actor } },
  ];
}

/** What is over and not written down yet is no less unusable, and cannot be given back: it has not been taken. */
function refusedAsUnexpired(
  { accountId }: OpenAccount,
  grant: Grant,
  { nowMs, lateMs }: CommandOf<'ReinstateCredits'>,
): CommandRefusal {
  const { grantId, remaining } = grant;
  if (remaining === 0n || !isExpired(grant, nowMs))
    return commandRefused('nothing_expired', `nothing of grant ${grantId} has expired`);
  const endMs = endOf(grant);
  return commandRefused(
    'not_written_off',
    `grant ${grantId} is over since ${instant(endMs)}: its ${groupedUsd(remaining)} USD cannot be spent, and are written down as expired at ` +
      `${instant(endMs + lateMs)} at the earliest; only then can they be reinstated (with --expires). Until then: grant them ` +
      `anew (gateway credits grant ${accountId} --usd ${formatUsd(remaining)} --source adjustment), and do not reinstate them later`,
  );
}

/** Only a grant with an end can have expired. */
function endOf({ grantId, expiresAtMs }: Grant): number {
  if (expiresAtMs === null) throw new Error(`grant ${grantId} never ends, and has expired`);
  return expiresAtMs;
}
