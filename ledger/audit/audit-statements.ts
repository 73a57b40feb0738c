import { type AccountBooks, compare, compareAmount, tell } from './own-account.ts';
import { instantMs } from './own-times.ts';
import type { StatementData, StoredEvent } from './stored-event.ts';

/** Figures of statements that an event adds to, with the instant or month of its fact; null is when it was recorded. */
type Counted = readonly [figure: Figure, fact: string | null];
type Figure = (typeof UP)[number] | (typeof DOWN)[number];
type OfMoney = Readonly<Record<string, string>>;

const UP = ['granted', 'reinstated', 'restored', 'reversed', 'adjustedUp'] as const;
const DOWN = ['debited', 'expired', 'revoked', 'adjustedDown'] as const;

function countedIn(type: string, data: OfMoney): Counted | null {
  if (type === 'CreditsGranted') return ['granted', data.effectiveAt ?? null];
  if (type === 'CreditsReinstated') return ['reinstated', null];
  if (type === 'CreditsExpired') return ['expired', data.expiredAt ?? null];
  if (type === 'CreditsDebited' || type === 'ExceptionApproved') return ['debited', data.month ?? null];
  if (type === 'GrantRevoked') return ['revoked', data.revokedAt ?? null];
  if (type === 'GrantRestored') return ['restored', data.restoredAt ?? null];
  if (type === 'DebitReversed') return ['reversed', data.reversedAt ?? null];
  if (type === 'BalanceAdjusted')
    return [data.direction === 'up' ? 'adjustedUp' : 'adjustedDown', data.adjustedAt ?? null];
  return null;
}

/** Counts what moves the balance by the month of its fact, which is never later than the one in which it was written down. */
export function countForStatement({ statements }: AccountBooks, { type, data, metadata, revision }: StoredEvent): void {
  const counted = countedIn(type, data as OfMoney);
  if (counted === null) return;
  const [figure, fact] = counted;
  const recorded = metadata?.recordedAt.slice(0, 7);
  const own = fact?.slice(0, 7);
  const month = own === undefined || (recorded !== undefined && recorded < own) ? (recorded ?? '') : own;
  const key = month < statements.closedUpTo ? statements.closedUpTo : month;
  const sums = statements.open.get(key) ?? { from: revision, sums: new Map<string, bigint>() };
  sums.sums.set(figure, (sums.sums.get(figure) ?? 0n) + BigInt((data as OfMoney).amount ?? '0'));
  statements.open.set(key, sums);
}

/** Each figure of a statement against what was counted, and its month, its revisions and its opening against the one before. */
export function takeStatement(books: AccountBooks, said: StatementData, { revision, metadata }: StoredEvent): void {
  const { statements } = books;
  const { month } = said;
  const of = `statement of ${month}`;
  if (month <= statements.closedUpTo) tell(books, `${of}: closed behind that of ${statements.closedUpTo}`);
  if (metadata !== undefined && metadata.recordedAt.slice(0, 7) <= month) tell(books, `${of}: closed before its end`);
  const counted = new Map<string, bigint>();
  const revisions = [...statements.open.values()].map(({ from }) => from);
  let isEmpty = true;
  for (const [fact, { sums }] of statements.open) {
    if (fact > month) continue;
    isEmpty = false;
    for (const [figure, amount] of sums) counted.set(figure, (counted.get(figure) ?? 0n) + amount);
    statements.open.delete(fact);
  }
  if (isEmpty) tell(books, `${of}: closes nothing`);
  else compare(books, `${of}: its first revision`, said.firstRevision, Math.min(...revisions));
  compare(books, `${of}: its last revision`, said.lastRevision, revision - 1);
  compare(books, `${of}: its product`, said.product, statements.product);
  compareAmount(books, `${of}: opening`, said.opening, statements.closing);
  let closing = BigInt(said.opening);
  for (const figure of UP) {
    compareAmount(books, `${of}: ${figure}`, said[figure], counted.get(figure) ?? 0n);
    closing += BigInt(said[figure]);
  }
  for (const figure of DOWN) {
    compareAmount(books, `${of}: ${figure}`, said[figure], counted.get(figure) ?? 0n);
    closing -= BigInt(said[figure]);
  }
  compareAmount(books, `${of}: closing`, said.closing, closing);
  const [year = 0, number = 0] = month.split('-').map(Number);
  const endMs = Date.UTC(year, number);
  for (const { grantId, remaining, expiresAtMs } of books.grants)
    if (remaining > 0n && expiresAtMs !== null && expiresAtMs <= endMs)
      tell(books, `${of}: ${grantId} had ended, and was not written down as expired`);
  if (metadata !== undefined && instantMs(said.closedAt) < endMs) tell(books, `${of}: closed at ${said.closedAt}`);
  // It goes on from what is stated.
  statements.closing = BigInt(said.closing);
  if (month > statements.closedUpTo) statements.closedUpTo = month;
}
