import { NO_STREAM } from '../../contracts/ids.ts';
import { AccountsSetAside } from '../accounts-set-aside.ts';
import { BalanceView } from '../balance-view.ts';
import { CatalogView } from '../catalog-view.ts';
import { readFoldedThrough } from '../known-views.ts';
import { MonthlyView } from '../monthly-view.ts';
import { type ColumnValue, numberOf, textOf, type View, type ViewTable } from '../view.ts';
import { LiveRows } from './live-rows.ts';
import { differencesOf, type RowDifference } from './row-difference.ts';

export interface ComparedFiles {
  /** Accounts, once for each view, that both have and of which neither went on, and the live one has none aside. */
  readonly compared: number;
  /** Those of which one has more events, as a gateway goes on meanwhile. */
  readonly movedOn: number;
  /** Those whom the live one has aside by other than their events: of them no fold says what is to be there. */
  readonly setAside: number;
  /** Of which version the live rows of a view are that were compared as this program reads them; nothing where all were folded. */
  readonly upcastFrom: Readonly<Record<string, number>>;
}

/**
 * What two files of views have otherwise, where both have folded the same; `onDifference` is told what the live one has, and
 * what the other, which is of this program's versions. Null where this program can make nothing of the live one. @throws Error of
 * SQLite, or where rows of an earlier version are not of their form
 */
export function compareFiles(
  files: { readonly live: string; readonly rebuilt: string },
  onDifference: (difference: RowDifference) => void,
): ComparedFiles | null {
  const [live, rebuilt] = [LiveRows.alsoOlder(files.live), new LiveRows(files.rebuilt)];
  try {
    if (!live.hasAllViews) return null;
    const ofAccounts: readonly View[] = [new BalanceView(), new MonthlyView()];
    const others = [...new CatalogView().tables, ...new AccountsSetAside().tables];
    // What the other one has, the live one then has, too.
    const isAhead = (positionOf(files.live) ?? 0) >= (positionOf(files.rebuilt) ?? 0);
    const notFolded = live.notFolded();
    let [compared, movedOn, setAside] = [0, 0, 0];
    for (const { revisions, tables } of ofAccounts) {
      for (const row of rebuilt.rows(revisions)) {
        const id = textOf(row[0]);
        const other = live.row(revisions, [id]);
        const [is, was] = [numberOf(row[1]), other === null ? NO_STREAM : numberOf(other[1])];
        const isAside = notFolded.has(id);
        if (isAside || was > is || (was < is && !isAhead)) {
          if (isAside) setAside++;
          else movedOn++;
          continue;
        }
        compared++;
        for (const table of tables.filter((one) => live.isWhole(one)))
          compareTables(table, { live, rebuilt, notFolded, id }, onDifference);
      }
      for (const row of live.rows(revisions)) {
        if (rebuilt.row(revisions, row) !== null) continue;
        if (notFolded.has(textOf(row[0]))) setAside++;
        else movedOn++;
      }
    }
    for (const table of others.filter((one) => live.has(one)))
      compareTables(table, { live, rebuilt, notFolded }, onDifference);
    return { compared, movedOn, setAside, upcastFrom: Object.fromEntries(live.upcastFrom) };
  } finally {
    live.close();
    rebuilt.close();
  }
}

const positionOf = (file: string) => readFoldedThrough(file)?.position;

interface ComparedRows {
  readonly live: LiveRows;
  readonly rebuilt: LiveRows;
  readonly notFolded: ReadonlySet<string>;
  readonly id?: string;
}

function compareTables(
  table: ViewTable,
  { live, rebuilt, notFolded, id }: ComparedRows,
  onDifference: (difference: RowDifference) => void,
): void {
  const isHere = ([first]: readonly ColumnValue[]): boolean => !notFolded.has(String(first));
  for (const row of rebuilt.rows(table, id))
    if (isHere(row)) differencesOf(table, live.row(table, row), row).forEach(onDifference);
  for (const row of live.rows(table, id))
    if (isHere(row) && rebuilt.row(table, row) === null) differencesOf(table, row, null).forEach(onDifference);
}
