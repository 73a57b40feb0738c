import { burnOwn, type OwnShare } from './burn-own.ts';
import type { Unit } from './fault.ts';
import { type AccountBooks, balanceOf, type OwnException, type OwnMonth, tell } from './own-account.ts';
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
  const whole = (books.carry + cost) / PICO_PER_MICRO;
  // At most the hold, where the record has kept it: the rest is an exception.
  const hold = usage.hold === undefined || usage.hold === null ? null : BigInt(usage.hold);
  const amount = hold === null || whole < hold ? whole : hold;
  if (!usage.billable) tell(books, `${debit.requestId}: debited, and its ending is not charged`);
  compareLines(books, debit.requestId, debit, { lines, uses });
  new Figures(books, debit.requestId).amount('left out', debit.leftOut ?? '0', whole - amount);
  books.leftOut += whole - amount;
  moveBooks(books, usage, debit, { cost, amount });
}

export function compareLines(
  books: AccountBooks,
  requestId: string,
  stated: Pick<DebitData, 'lines' | 'uses'>,
  { lines, uses }: Pick<OwnPrice, 'lines' | 'uses'>,
): void {
  if (!areSame(stated.lines, lines, isSameLine))
    tell(books, `${requestId}: lines`, textOf(stated.lines), textOf(lines));
  const stands = stated.uses ?? [];
  if (!areSame(stands, uses, isSameUse)) tell(books, `${requestId}: uses`, textOfUses(stands), textOfUses(uses));
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
  const figures = new Figures(books, debit.requestId);
  const carry = (books.carry + cost) % PICO_PER_MICRO;
  figures.amount('cost', debit.cost, cost, 'pico-USD');
  figures.amount('carry before', debit.carryBefore, books.carry, 'pico-USD');
  books.carry = figures.amount('carry after', debit.carryAfter, carry, 'pico-USD');
  figures.amount('amount', debit.amount, amount);
  const { shares, uncovered } = burnOwn(books.grants, amount, usage);
  if (!areSame(debit.grants, shares, isSameShare))
    tell(books, `${debit.requestId}: grants`, textOfShares(debit.grants), textOfShares(shares));
  takeShares(books, debit.grants);
  books.exact += cost;
  books.uncovered += figures.amount('uncovered', debit.uncovered, uncovered);
  books.debited += amount;
  const balance = balanceOf(books);
  books.debited += balance - figures.amount('balance after', debit.balanceAfter, balance);
  const startedIn = usage.startedAt.slice(0, 7);
  figures.text('month', debit.month, startedIn);
  figures.text('key', debit.keyId, usage.keyId);
  figures.text('model', debit.model, usage.model);
  figures.text('lane', debit.lane, usage.lane);
  const month = monthOf(books, startedIn);
  month.account = figures.amount('month to date', debit.monthToDateAfter, month.account + amount);
  const ofKey = (month.keys.get(usage.keyId) ?? 0n) + amount;
  month.keys.set(usage.keyId, figures.amount("key's month to date", debit.keyMonthToDateAfter, ofKey));
}

/** What is stated was taken, as far as it can be: that it should not have been is told already. */
export function takeShares({ grants }: AccountBooks, shares: DebitData['grants']): void {
  for (const { grantId, amount } of shares) {
    const grant = grants.find((one) => one.grantId === grantId);
    if (grant === undefined) continue;
    const left = grant.remaining - BigInt(amount);
    grant.remaining = left < 0n ? 0n : left;
  }
}

/** What is told of a figure is put together where there is something to tell: most have no fault. */
class Figures {
  readonly #books: AccountBooks;
  readonly #requestId: string;

  constructor(books: AccountBooks, requestId: string) {
    this.#books = books;
    this.#requestId = requestId;
  }

  /** Answers what is stated. */
  amount(what: string, found: string, expected: bigint, unit: Unit = 'micro-USD'): bigint {
    const stated = BigInt(found);
    if (stated !== expected) tell(this.#books, `${this.#requestId}: ${what}`, found, expected, unit);
    return stated;
  }

  text(what: string, found: string, expected: string): void {
    if (found !== expected) tell(this.#books, `${this.#requestId}: ${what}`, found, expected);
  }
}

export function areSame<T, O>(found: readonly T[], own: readonly O[], isSame: (one: T, other: O) => boolean): boolean {
  if (found.length !== own.length) return false;
  for (const [index, one] of found.entries()) if (!isSame(one, own[index] as O)) return false;
  return true;
}

type StatedLine = DebitData['lines'][number];
type StatedShare = DebitData['grants'][number];

const isSameLine = (found: StatedLine, own: OwnPrice['lines'][number]): boolean =>
  found.tokenClass === own.tokenClass &&
  found.tokens === own.tokens &&
  BigInt(found.rate) === own.rate &&
  BigInt(found.cost) === own.cost;

const isSameUse = (found: OwnUse, own: OwnUse): boolean =>
  found.use === own.use && found.count === own.count && found.rate === own.rate && found.cost === own.cost;

export const isSameShare = (found: StatedShare, own: OwnShare): boolean =>
  found.grantId === own.grantId && BigInt(found.amount) === own.amount;

const textOf = (lines: readonly { tokenClass: string; tokens: number; rate: unknown; cost: unknown }[]): string =>
  lines
    .map(({ tokenClass, tokens, rate, cost }) => `${tokenClass} ${tokens} x ${rate} pico-USD = ${cost} pico-USD`)
    .join(', ');

const textOfUses = (uses: readonly OwnUse[]): string =>
  uses.map(({ use, count, rate, cost }) => `${use} ${count} x ${rate} pico-USD = ${cost} pico-USD`).join(', ');

export const textOfShares = (shares: readonly (StatedShare | OwnShare)[]): string =>
  shares.map(({ grantId, amount }) => `${grantId} ${amount} micro-USD`).join(', ') || 'none';

export function monthOf({ months }: AccountBooks, name: string): OwnMonth {
  const month = months.get(name) ?? { account: 0n, keys: new Map() };
  months.set(name, month);
  return month;
}
