import { isDeepStrictEqual } from 'node:util';
import type { EventData } from '../../contracts/events.ts';
import type { KeyId } from '../../contracts/ids.ts';
import { USUAL_THRESHOLDS } from '../../contracts/limit-events.ts';
import type { MicroUsd } from '../../contracts/money.ts';
import type { OpenAccount, OtherLimits, SpendState } from './account-state.ts';
import { entryOf, withEntry, withoutEntry } from './keyed-tree.ts';
import { memberKey, memberOfKey } from './members.ts';

/** Whose a monthly limit is: a key's, a member's, or where neither is named the account's. */
export type LimitScope = Pick<EventData<'SpendLimitSet'>, 'keyId' | 'member'>;

export interface SpendLimit extends Pick<EventData<'SpendLimitSet'>, 'mode'> {
  readonly limit: MicroUsd;
  readonly thresholdsPercent: readonly number[];
}

/** As the account's state calls a scope. */
export function limitName({ keyId, member }: LimitScope): string {
  if (keyId !== null) return keyId;
  return member === null ? 'account' : `member:${memberKey(member)}`;
}

export function kindOf({ keyId, member }: LimitScope): EventData<'SpendLimitSet'>['scope'] {
  if (keyId !== null) return 'key';
  return member === null ? 'account' : 'member';
}

/** Null where there is none. */
export function limitOf(spend: SpendState, scope: LimitScope): SpendLimit | null {
  const { otherLimits } = spend;
  const name = limitName(scope);
  const soft = otherLimits?.soft[name];
  const limit = soft ?? hardLimitOf(spend, scope);
  if (limit === null) return null;
  const thresholdsPercent = otherLimits?.thresholds[name] ?? USUAL_THRESHOLDS;
  return { limit, mode: soft === undefined ? 'hard' : 'soft', thresholdsPercent };
}

function hardLimitOf(
  { accountLimit, keyLimits, otherLimits }: SpendState,
  { keyId, member }: LimitScope,
): MicroUsd | null {
  if (keyId !== null) return entryOf(keyLimits, keyId) ?? null;
  return member === null ? accountLimit : (otherLimits?.members[memberKey(member)] ?? null);
}

/** The hard limit of the member whose a key is; null where there is none. */
export function memberLimitOf(
  account: Pick<OpenAccount, 'spend' | 'keys' | 'email'>,
  keyId: KeyId,
): { readonly member: string; readonly limit: MicroUsd } | null {
  const { otherLimits } = account.spend;
  const key = otherLimits === null ? undefined : entryOf(account.keys, keyId);
  if (otherLimits === null || key === undefined) return null;
  const member = memberOfKey(account, key);
  const limit = otherLimits.members[memberKey(member)];
  return limit === undefined ? null : { member, limit };
}

const NO_OTHERS: OtherLimits = { members: {}, soft: {}, thresholds: {} };

export function withLimit(spend: SpendState, set: EventData<'SpendLimitSet'>): SpendState {
  const { keyId, member, limit, mode, thresholdsPercent } = set;
  const { members, soft, thresholds } = spend.otherLimits ?? NO_OTHERS;
  const name = limitName(set);
  const hard = mode === 'hard' ? limit : null;
  const isUsual = limit === null || isDeepStrictEqual(thresholdsPercent, USUAL_THRESHOLDS);
  const otherLimits = {
    members: member === null ? members : withValue(members, memberKey(member), hard),
    soft: withValue(soft, name, mode === 'soft' ? limit : null),
    thresholds: withValue(thresholds, name, isUsual ? null : [...thresholdsPercent]),
  };
  const isAny = Object.values(otherLimits).some((some) => Object.keys(some).length > 0);
  const next = { ...spend, otherLimits: isAny ? otherLimits : null };
  if (keyId !== null) return withHardLimit(next, keyId, hard);
  return member === null ? { ...next, accountLimit: hard } : next;
}

export const withHardLimit = (spend: SpendState, keyId: KeyId, limit: MicroUsd | null): SpendState => ({
  ...spend,
  keyLimits: limit === null ? withoutEntry(spend.keyLimits, keyId) : withEntry(spend.keyLimits, keyId, limit),
});

/** Null takes it away. */
function withValue<T>(values: Record<string, T>, name: string, value: T | null): Record<string, T> {
  const { [name]: _before, ...others } = values;
  return value === null ? others : { ...others, [name]: value };
}
