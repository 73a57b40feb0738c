import type { StatementFigure } from '../../contracts/statement-events.ts';
import type { MonthStatement } from './month-statement.ts';

/** Whose statement it is, and when it was made. */
export interface StatementOf {
  readonly accountId: string;
  readonly email: string;
  readonly product: string;
  readonly madeAt: string;
}

/** As people call them, in a statement's order. */
export const FIGURE_WORDS: Readonly<Record<StatementFigure, string>> = {
  granted: 'granted',
  reinstated: 'reinstated after expiry',
  restored: 'restored after a revocation',
  reversed: 'reversed of debits',
  adjustedUp: 'adjusted up',
  debited: 'debited',
  expired: 'expired',
  revoked: 'revoked',
  adjustedDown: 'adjusted down',
};

/** Whether the month can change yet, in a sentence. */
export function statusSentence({ status, closed, month, openedIn }: MonthStatement): string {
  if (closed !== null)
    return `Closed at ${closed.closedAt}, from revisions ${closed.firstRevision} to ${closed.lastRevision}: it does not change any more.`;
  if (month < openedIn) return `Nothing is of ${month}: the account was opened in ${openedIn}.`;
  return status === 'open'
    ? `${month} is not closed yet: these are its figures until now.`
    : `Nothing moved in ${month}: it was closed with the next statement.`;
}
