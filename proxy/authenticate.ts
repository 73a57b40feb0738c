import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { type Refusal, refusal } from '../contracts/errors.ts';
import { entryOf } from '../ledger/account/keyed-tree.ts';
import type { AccountViews } from '../projections/account-views.ts';
import { refuseByKey, refuseSetAside } from './admission/standing.ts';
import type { Caller } from './caller.ts';
import type { ObservedRequest } from './observation/observed-request.ts';

const KEY_PREFIX = 'sk-svc-';
/** As `newKey` makes them. */
const KEY = /^sk-svc-[\w-]{43}$/;

/** Nobody's key, as far as the views go: where they may be old, it may have been issued since. */
export const UNKNOWN_KEY: Refusal = refusal('invalid_credential', 'the service key is not known');
/** Told alike; what cannot be a key of ours is no newer key, either. */
const NO_KEY: Refusal = refusal('invalid_credential', UNKNOWN_KEY.message);

/** By `x-api-key`, else `Authorization: Bearer` (interface, 2.1). Keys are known by their SHA-256 alone. */
export function authenticate(
  headers: IncomingHttpHeaders,
  accounts: AccountViews,
  product: string,
  nowMs: number,
  observed: Pick<ObservedRequest, 'owner'> | null = null,
): Caller | Refusal {
  const credential = credentialOf(headers);
  if (credential === null)
    return refusal('missing_credential', 'send the service key as x-api-key or as Authorization: Bearer');
  if (!credential.startsWith(KEY_PREFIX)) return NO_KEY;
  const sha256 = hash('sha256', credential, 'hex');
  const owner = accounts.keys.find(sha256);
  if (owner === null) return KEY.test(credential) ? UNKNOWN_KEY : NO_KEY;
  const { state } = accounts.read(owner.accountId);
  // Of another product's account nothing is known here, not even in a log line.
  if (state.type === 'open' && state.organization.product !== product) return UNKNOWN_KEY;
  // Also of one that is refused.
  if (observed !== null) observed.owner = owner;
  const key = state.type === 'open' ? entryOf(state.keys, owner.keyId) : undefined;
  // Of a key that was issued behind an event that cannot be read nothing but its account is known.
  if (state.type !== 'open' || key === undefined) return refuseSetAside(owner.accountId, accounts) ?? UNKNOWN_KEY;
  // A secret of before the last but one rotation is in the index only where views were not read anew since.
  if (key.sha256 !== sha256 && key.previous?.sha256 !== sha256) return UNKNOWN_KEY;
  const refused = refuseByKey(key, sha256, nowMs) ?? refuseSetAside(owner.accountId, accounts);
  return refused ?? { type: 'caller', accountId: owner.accountId, account: state, key, sha256 };
}

const BEARER = /^Bearer +(\S+)$/i;

function credentialOf(headers: IncomingHttpHeaders): string | null {
  const apiKey = headers['x-api-key'];
  if (typeof apiKey === 'string' && apiKey !== '') return apiKey;
  return BEARER.exec(headers.authorization ?? '')?.[1] ?? null;
}
