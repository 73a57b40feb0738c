import type { KeyId } from '../../contracts/ids.ts';
import { instant } from '../../contracts/instant.ts';
import { LIMITS } from '../../contracts/limits.ts';
import type { ApiKey, OpenAccount } from './account-state.ts';
import { type CommandOf, type CommandRefusal, commandRefused, type Decision } from './commands.ts';
import { memberNotFound } from './decide-members.ts';
import { keyStateAt, previousAt, untilAtMostEnd } from './key-state.ts';
import { entryOf, valuesOf } from './keyed-tree.ts';
import { isSameMember, memberOfKey, ownerOf, roleOf } from './members.ts';

export function issueKey(command: CommandOf<'IssueKey'>, state: OpenAccount): Decision {
  const { keyId, name, sha256, last4, issuer, expiresAtMs, models, monthlyLimit, nowMs } = command;
  if (entryOf(state.keys, keyId) !== undefined) return commandRefused('key_exists', `key ${keyId} was already issued`);
  if (expiresAtMs !== null && expiresAtMs <= nowMs)
    return commandRefused('invalid_period', 'expiresAt: must be in the future');
  const whose = command.member ?? ownerOf(state);
  const role = roleOf(state, whose);
  if (role === null) return memberNotFound(whose);
  const full = whyFull(state, { whose: role === 'owner' ? null : whose, nowMs });
  if (full !== null) return full;
  // As keys of before there were members say it, so that programs of then read it, too.
  const member = isSameMember(whose, state.email) ? null : whose;
  const expiresAt = expiresAtMs === null ? null : instant(expiresAtMs);
  const allowed = models === null ? null : [...models];
  const data = { keyId, name, sha256, last4, issuer, expiresAt, models: allowed, monthlyLimit, member };
  return [{ type: 'ApiKeyIssued', data }];
}

/**
 * Accounts that have more already go on with them. Those that are revoked, or have ended, do not count.
 * @param whose null where the account's own bound is the only one
 */
function whyFull(
  state: OpenAccount,
  { whose, nowMs }: { readonly whose: string | null; readonly nowMs: number },
): CommandRefusal | null {
  const valid = [...valuesOf(state.keys)].filter((key) => keyStateAt(key, nowMs) === 'in use');
  const own = whose === null ? [] : valid.filter((key) => isSameMember(memberOfKey(state, key), whose));
  if (own.length >= LIMITS.keysOfMemberMax) return tooManyKeys(state, `${whose} has`, own);
  return valid.length >= LIMITS.keysMax ? tooManyKeys(state, 'the account has', valid) : null;
}

function tooManyKeys({ accountId }: OpenAccount, who: string, [first, ...others]: readonly ApiKey[]): CommandRefusal {
  const revoking = `gateway key revoke ${accountId} ${first?.keyId}`;
  return commandRefused(
    'too_many_keys',
    `${who} ${others.length + 1} keys that are valid, and no more are issued: revoke one that nobody uses (gateway key list ${accountId} says when each was used last), as ${revoking}, or rotate one`,
  );
}

export function revokeKey({ keyId, nowMs }: CommandOf<'RevokeKey'>, state: OpenAccount): Decision {
  const key = keyInUse(keyId, state);
  return 'code' in key ? key : [{ type: 'ApiKeyRevoked', data: { keyId, revokedAt: instant(nowMs) } }];
}

/**
 * Both secrets authenticate until the overlap is over, or the key is; of several rotations only the newest old one does. So another rotation
 * breaks the word that the one before has given, and whoever asks for it says that it may.
 */
export function rotateKey(command: CommandOf<'RotateKey'>, state: OpenAccount): Decision {
  const { keyId, sha256, last4, overlapMs, endsPrevious, by, nowMs } = command;
  const key = keyInUse(keyId, state);
  if ('code' in key) return key;
  if (key.expiresAtMs !== null && key.expiresAtMs <= nowMs)
    return commandRefused('key_ended', `key ${keyId} has ended at ${instant(key.expiresAtMs)}: issue a new one`);
  if (overlapMs < 0 || overlapMs > LIMITS.keyOverlapMsMax)
    return commandRefused('invalid_period', `overlap: at most ${LIMITS.keyOverlapMsMax / 86_400_000} days`);
  const previous = previousAt(key, nowMs);
  if (previous !== null && overlapMs > 0 && !endsPrevious)
    return commandRefused(
      'previous_secret_works',
      `key ${keyId}: the secret before (ending ${previous.last4}) works until ${instant(previous.untilMs)}, and another rotation would end it at once: wait until then, issue another key (gateway key issue ${state.accountId}), or say --again (it ends now)`,
    );
  const previousUntil = instant(untilAtMostEnd(key, nowMs + overlapMs));
  return [{ type: 'ApiKeyRotated', data: { keyId, sha256, last4, previousUntil, rotatedAt: instant(nowMs), by } }];
}

export const keyNotFound = (keyId: KeyId): CommandRefusal =>
  commandRefused('key_not_found', `the account has no key ${keyId}`);

function keyInUse(keyId: KeyId, { keys }: OpenAccount): ApiKey | CommandRefusal {
  const key = entryOf(keys, keyId);
  if (key === undefined) return keyNotFound(keyId);
  if (key.revokedAtMs !== null)
    return commandRefused('key_already_revoked', `key ${keyId} was revoked at ${instant(key.revokedAtMs)}`);
  return key;
}
