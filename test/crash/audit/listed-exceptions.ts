import type { OwnException } from '../../../ledger/audit/own-account.ts';
import type { AccountBooks } from './account-books.ts';

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
