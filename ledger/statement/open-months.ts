import { decodeRecorded } from '../../contracts/event-codec.ts';
import type { ReadableLog } from '../../contracts/event-log.ts';
import { type AccountEvent, type EventData, isAccountEvent } from '../../contracts/events.ts';
import { type AccountId, accountStream, type Revision, revision } from '../../contracts/ids.ts';
import { DECREASES, INCREASES, type StatementFigure } from '../../contracts/statement-events.ts';
import type { ClosedStatement } from '../account/billing-state.ts';
import { monthAfter, monthOf, monthOfInstant } from '../account/month.ts';
import { isInStatements, statementEntryOf } from './statement-entries.ts';

export type StatementSums = Record<StatementFigure, bigint>;

/** What of a month no statement has counted yet. */
interface OpenMonth {
  readonly sums: StatementSums;
  /** Of its first event. */
  readonly firstRevision: number;
  /** Whose statement it will be in: its own, or of facts whose month was closed before, the one in which they were written down, or where a clock says that of a closed one, the one after it. */
  readonly label: string;
}

/**
 * The months of an account that no statement has closed, from its events in order. A statement counts every event up to its
 * last revision whose fact is of its month or an earlier one, and that no statement before has counted: so each event is in
 * one of them, whenever it was written down.
 */
export class OpenMonths {
  #last: Pick<ClosedStatement, 'month' | 'lastRevision' | 'closing'> | null;
  /** By the month of the fact; what came after the close of its month stands under the month that was closed last. */
  readonly #months = new Map<string, OpenMonth>();

  /** @param last with it, events are given from its `firstRevision` on; without, from the first on */
  constructor(last: ClosedStatement | null = null) {
    this.#last = last;
  }

  take(event: AccountEvent, revision: Revision, recordedAt: string): void {
    if (event.type === 'StatementClosed') {
      this.#close(event.data);
      return;
    }
    const entry = statementEntryOf(event, recordedAt);
    if (entry === null || isCountedBy(this.#last, entry.month, revision)) return;
    const closed = this.#last?.month ?? null;
    const isLate = closed !== null && entry.month <= closed;
    const key = isLate ? closed : entry.month;
    const label = isLate ? openMonth(monthOfInstant(recordedAt), closed) : entry.month;
    const known = this.#months.get(key) ?? { sums: noSums(), firstRevision: revision, label };
    known.sums[entry.figure] += entry.amount;
    this.#months.set(key, known);
  }

  /** What the account had when its last statement was closed. */
  get closing(): bigint {
    return this.#last?.closing ?? 0n;
  }

  get lastClosed(): string | null {
    return this.#last?.month ?? null;
  }

  /**
   * The earliest month up to one that has something to close; null where there is none.
   * @param endMs when the first of the credits that are left end: that has its month, too, before it is written down
   */
  firstUpTo(month: string, endMs: number | null): string | null {
    const labels = [...this.#months.values()].map(({ label }) => label);
    if (endMs !== null) labels.push(monthOfEnd(endMs, this.lastClosed));
    return labels.filter((label) => label <= month).sort()[0] ?? null;
  }

  /** What the statement of a month would count, from which revision on it would look, and what it would leave to later ones. */
  sumsOf(month: string): {
    readonly sums: StatementSums;
    readonly firstRevision: number | null;
    readonly later: bigint;
  } {
    const sums = noSums();
    let later = 0n;
    let firstRevision: number | null = null;
    for (const [fact, one] of this.#months) {
      if (fact <= month) for (const figure of FIGURES) sums[figure] += one.sums[figure];
      else later += netOf(one.sums);
      if (firstRevision === null || one.firstRevision < firstRevision) firstRevision = one.firstRevision;
    }
    return { sums, firstRevision, later };
  }

  #close({ month, closing, lastRevision }: EventData<'StatementClosed'>): void {
    // One that was handed in is met again in the stream.
    if (this.#last !== null && month <= this.#last.month) return;
    this.#last = { month, closing, lastRevision };
    for (const fact of this.#months.keys()) if (fact <= month) this.#months.delete(fact);
  }
}

/** The same, read from a log. @param last the statement that was closed last */
export async function openMonthsOf(
  log: Pick<ReadableLog, 'readStream'>,
  accountId: AccountId,
  last: ClosedStatement | null,
): Promise<OpenMonths> {
  const months = new OpenMonths(last);
  for await (const recorded of log.readStream(accountStream(accountId), { from: revision(last?.firstRevision ?? 0) })) {
    if (!isInStatements(recorded.type)) continue;
    const { event, metadata } = decodeRecorded(recorded);
    if (isAccountEvent(event)) months.take(event, recorded.revision, metadata.recordedAt);
  }
  return months;
}

/** The one in which something was written down; a clock that was wrong may say that of a closed one. */
export function openMonth(month: string, closed: string | null): string {
  return closed !== null && month <= closed ? monthAfter(closed) : month;
}

/** Whose statement says that credits have ended. */
export const monthOfEnd = (endMs: number, closed: string | null): string => openMonth(monthOf(endMs), closed);

/** Whether a statement, or one before it, has counted an event. */
export const isCountedBy = (
  statement: Pick<ClosedStatement, 'month' | 'lastRevision'> | null,
  factMonth: string,
  revision: Revision,
): boolean => statement !== null && revision <= statement.lastRevision && factMonth <= statement.month;

const FIGURES = [...INCREASES, ...DECREASES] as const;

export const noSums = (): StatementSums => ({
  ...{ granted: 0n, reinstated: 0n, restored: 0n, reversed: 0n, adjustedUp: 0n },
  ...{ debited: 0n, expired: 0n, revoked: 0n, adjustedDown: 0n },
});

/** By how much they change a balance. */
export const netOf = (sums: Readonly<StatementSums>): bigint =>
  INCREASES.reduce((sum, figure) => sum + sums[figure], 0n) - DECREASES.reduce((sum, figure) => sum + sums[figure], 0n);
