import type { AccountEvent } from '../../contracts/events.ts';
import type { KeyId } from '../../contracts/ids.ts';
import { LIMITS } from '../../contracts/limits.ts';
import type { ApiKey, OpenAccount } from './account-state.ts';
import { type CommandOf, type CommandRefusal, commandRefused } from './commands.ts';
import { memberNotFound } from './decide-members.ts';
import { isSameMember, memberOfKey, roleOf } from './members.ts';

type Decision = AccountEvent[] | CommandRefusal;

const instant = (ms: number): string => new Date(ms).toISOString();

export function issueKey(command: CommandOf<'IssueKey'>, state: OpenAccount): Decision {
  const { keyId, name, sha256, last4, issuer, expiresAtMs, models, monthlyLimit, nowMs } = command;
  if (Object.hasOwn(state.keys, keyId)) return commandRefused('key_exists', `key ${keyId} was already issued`);
  if (expiresAtMs !== null && expiresAtMs <= nowMs)
    return commandRefused('invalid_period', 'expiresAt: must be in the future');
  const whose = memberOfKey(state, { member: command.member ?? null });
  if (roleOf(state, whose) === null) return memberNotFound(whose);
  // As keys of before there were members say it, so that programs of then read it, too.
  const member = isSameMember(whose, state.email) ? null : whose;
  const expiresAt = expiresAtMs === null ? null : instant(expiresAtMs);
  const allowed = models === null ? null : [...models];
  const data = { keyId, name, sha256, last4, issuer, expiresAt, models: allowed, monthlyLimit, member };
  return [{ type: 'ApiKeyIssued', data }];
}

export function revokeKey({ keyId, nowMs }: CommandOf<'RevokeKey'>, state: OpenAccount): Decision {
  const key = keyInUse(keyId, state);
  return 'code' in key ? key : [{ type: 'ApiKeyRevoked', data: { keyId, revokedAt: instant(nowMs) } }];
}

/** Both secrets authenticate until the overlap is over; of several rotations only the newest old one does. */
export function rotateKey(command: CommandOf<'RotateKey'>, state: OpenAccount): Decision {
  const { keyId, sha256, last4, overlapMs, by, nowMs } = command;
  const key = keyInUse(keyId, state);
  if ('code' in key) return key;
  if (key.expiresAtMs !== null && key.expiresAtMs <= nowMs)
    return commandRefused('key_ended', `key ${keyId} has ended at ${instant(key.expiresAtMs)}: issue a new one`);
  if (overlapMs < 0 || overlapMs > LIMITS.keyOverlapMsMax)
    return commandRefused('invalid_period', `overlap: at most ${LIMITS.keyOverlapMsMax / 86_400_000} days`);
  const previousUntil = instant(nowMs + overlapMs);
  return [{ type: 'ApiKeyRotated', data: { keyId, sha256, last4, previousUntil, rotatedAt: instant(nowMs), by } }];
}

export const keyNotFound = (keyId: KeyId): CommandRefusal =>
  commandRefused('key_not_found', `the account has no key ${keyId}`);

function keyInUse(keyId: KeyId, { keys }: OpenAccount): ApiKey | CommandRefusal {
  const key = Object.hasOwn(keys, keyId) ? keys[keyId] : undefined;
  if (key === undefined) return keyNotFound(keyId);
  if (key.revokedAtMs !== null)
    return commandRefused('key_already_revoked', `key ${keyId} was revoked at ${instant(key.revokedAtMs)}`);
  return key;
}
