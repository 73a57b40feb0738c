import type { AccountBooks, OwnException } from './own-account.ts';
import type { DebitData, UsageData } from './stored-event.ts';

const PICO_PER_MICRO = 1_000_000n;

/**
 * What could not be debited as it came, by request, as it follows from what was recorded: what a hold left out, usage
 * without a price, usage that came late.
 */
const exceptionsOf = ({ exceptions }: AccountBooks): readonly OwnException[] => [...exceptions.values()];

export const openExceptionsOf = (books: AccountBooks): readonly OwnException[] =>
  exceptionsOf(books).filter(({ ended }) => ended === null);

/** Compares what `gateway exception list --json` prints with the auditor's own. */
export function auditListed(books: AccountBooks, json: string): string[] {
  const { exceptions } = JSON.parse(json) as { readonly exceptions: readonly Listed[] };
  const listed = exceptions.map(({ request, costPicoUsd }) => `${request} ${costPicoUsd}`).toSorted();
  const own = openExceptionsOf(books)
    .map(({ requestId, leftOut, late }) => `${requestId} ${leftOut + (late ?? 0n)}`)
    .toSorted();
  const [less, more] = [new Set(listed), new Set(own)];
  return [
    ...own.filter((one) => !less.has(one)).map((one) => `${books.accountId}: no exception is listed for ${one}`),
    ...listed.filter((one) => !more.has(one)).map((one) => `${books.accountId}: an exception is listed for ${one}`),
  ];
}

interface Listed {
  readonly request: string;
  readonly costPicoUsd: string;
}

export function noteUnpriced(books: AccountBooks, { requestId, unpriced = [] }: UsageData): void {
  if (unpriced.length > 0) exceptionOf(books, requestId).unpriced.push(...unpriced);
}

export function noteLeftOut(books: AccountBooks, { requestId, leftOut = '0' }: DebitData): void {
  if (leftOut !== '0') exceptionOf(books, requestId).leftOut += BigInt(leftOut) * PICO_PER_MICRO;
}

export function noteLate(books: AccountBooks, { requestId, unpriced = [] }: UsageData, cost: bigint): void {
  const exception = exceptionOf(books, requestId);
  if (exception.late !== null) books.faults.push(`${requestId}: reported late twice`);
  exception.late = cost;
  exception.unpriced.push(...unpriced);
}

/** Returns what there was to approve, in pico-USD; null where there was nothing. */
export function noteApproved(books: AccountBooks, requestId: string): bigint | null {
  const exception = ended(books, requestId, 'approved');
  return exception === null ? null : exception.leftOut + (exception.late ?? 0n);
}

export function noteDropped(books: AccountBooks, requestId: string): void {
  ended(books, requestId, 'dropped');
}

function ended(books: AccountBooks, requestId: string, how: 'approved' | 'dropped'): OwnException | null {
  const exception = books.exceptions.get(requestId);
  if (exception === undefined || exception.ended !== null) {
    books.faults.push(`${requestId}: ${how}, and no exception is open`);
    return null;
  }
  exception.ended = how;
  return exception;
}

function exceptionOf({ exceptions }: AccountBooks, requestId: string): OwnException {
  const known = exceptions.get(requestId);
  if (known !== undefined) return known;
  const exception: OwnException = { requestId, leftOut: 0n, late: null, unpriced: [], ended: null };
  exceptions.set(requestId, exception);
  return exception;
}
