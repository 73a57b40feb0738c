import type { ModelPrices } from '../crash-catalog.ts';
import { burnOwn } from './burn-own.ts';
import { type AccountBooks, balanceOf, type OwnMonth } from './own-account.ts';
import { ownPrice } from './own-price.ts';
import type { ApprovedData, DebitData, OwnUse, UsageData } from './stored-event.ts';

const PICO_PER_MICRO = 1_000_000n;

/** Recomputes every figure of a debit from its usage, and moves the books by the recomputed ones. */
export function auditDebit(
  books: AccountBooks,
  usage: UsageData,
  debit: DebitData,
  prices: ReadonlyMap<string, ModelPrices>,
): void {
  const card = prices.get(usage.model);
  if (card === undefined) return;
  const same = comparison(books, debit.requestId);
  const { cost, lines, uses } = ownPrice(usage, card);
  const whole = (books.carry + cost) / PICO_PER_MICRO;
  // At most the hold, where the record has kept it: the rest is an exception.
  const hold = usage.hold === undefined || usage.hold === null ? null : BigInt(usage.hold);
  const amount = hold === null || whole < hold ? whole : hold;
  if (!usage.billable) books.faults.push(`${debit.requestId}: debited, and its ending is not charged`);
  same('lines', textOf(debit.lines), textOf(lines));
  same('uses', textOfUses(debit.uses ?? []), textOfUses(uses));
  same('left out', debit.leftOut ?? '0', whole - amount);
  books.leftOut += whole - amount;
  moveBooks(books, usage, debit, { cost, amount });
}

/** An approval debits all that there was, by the instants of the request itself. */
export function auditApproved(books: AccountBooks, usage: UsageData, approved: ApprovedData, cost: bigint): void {
  const amount = (books.carry + cost) / PICO_PER_MICRO;
  // What is approved was counted as left out before, where it was.
  const leftOut = books.exceptions.get(usage.requestId)?.leftOut ?? 0n;
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
  books.exact += cost;
  books.carry = carry;
  books.debited += amount;
  books.uncovered += uncovered;
  const balance = balanceOf(books);
  same('balance after', debit.balanceAfter, balance);
  if (balance < 0n) books.faults.push(`${debit.requestId}: the balance falls to ${balance}`);
  const month = monthOf(books, usage.startedAt.slice(0, 7));
  month.account += amount;
  month.keys.set(usage.keyId, (month.keys.get(usage.keyId) ?? 0n) + amount);
  same('month', debit.month, usage.startedAt.slice(0, 7));
  same('key', debit.keyId, usage.keyId);
  same('month to date', debit.monthToDateAfter, month.account);
  same("key's month to date", debit.keyMonthToDateAfter, month.keys.get(usage.keyId));
}

const comparison =
  ({ faults }: AccountBooks, requestId: string) =>
  (what: string, got: unknown, expected: unknown): void => {
    if (String(got) !== String(expected))
      faults.push(`${requestId}: ${what} is ${String(got)}, should be ${String(expected)}`);
  };

const textOf = (lines: readonly { tokenClass: string; tokens: number; rate: unknown; cost: unknown }[]): string =>
  lines.map(({ tokenClass, tokens, rate, cost }) => `${tokenClass} ${tokens} x ${rate} = ${cost}`).join(', ');

const textOfUses = (uses: readonly OwnUse[]): string =>
  uses.map(({ use, count, rate, cost }) => `${use} ${count} x ${rate} = ${cost}`).join(', ');

function monthOf({ months }: AccountBooks, name: string): OwnMonth {
  const month = months.get(name) ?? { account: 0n, keys: new Map() };
  months.set(name, month);
  return month;
}
