import { type AccountBooks, compare, tell } from './own-account.ts';
import type { ApprovedData, CrossedData } from './stored-event.ts';

const PERCENTS = [50, 80, 100] as const;

/** What a debit has crossed of the account's monthly limit and of its key's; each once a month. */
export function noteCrossings(books: AccountBooks, debit: ApprovedData): void {
  if (books.limits.size === 0) return;
  for (const keyId of [null, debit.keyId]) {
    const limit = books.limits.get(keyId);
    if (limit === undefined) continue;
    const spent = BigInt(keyId === null ? debit.monthToDateAfter : debit.keyMonthToDateAfter);
    for (const percent of PERCENTS) {
      if (spent * 100n < limit * BigInt(percent)) break;
      if (books.crossed.has(keyOf(debit.month, keyId, percent))) continue;
      books.due.push({
        ...{ scope: keyId === null ? 'account' : 'key', keyId, month: debit.month, thresholdPercent: percent },
        ...{ limit: String(limit), spent: String(spent) },
      });
    }
  }
}

/** It stands right behind the debit that crosses it, in the order of the thresholds. */
export function takeCrossed(books: AccountBooks, crossed: CrossedData): void {
  const due = books.due.shift();
  books.crossed.add(keyOf(crossed.month, crossed.keyId, crossed.thresholdPercent));
  if (due === undefined) tell(books, 'a threshold is told of, and nothing has crossed it', textOf(crossed));
  else compare(books, 'the threshold that is crossed', textOf(crossed), textOf(due));
}

/** Before any other event: nothing that was crossed is left untold. */
export function auditCrossings(books: AccountBooks): void {
  if (books.due.length === 0) return;
  for (const due of books.due) {
    tell(books, 'a threshold is crossed, and nothing tells of it', textOf(due));
    books.crossed.add(keyOf(due.month, due.keyId, due.thresholdPercent));
  }
  books.due = [];
}

const keyOf = (month: string, keyId: string | null, percent: number): string => `${month} ${keyId ?? ''} ${percent}`;

const textOf = ({ scope, keyId, month, thresholdPercent, limit, spent }: CrossedData): string =>
  `${thresholdPercent}% of ${limit} micro-USD by ${spent} micro-USD in ${month}, ${scope}${keyId === null ? '' : ` ${keyId}`}`;
