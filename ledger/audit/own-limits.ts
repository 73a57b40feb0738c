import { whoseOf } from './audit-members.ts';
import type { AccountBooks, OwnLimit, OwnMonth } from './own-account.ts';

/** Of limits of which nothing else is said. */
export const PERCENTS: readonly number[] = [50, 80, 100];

export const hardLimit = (amount: string): OwnLimit => ({
  amount: BigInt(amount),
  isHard: true,
  percents: PERCENTS,
});

/** Whether a hard limit binds the key: its own, or its member's. */
export const isLimited = (books: AccountBooks, keyId: string): boolean =>
  books.limits.get(keyId)?.isHard === true || memberLimit(books, keyId) !== null;

/** The hard limit of whoever has the key, by whose name; null where there is none. */
export function memberLimit(
  books: AccountBooks,
  keyId: string,
): { readonly whose: string; readonly amount: bigint } | null {
  const whose = memberOf(books, keyId);
  const limit = books.limits.get(`member ${whose}`);
  return whose !== null && limit?.isHard === true ? { whose, amount: limit.amount } : null;
}

/** Null of a key that was never issued. */
export function memberOf(books: AccountBooks, keyId: string): string | null {
  const key = books.life.keys.get(keyId);
  return key === undefined ? null : whoseOf(books, key.member);
}

/** What all keys of a member have spent. */
export function spentBy(books: AccountBooks, whose: string, month: OwnMonth | undefined): bigint {
  let spent = 0n;
  for (const [keyId, amount] of month?.keys ?? []) if (memberOf(books, keyId) === whose) spent += amount;
  return spent;
}

/** A limit as the views are compared with it; '' where there is none. */
export function textOfLimit(name: string, limit: OwnLimit | null): string {
  if (limit === null) return '';
  const told = String(limit.percents) === String(PERCENTS) ? '' : ` at ${limit.percents.join(', ')}%`;
  return `${name} ${limit.isHard ? '' : 'soft '}${limit.amount} micro-USD${told}`;
}
