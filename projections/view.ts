import type { AccountEvent } from '../contracts/events.ts';
import { type AccountId, accountStream, type Revision, revision } from '../contracts/ids.ts';
import { ViewGapError } from './view-gap-error.ts';

type ColumnType = 'TEXT' | 'INTEGER';
export type ColumnValue = string | number | bigint | null;

export interface ViewTable {
  /** `<view>_v<version>` and what the rows are, so that two versions of a view can stand side by side. */
  readonly name: string;
  readonly columns: Readonly<Record<string, ColumnType>>;
  /** How many of the first columns make the primary key. */
  readonly keyColumns: number;
}

export interface ViewRow {
  readonly table: ViewTable;
  /** In the order of the table's columns. */
  readonly values: readonly ColumnValue[];
  /** The row is to be removed; of the values the key counts. */
  readonly isGone?: true;
}

/** Rows as `takeChanges` gave them, each decoded as it is read. Both @throws Error where one cannot be read, or decoded */
export interface StoredRows {
  /** In the order of their keys. */
  all<T>(table: ViewTable, decode: (values: readonly ColumnValue[]) => T): Iterable<T>;
  /** Those whose first column is this, in the same order. */
  of<T>(table: ViewTable, first: ColumnValue, decode: (values: readonly ColumnValue[]) => T): T[];
}

/** A table as an earlier version of its view had it. */
export interface OlderTable {
  readonly from: ViewTable;
  readonly to: ViewTable;
  /** What a row of then is as rows of now, of any table of the view. Absent: what it was. @throws Error where it is not of its form */
  readonly upcast?: (row: readonly ColumnValue[]) => Iterable<Pick<ViewRow, 'table' | 'values'>>;
}

/** What the views' file keeps: rows that can be taken, and taken back at the next start. */
export interface StoredView {
  readonly name: string;
  /** Raised when the fold or the tables change; the rows of another version are not read. */
  readonly version: number;
  readonly tables: readonly ViewTable[];
  /** In a file that was written before there was this view it holds nothing. Any other is made anew where a file lacks it. */
  readonly mayLack?: true;
  /**
   * How the rows that an earlier version has left can be read as rows of now, until all are folded anew (upcast-views.ts); a table that is
   * not among them begins with nothing. Null where they cannot.
   */
  olderTables?(version: number): readonly OlderTable[] | null;
  /** The rows that changed since this was last called, one by one, so that the caller can take them in slices. */
  takeChanges(): Iterator<ViewRow>;
  /** Takes back what `takeChanges` gave, now or when it is asked for. @throws Error for a row of another form */
  restore(rows: StoredRows): void;
  /** Forgets everything: what was restored is not of this log. */
  clear(): void;
}

/**
 * A fold of account events, in memory for admission and as rows for the next start. Each account's part knows the
 * revision up to which it is folded, so events may come twice (own append, then subscription) and from several places.
 */
export interface View extends StoredView {
  /** The one of its tables that has, behind the account's id, the revision that it is folded up to. */
  readonly revisions: ViewTable;
  revisionOf(accountId: AccountId): Revision;
  /** Folds an event, and says whether it was new here. @throws ViewGapError; Error where it cannot follow */
  apply(accountId: AccountId, revision: Revision, event: AccountEvent): boolean;
}

/** Whether an event is to be folded onto what is there; false where it is already. @throws ViewGapError where one is left out */
export function isNext(accountId: AccountId, last: Revision, at: Revision): boolean {
  if (at === last + 1) return true;
  if (at <= last) return false;
  throw new ViewGapError(accountStream(accountId), { last, found: at });
}

/** A JSON text of a state with bigint amounts, which zod has encoded to strings. */
export const textOf = (value: ColumnValue | undefined): string => {
  if (typeof value !== 'string') throw new Error(`expected text in a view's row, got ${typeof value}`);
  return value;
};

export function storedRevision(value: ColumnValue | undefined): Revision {
  const at = numberOf(value);
  if (!Number.isSafeInteger(at) || at < 0) throw new Error(`expected a revision in a view's row, got ${at}`);
  return revision(at);
}

export const numberOf = (value: ColumnValue | undefined): number => {
  if (typeof value !== 'number') throw new Error(`expected a number in a view's row, got ${typeof value}`);
  return value;
};
