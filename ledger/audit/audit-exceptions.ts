import { type AccountBooks, compareAmount, type OwnException, tell } from './own-account.ts';
import type { ApprovedData, DebitData, DroppedData, UsageData } from './stored-event.ts';

const PICO_PER_MICRO = 1_000_000n;

/*
 * What could not be debited as it came, by request, as it follows from what was recorded: what a hold left out, usage
 * without a price, usage that came late.
 */

/** So many without any money stay open; what comes beyond is counted, and cannot be ended. */
const WITHOUT_COST_MAX = 1_000;

export function noteUnpriced(books: AccountBooks, usage: UsageData): void {
  const { unpriced = [] } = usage;
  if (unpriced.length === 0) return;
  if (books.withoutCost >= WITHOUT_COST_MAX) books.unlisted++;
  else exceptionOf(books, usage);
}

export function noteLeftOut(books: AccountBooks, { leftOut = '0' }: DebitData, usage: UsageData): void {
  if (leftOut === '0') return;
  const exception = exceptionOf(books, usage);
  withChange(books, exception, () => {
    exception.leftOut += BigInt(leftOut) * PICO_PER_MICRO;
  });
}

export function noteLate(books: AccountBooks, usage: UsageData, cost: bigint): void {
  const exception = exceptionOf(books, usage);
  if (exception.late !== null) tell(books, `${usage.requestId}: reported late twice`);
  if (exception.ended !== null) tell(books, `${usage.requestId}: reported late, and was ${exception.ended} before`);
  withChange(books, exception, () => {
    exception.late = cost;
    exception.usage = usage;
  });
}

/** Null where there was nothing to approve. */
export const noteApproved = (books: AccountBooks, approved: ApprovedData): OwnException | null =>
  ended(books, approved, 'approved');

export function noteDropped(books: AccountBooks, dropped: DroppedData): void {
  const exception = ended(books, dropped, 'dropped');
  if (exception === null) return;
  const amount = (exception.leftOut + (exception.late ?? 0n)) / PICO_PER_MICRO;
  compareAmount(books, `${dropped.requestId}: what is dropped`, dropped.amount, amount);
}

function ended(
  books: AccountBooks,
  { requestId, reason }: Pick<DroppedData, 'requestId' | 'reason'>,
  how: 'approved' | 'dropped',
): OwnException | null {
  if (reason?.trim() === '') tell(books, `${requestId}: ${how} without a reason`);
  const exception = books.exceptions.get(requestId);
  if (exception === undefined || exception.ended !== null) {
    tell(books, `${requestId}: ${how}, and no exception is open`);
    return null;
  }
  books.withoutCost -= hasNoCost(exception);
  exception.ended = how;
  return exception;
}

function exceptionOf(books: AccountBooks, usage: UsageData): OwnException {
  const { requestId } = usage;
  const known = books.exceptions.get(requestId);
  if (known !== undefined) return known;
  const exception: OwnException = { requestId, usage, leftOut: 0n, late: null, ended: null };
  books.exceptions.set(requestId, exception);
  books.withoutCost++;
  return exception;
}

function withChange(books: AccountBooks, exception: OwnException, change: () => void): void {
  const before = hasNoCost(exception);
  change();
  if (exception.ended === null) books.withoutCost += hasNoCost(exception) - before;
}

const hasNoCost = ({ leftOut, late }: OwnException): 0 | 1 => (leftOut === 0n && (late ?? 0n) === 0n ? 1 : 0);
