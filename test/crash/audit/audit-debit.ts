import type { ModelPrices } from '../crash-catalog.ts';
import type { AccountBooks, OwnGrant, OwnMonth } from './account-books.ts';
import { ownPrice } from './own-price.ts';
import type { DebitData, UsageData } from './stored-event.ts';

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
  const { cost, lines } = ownPrice(usage.tokens, usage.lane, card);
  const exact = books.carry + cost;
  const amount = exact / PICO_PER_MICRO;
  const same = (what: string, got: unknown, expected: unknown): void => {
    if (String(got) !== String(expected))
      books.faults.push(`${debit.requestId}: ${what} is ${String(got)}, should be ${String(expected)}`);
  };
  if (!usage.billable) books.faults.push(`${debit.requestId}: debited, and its ending is not charged`);
  same('cost', debit.cost, cost);
  same('lines', textOf(debit.lines), textOf(lines));
  same('carry before', debit.carryBefore, books.carry);
  same('carry after', debit.carryAfter, exact % PICO_PER_MICRO);
  same('amount', debit.amount, amount);
  const { shares, uncovered } = burnOwn(books.grants, amount, Date.parse(usage.startedAt));
  same('grants', JSON.stringify(debit.grants), JSON.stringify(shares));
  same('uncovered', debit.uncovered, uncovered);
  books.exact += cost;
  books.carry = exact % PICO_PER_MICRO;
  books.debited += amount;
  const balance = books.granted - books.debited;
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

const textOf = (lines: readonly { tokenClass: string; tokens: number; rate: unknown; cost: unknown }[]): string =>
  lines.map(({ tokenClass, tokens, rate, cost }) => `${tokenClass} ${tokens} x ${rate} = ${cost}`).join(', ');

function monthOf({ months }: AccountBooks, name: string): OwnMonth {
  const month = months.get(name) ?? { account: 0n, keys: new Map() };
  months.set(name, month);
  return month;
}

/** Takes an amount from the grants in the design's order; what none of them holds is uncovered. */
function burnOwn(
  grants: readonly OwnGrant[],
  amount: bigint,
  atMs: number,
): { shares: { grantId: string; amount: string }[]; uncovered: bigint } {
  const shares: { grantId: string; amount: string }[] = [];
  let left = amount;
  for (const grant of grants.toSorted(burnsBefore)) {
    const isUsable = grant.effectiveAtMs <= atMs && (grant.expiresAtMs === null || atMs < grant.expiresAtMs);
    if (left === 0n || grant.remaining === 0n || !isUsable) continue;
    const taken = grant.remaining < left ? grant.remaining : left;
    grant.remaining -= taken;
    left -= taken;
    shares.push({ grantId: grant.grantId, amount: taken.toString() });
  }
  return { shares, uncovered: left };
}

/** Priority, expiry (none last), zero cost basis first, effectiveAt, grantId. */
function burnsBefore(a: OwnGrant, b: OwnGrant): number {
  const expiry = (grant: OwnGrant): number => grant.expiresAtMs ?? Number.MAX_SAFE_INTEGER;
  const keys = (grant: OwnGrant): number[] => [
    grant.priority,
    expiry(grant),
    grant.isFree ? 0 : 1,
    grant.effectiveAtMs,
  ];
  const other = keys(b);
  const differing = keys(a)
    .map((key, index) => key - (other[index] ?? 0))
    .find((difference) => difference !== 0);
  return differing ?? (a.grantId < b.grantId ? -1 : 1);
}
