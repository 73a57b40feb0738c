import { type Refusal, refusal } from '../../contracts/errors.ts';
import type { AccountId } from '../../contracts/ids.ts';
import type { ApiKey } from '../../ledger/account/account-state.ts';
import { entryOf } from '../../ledger/account/keyed-tree.ts';
import type { AccountViews } from '../../projections/account-views.ts';
import type { Caller } from '../caller.ts';

/**
 * Why a caller may call nothing now: 401 for a key that is revoked or has expired, or whose secret is of before its rotation, 529 for an account that is set aside,
 * 403 for one that is suspended; null where the caller may.
 *
 * A caller is known before its body has come, and `Caller` is a snapshot of then. This looks at the views; it is asked
 * again after every wait, in the same turn of the event loop in which the request then goes on.
 */
export function refuseByStanding(caller: Caller, accounts: AccountViews, nowMs: number): Refusal | null {
  const refused = refuseByKeyNow(caller, accounts, nowMs);
  if (refused !== null) return refused;
  const { state } = accounts.read(caller.accountId);
  return state.type === 'open' && state.suspended === null
    ? null
    : refusal('account_suspended', 'the account is suspended');
}

/** The part of it that comes before anything is said about the request itself. */
export function refuseByKeyNow(
  { accountId, key, sha256 }: Caller,
  accounts: AccountViews,
  nowMs: number,
): Refusal | null {
  const { state } = accounts.read(accountId);
  const current = state.type === 'open' ? entryOf(state.keys, key.keyId) : undefined;
  // No key is ever forgotten, but views that turn out to be another ledger's are cleared under a request.
  return current === undefined
    ? refusal('not_ready', 'the gateway is catching up with its ledger', 1)
    : (refuseByKey(current, sha256, nowMs) ?? refuseSetAside(accountId, accounts));
}

/** Why an account is not served whose events cannot be relied on; null where they can. */
export function refuseSetAside(accountId: AccountId, { setAside }: AccountViews): Refusal | null {
  const why = setAside.whyOf(accountId);
  return why === null ? null : refusal('account_set_aside', `the account is set aside: ${why}`);
}

/** Why a key cannot be used; null where it can. */
export function refuseByKey(key: ApiKey, sha256: string, nowMs: number): Refusal | null {
  if (key.revokedAtMs !== null) return refusal('invalid_credential', 'the service key is revoked');
  if (key.expiresAtMs !== null && key.expiresAtMs <= nowMs)
    return refusal('invalid_credential', 'the service key has expired');
  const { previous } = key;
  if (key.sha256 !== sha256 && (previous?.sha256 !== sha256 || previous.untilMs <= nowMs))
    return refusal('invalid_credential', 'the service key was rotated: use its new secret');
  return null;
}
