import { instant } from '../../contracts/instant.ts';
import { LIMITS } from '../../contracts/limits.ts';
import { nameOfMember, whoseOf } from './audit-members.ts';
import { type AccountBooks, compare, type OwnLimitSet, tell } from './own-account.ts';
import { noteKeyLimit } from './own-leases.ts';
import { hardLimit, isLimited, memberOf, PERCENTS, spentBy, textOfLimit } from './own-limits.ts';
import { CLOCKS_MS } from './own-times.ts';
import type { ApprovedData, CrossedData, LimitSetData, StoredEvent } from './stored-event.ts';

/*
 * Monthly limits of the account, of members and of keys: what is set, what a debit crosses of them, and whose requests they bind.
 */

/** The limit's name in the books. */
function nameOf({ keyId, member = null }: Pick<LimitSetData, 'keyId' | 'member'>): string {
  if (keyId !== null) return keyId;
  return member === null ? 'account' : `member ${nameOfMember(member)}`;
}

type OwnScope = Pick<OwnLimitSet, 'keyId' | 'member'>;

const scopeOf = ({ keyId, member = null }: Pick<LimitSetData, 'keyId' | 'member'>): string =>
  keyId !== null ? 'key' : member !== null ? 'member' : 'account';

export function setLimit(books: AccountBooks, set: LimitSetData, { metadata }: StoredEvent): void {
  const { scope, keyId, limit, member = null, mode = 'hard', thresholdsPercent = PERCENTS } = set;
  const { keys, members } = books.life;
  const name = nameOf(set);
  compare(books, `${name}: scope of its limit`, scope, scopeOf(set));
  if (keyId !== null && member !== null) tell(books, `${name}: its limit is ${member}'s, too`);
  if (keyId !== null && !keys.has(keyId)) tell(books, `${keyId}: has a limit, and was never issued`);
  if (member !== null && !members.has(nameOfMember(member))) tell(books, `${member}: has a limit, and is no member`);
  if (!areInOrder(thresholdsPercent)) tell(books, `${name}: its limit is told at`, thresholdsPercent.join(', '));
  const now = limit === null ? null : { ...hardLimit(limit), isHard: mode === 'hard', percents: thresholdsPercent };
  if (limit === null && (mode !== 'hard' || String(thresholdsPercent) !== String(PERCENTS)))
    tell(books, `${name}: has no limit from here on, and yet terms of one`);
  if (textOfLimit(name, books.limits.get(name) ?? null) === textOfLimit(name, now))
    tell(books, `${name}: its limit is set to what it is already`, limit, null, 'micro-USD');
  books.limitSet = { keyId, member, recordedAt: metadata?.recordedAt ?? null };
  const concerned = [...keys].filter(([id, key]) =>
    keyId === null ? member !== null && whoseOf(books, key.member) === nameOfMember(member) : id === keyId,
  );
  const before = new Set(concerned.flatMap(([id]) => (isLimited(books, id) ? [id] : [])));
  if (now === null) books.limits.delete(name);
  else books.limits.set(name, now);
  for (const [id, key] of concerned) {
    const isNow = isLimited(books, id);
    if (isNow === before.has(id)) continue;
    noteKeyLimit(books.leases, id, isNow);
    key.limitedSince = isNow ? (metadata?.recordedAt ?? null) : null;
  }
}

const areInOrder = (percents: readonly number[]): boolean =>
  percents.length > 0 &&
  percents.length <= LIMITS.thresholdsMax &&
  percents.every((percent, at) => percent <= 100 && percent > (at === 0 ? 0 : Number(percents[at - 1])));

/** What a debit has crossed of the account's monthly limit, of its member's and of its key's; each once a month. */
export function noteCrossings(books: AccountBooks, debit: ApprovedData): void {
  if (books.limits.size === 0) return;
  const { keyId, month } = debit;
  const whose = memberOf(books, keyId);
  const member =
    whose === null || !books.limits.has(`member ${whose}`)
      ? []
      : [[{ keyId: null, member: whose }, spentBy(books, whose, books.months.get(month))] as const];
  for (const [of, spent] of [
    [{ keyId: null, member: null }, BigInt(debit.monthToDateAfter)] as const,
    ...member,
    [{ keyId, member: null }, BigInt(debit.keyMonthToDateAfter)] as const,
  ])
    books.due.push(...reachedOf(books, of, month, spent));
}

/** What is reached of a limit, and was not told in the month. */
function reachedOf(books: AccountBooks, of: OwnScope, month: string, spent: bigint): CrossedData[] {
  const limit = books.limits.get(nameOf(of));
  if (limit === undefined) return [];
  return limit.percents
    .filter((percent) => spent * 100n >= limit.amount * BigInt(percent))
    .filter((percent) => !books.crossed.has(keyOf(month, nameOf(of), percent)))
    .map((percent) => ({
      ...{ scope: scopeOf(of), ...of, month, thresholdPercent: percent },
      ...{ limit: String(limit.amount), spent: String(spent) },
    }));
}

/**
 * What a limit that was just set has behind it already, in the month in which that was: all of it is told, or, by programs of before,
 * nothing, which the next debit tells then.
 */
function reachedAsSet(books: AccountBooks, { keyId, member, recordedAt }: OwnLimitSet, month: string): CrossedData[] {
  const ms = recordedAt === null ? null : Date.parse(recordedAt);
  if (ms !== null && ![ms - CLOCKS_MS, ms, ms + CLOCKS_MS].some((one) => instant(one).startsWith(month))) return [];
  const ofMonth = books.months.get(month);
  const ofMember = (): bigint => (member === null ? 0n : spentBy(books, nameOfMember(member), ofMonth));
  const spent = keyId !== null ? ofMonth?.keys.get(keyId) : member === null ? ofMonth?.account : ofMember();
  return spent === undefined || spent === 0n ? [] : reachedOf(books, { keyId, member }, month, spent);
}

/** It stands right behind the debit that crosses it, or the limit that is below what was spent, in the order of the thresholds. */
export function takeCrossed(books: AccountBooks, crossed: CrossedData): void {
  if (books.limitSet !== null) books.due = reachedAsSet(books, books.limitSet, crossed.month);
  books.limitSet = null;
  const due = books.due.shift();
  noteTold(books, crossed);
  if (due === undefined) tell(books, 'a threshold is told of, and nothing has crossed it', textOf(crossed));
  else compare(books, 'the threshold that is crossed', textOf(crossed), textOf(due));
}

/** Before any other event: nothing that was crossed is left untold. */
export function auditCrossings(books: AccountBooks): void {
  books.limitSet = null;
  if (books.due.length === 0) return;
  for (const due of books.due) {
    tell(books, 'a threshold is crossed, and nothing tells of it', textOf(due));
    noteTold(books, due);
  }
  books.due = [];
}

function noteTold({ crossed }: AccountBooks, told: CrossedData): void {
  crossed.add(keyOf(told.month, nameOf(told), told.thresholdPercent));
}

const keyOf = (month: string, name: string, percent: number): string => `${month} ${name} ${percent}`;

const textOf = (crossed: CrossedData): string => {
  const { scope, keyId, member = null, month, thresholdPercent, limit, spent } = crossed;
  const whose = keyId ?? (member === null ? '' : nameOfMember(member));
  return `${thresholdPercent}% of ${limit} micro-USD by ${spent} micro-USD in ${month}, ${scope}${whose === '' ? '' : ` ${whose}`}`;
};
