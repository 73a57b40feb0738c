import { burnOwn } from './burn-own.ts';
import { type AccountBooks, balanceOf, compare, type OwnException, type OwnMonth, tell } from './own-account.ts';
import type { OwnPrice } from './own-price.ts';
import type { ApprovedData, DebitData, OwnUse, UsageData } from './stored-event.ts';

const PICO_PER_MICRO = 1_000_000n;

/** Recomputes every figure of a debit from its usage; the books go on from what it states. */
export function auditDebit(
  books: AccountBooks,
  usage: UsageData,
  debit: DebitData,
  { cost, lines, uses }: OwnPrice,
): void {
  const same = comparison(books, debit.requestId);
  const whole = (books.carry + cost) / PICO_PER_MICRO;
  // At most the hold, where the record has kept it: the rest is an exception.
  const hold = usage.hold === undefined || usage.hold === null ? null : BigInt(usage.hold);
  const amount = hold === null || whole < hold ? whole : hold;
  if (!usage.billable) tell(books, `${debit.requestId}: debited, and its ending is not charged`);
  compareLines(books, debit.requestId, debit, { lines, uses });
  same('left out', debit.leftOut ?? '0', whole - amount);
  books.leftOut += whole - amount;
  moveBooks(books, usage, debit, { cost, amount });
}

export function compareLines(
  books: AccountBooks,
  requestId: string,
  stated: Pick<DebitData, 'lines' | 'uses'>,
  { lines, uses }: Pick<OwnPrice, 'lines' | 'uses'>,
): void {
  compare(books, `${requestId}: lines`, textOf(stated.lines), textOf(lines));
  compare(books, `${requestId}: uses`, textOfUses(stated.uses ?? []), textOfUses(uses));
}

/** An approval debits all that there was, by the instants of the request itself. */
export function auditApproved(
  books: AccountBooks,
  { usage, leftOut, late }: OwnException,
  approved: ApprovedData,
): void {
  const cost = leftOut + (late ?? 0n);
  const amount = (books.carry + cost) / PICO_PER_MICRO;
  // What is approved was counted as left out before, where it was.
  books.leftOut -= leftOut / PICO_PER_MICRO;
  books.exact -= leftOut;
  moveBooks(books, usage, approved, { cost, amount });
}

/** What a debit and an approval have in common. */
function moveBooks(
  books: AccountBooks,
  usage: UsageData,
  debit: ApprovedData,
  { cost, amount }: { readonly cost: bigint; readonly amount: bigint },
): void {
  const same = comparison(books, debit.requestId);
  const carry = (books.carry + cost) % PICO_PER_MICRO;
  same('cost', debit.cost, cost);
  same('carry before', debit.carryBefore, books.carry);
  same('carry after', debit.carryAfter, carry);
  same('amount', debit.amount, amount);
  const { shares, uncovered } = burnOwn(books.grants, amount, usage);
  same('grants', JSON.stringify(debit.grants), JSON.stringify(shares));
  same('uncovered', debit.uncovered, uncovered);
  takeShares(books, debit.grants);
  books.exact += cost;
  books.carry = BigInt(debit.carryAfter);
  books.uncovered += BigInt(debit.uncovered);
  books.debited += amount;
  const balance = balanceOf(books);
  same('balance after', debit.balanceAfter, balance);
  books.debited += balance - BigInt(debit.balanceAfter);
  const month = monthOf(books, usage.startedAt.slice(0, 7));
  const [ofAccount, ofKey] = [month.account + amount, (month.keys.get(usage.keyId) ?? 0n) + amount];
  same('month', debit.month, usage.startedAt.slice(0, 7));
  same('key', debit.keyId, usage.keyId);
  same('model', debit.model, usage.model);
  same('lane', debit.lane, usage.lane);
  same('month to date', debit.monthToDateAfter, ofAccount);
  same("key's month to date", debit.keyMonthToDateAfter, ofKey);
  month.account = BigInt(debit.monthToDateAfter);
  month.keys.set(usage.keyId, BigInt(debit.keyMonthToDateAfter));
}

/** What is stated was taken, as far as it can be: that it should not have been is told already. */
function takeShares({ grants }: AccountBooks, shares: DebitData['grants']): void {
  for (const { grantId, amount } of shares) {
    const grant = grants.find((one) => one.grantId === grantId);
    if (grant === undefined) continue;
    const left = grant.remaining - BigInt(amount);
    grant.remaining = left < 0n ? 0n : left;
  }
}

const comparison =
  (books: AccountBooks, requestId: string) =>
  (what: string, found: unknown, expected: unknown): void =>
    compare(books, `${requestId}: ${what}`, found, expected);

const textOf = (lines: readonly { tokenClass: string; tokens: number; rate: unknown; cost: unknown }[]): string =>
  lines.map(({ tokenClass, tokens, rate, cost }) => `${tokenClass} ${tokens} x ${rate} = ${cost}`).join(', ');

const textOfUses = (uses: readonly OwnUse[]): string =>
  uses.map(({ use, count, rate, cost }) => `${use} ${count} x ${rate} = ${cost}`).join(', ');

function monthOf({ months }: AccountBooks, name: string): OwnMonth {
  const month = months.get(name) ?? { account: 0n, keys: new Map() };
  months.set(name, month);
  return month;
}
