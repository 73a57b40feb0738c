import type { AccountEvent } from '../../contracts/events.ts';
import type { KeyId } from '../../contracts/ids.ts';
import { type MicroUsd, microUsd } from '../../contracts/money.ts';
import { NOTHING, type OpenAccount, type SpendOfMonth, type SpendState } from './account-state.ts';
import { keptAmount } from './kept-amount.ts';
import { entriesOf, entryOf, type KeyedTree, treeOfSorted, withEntry } from './keyed-tree.ts';
import { memberKey, memberKeyOf, memberOfKey } from './members.ts';
import { type LimitScope, limitName, withHardLimit, withLimit } from './spend-limits.ts';

const EMPTY_MONTH: SpendOfMonth = { account: NOTHING, keys: null, members: null, crossed: [] };

/** Whose spending it is: that of a key is its member's, too. */
type SpendingAccount = Pick<OpenAccount, 'spend' | 'keys' | 'email'>;

/**
 * Limits and what was spent against them, by calendar month of the request's start. There is no reset: a month is a
 * key, so a new month starts at zero by itself. One fold, used by the account's state and by the spend-limit view.
 */
export function evolveSpend(state: SpendingAccount, event: AccountEvent): SpendState {
  const { spend } = state;
  switch (event.type) {
    case 'ApiKeyIssued': {
      const { keyId, member, monthlyLimit } = event.data;
      const counted = withKeyCounted(spend, keyId, memberKey(memberOfKey(state, { member })));
      return monthlyLimit === null ? counted : withHardLimit(counted, keyId, monthlyLimit);
    }
    case 'SpendLimitSet':
      return withMembersCounted(state, withLimit(spend, event.data));
    case 'CreditsDebited':
    case 'ExceptionApproved': {
      const { month, keyId, amount } = event.data;
      return withSpent(state, month, keyId, amount);
    }
    case 'DebitReversed': {
      const { month, keyId, amount } = event.data;
      return withSpent(state, month, keyId, -amount);
    }
    case 'SpendThresholdCrossed': {
      const { month, thresholdPercent } = event.data;
      const before = monthOfSpend(spend, month);
      const crossed = [...before.crossed, `${limitName(event.data)}:${thresholdPercent}`];
      return { ...spend, months: { ...spend.months, [month]: { ...before, crossed } } };
    }
    default:
      return spend;
  }
}

export const monthOfSpend = (spend: SpendState, month: string): SpendOfMonth => spend.months[month] ?? EMPTY_MONTH;

export const spentByKey = (month: SpendOfMonth, keyId: KeyId): MicroUsd => entryOf(month.keys, keyId) ?? NOTHING;

/** A member's spending of a month is that of the member's keys, also of those that were revoked. */
export function spentByMember(state: SpendingAccount, month: SpendOfMonth, email: string): MicroUsd {
  const members = state.spend.otherLimits === null ? sumByMember(state, month.keys) : month.members;
  return entryOf(members, memberKey(email)) ?? NOTHING;
}

/** What counts against a limit of the scope. */
export function spentAgainst(state: SpendingAccount, month: SpendOfMonth, { keyId, member }: LimitScope): MicroUsd {
  if (keyId !== null) return spentByKey(month, keyId);
  return member === null ? month.account : spentByMember(state, month, member);
}

function withSpent(state: SpendingAccount, month: string, keyId: KeyId, amount: bigint): SpendState {
  const { spend } = state;
  const before = monthOfSpend(spend, month);
  // Copied and then set: a name that is computed within the braces takes half as long again, for each debit of a replay.
  const months = { ...spend.months };
  months[month] = { ...before, ...spentAfter(state, before, keyId, amount) };
  return { ...spend, months };
}

/** What an account, one of its keys and that one's member have spent in a month, with an amount more. @throws RangeError */
export const spentAfter = (
  state: SpendingAccount,
  before: SpendOfMonth,
  keyId: KeyId,
  amount: bigint,
): Pick<SpendOfMonth, 'account' | 'keys' | 'members'> => ({
  account: keptAmount(before.account + amount),
  keys: withEntry(before.keys, keyId, keptAmount(spentByKey(before, keyId) + amount)),
  members: state.spend.otherLimits === null ? null : withMemberSpent(state, before.members, keyId, amount),
});

function withMemberSpent(
  state: SpendingAccount,
  members: KeyedTree<MicroUsd>,
  keyId: KeyId,
  amount: bigint,
): KeyedTree<MicroUsd> {
  const whose = memberKeyOf(state, keyId);
  return whose === null ? members : withMore(members, whose, amount);
}

const withMore = (members: KeyedTree<MicroUsd>, whose: string, amount: bigint): KeyedTree<MicroUsd> =>
  withEntry(members, whose, keptAmount((entryOf(members, whose) ?? NOTHING) + amount));

/** What a key has spent before it was issued, which no gateway writes, is its member's from then on. */
function withKeyCounted(spend: SpendState, keyId: KeyId, whose: string): SpendState {
  if (spend.otherLimits === null) return spend;
  const spentIn = Object.entries(spend.months).filter(([, { keys }]) => entryOf(keys, keyId) !== undefined);
  if (spentIn.length === 0) return spend;
  const months = spentIn.map(([name, month]) => {
    const members = withMore(month.members, whose, spentByKey(month, keyId));
    return [name, { ...month, members }] as const;
  });
  return { ...spend, months: { ...spend.months, ...Object.fromEntries(months) } };
}

/** With the members' spending in each month, or without it, as limits ask for it now. */
function withMembersCounted(state: SpendingAccount, after: SpendState): SpendState {
  if ((state.spend.otherLimits === null) === (after.otherLimits === null)) return after;
  const months = Object.entries(after.months).map(([name, month]) => [
    name,
    { ...month, members: after.otherLimits === null ? null : sumByMember(state, month.keys) },
  ]);
  return { ...after, months: Object.fromEntries(months) };
}

/** Of a month's spending by key: the sum by member, from the beginning. */
export function sumByMember(
  state: Pick<OpenAccount, 'keys' | 'email'>,
  spentByKeys: KeyedTree<MicroUsd>,
): KeyedTree<MicroUsd> {
  const sums = new Map<string, MicroUsd>();
  for (const [keyId, amount] of entriesOf(spentByKeys)) {
    const whose = memberKeyOf(state, keyId);
    if (whose !== null) sums.set(whose, microUsd((sums.get(whose) ?? 0n) + amount));
  }
  return treeOfSorted(sums);
}
