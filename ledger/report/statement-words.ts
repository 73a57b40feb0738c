import { LIMITS } from '../../contracts/limits.ts';
import { groupedUsd } from '../../contracts/money.ts';
import type { StatementFigure } from '../../contracts/statement-events.ts';
import type { MonthStatement } from './month-statement.ts';

/** Whose statement it is, and when it was made. */
export interface StatementOf {
  readonly accountId: string;
  readonly email: string;
  readonly product: string;
  readonly madeAt: string;
  /** From when on the month is closed. */
  readonly dueAt: string;
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

/** Where they are for others alone to see. */
export const PAYMENTS_LEFT_OUT = 'What became of payments is left out here: that is for who may see the payments.';

export const CARRIED = 'carried on to later debits';

/** Whether the month can change yet, in a sentence. */
export function statusSentence(
  { status, closed, month, openedIn, sums, ...over }: MonthStatement,
  { madeAt, dueAt }: Pick<StatementOf, 'madeAt' | 'dueAt'>,
): string {
  if (closed !== null)
    return `Closed at ${closed.closedAt}, from revisions ${closed.firstRevision} to ${closed.lastRevision}: it does not change any more.`;
  if (month < openedIn) return `Nothing is of ${month}: the account was opened in ${openedIn}.`;
  if (status === 'none') return `Nothing moved in ${month}: it was closed with the next statement.`;
  const ended = endedSentence(over);
  const open = `${month} is not closed yet: these are its figures until now.${ended}`;
  const isMoved = over.ended > over.endedBefore || Object.values(sums).some((sum) => sum !== 0n);
  if (!isMoved) return `${open} With nothing moved in it, it is closed with the next statement.`;
  return Date.parse(madeAt) > Date.parse(dueAt) + LIMITS.statementLateMs
    ? `${month} is not closed, and should have been from ${dueAt} on: these are its figures until now.${ended}`
    : `${open} A gateway that runs closes it from ${dueAt} on.`;
}

function endedSentence({ ended, endedBefore }: Pick<MonthStatement, 'ended' | 'endedBefore'>): string {
  if (ended === 0n) return '';
  const all = endedBefore === 0n ? 'in it' : 'before it';
  const when =
    endedBefore > 0n && endedBefore < ended ? `by its end, ${groupedUsd(endedBefore)} of them before it` : all;
  return ` ${groupedUsd(ended)} USD of credits have ended ${when}, and are not written down as expired yet.`;
}
