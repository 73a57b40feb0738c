import { type AccountBooks, balanceOf, compare } from './own-account.ts';

/** What a view that somebody else has made says of an account at a revision: amounts as decimal text. */
export interface SeenFigures {
  readonly revision: number;
  readonly balance: string;
  readonly carry: string;
  readonly uncovered: string;
  readonly grants: readonly { readonly grantId: string; readonly remaining: string }[];
  readonly months: Readonly<Record<string, string>>;
  /** Pico-USD of all debits; null where it is not known. */
  readonly billed: string | null;
}

const PICO_PER_MICRO = 1_000_000n;

/** Compares the views with the auditor's books, which have come to the same revision. */
export function auditViews(books: AccountBooks, seen: SeenFigures): void {
  compare(books, "the views' balance", seen.balance, balanceOf(books));
  compare(books, "the views' carry", seen.carry, books.carry);
  compare(books, 'what the views have as uncovered', seen.uncovered, books.uncovered);
  const grants = books.grants.map(({ grantId, remaining }) => `${grantId} ${remaining}`).toSorted();
  compare(books, "the views' grants", seen.grants.map((one) => `${one.grantId} ${one.remaining}`).toSorted(), grants);
  const months = [...books.months].map(([month, { account }]) => `${month} ${account}`).toSorted();
  const seenMonths = Object.entries(seen.months).map(([month, spent]) => `${month} ${spent}`);
  compare(books, "the views' months", seenMonths.toSorted(), months);
  if (seen.billed !== null)
    compare(books, 'what the views have billed', seen.billed, books.exact - books.leftOut * PICO_PER_MICRO);
}
