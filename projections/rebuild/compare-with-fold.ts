import { decodeEvent } from '../../contracts/event-codec.ts';
import type { ReadableLog, RecordedEvent } from '../../contracts/event-log.ts';
import type { AccountEvent } from '../../contracts/events.ts';
import {
  type AccountId,
  accountOfStream,
  accountStream,
  CATALOG_STREAM,
  NO_STREAM,
  type Position,
  type Revision,
} from '../../contracts/ids.ts';
import { accountEventOf, cannotFollow } from '../../ledger/account/account-event.ts';
import { AccountUnreadableError } from '../../ledger/account/account-unreadable-error.ts';
import { AccountsSetAside } from '../accounts-set-aside.ts';
import { BalanceView, KEYS, ofKeyRow } from '../balance-view.ts';
import { CatalogView } from '../catalog-view.ts';
import { KeyIndex } from '../key-index.ts';
import { readFoldedThrough } from '../known-views.ts';
import { MonthlyView } from '../monthly-view.ts';
import { reachedIn } from '../sources/log-view-source.ts';
import { lacking } from '../take-back.ts';
import { type ColumnValue, numberOf, type StoredView, type View, type ViewTable } from '../view.ts';
import { ViewGapError } from '../view-gap-error.ts';
import { type KeyBehind, keysBehindAside } from './keys-behind-aside.ts';
import { LiveRows } from './live-rows.ts';
import { differencesOf, type RowDifference } from './row-difference.ts';

interface ComparedViews {
  /** The file that is asked. */
  readonly path: string;
  readonly log: ReadableLog;
  /** One account alone; all, and the catalog, where it is null. */
  readonly only: AccountId | null;
  readonly onDifference: (difference: RowDifference) => void;
}

/** How much was compared. */
export interface Compared {
  readonly events: number;
  readonly rows: number;
  /** Accounts of which the log's server hides events, or that are parked: no fold tells what they should be. */
  readonly notCompared: number;
  /** Of which version the rows of a view are that were compared as this program reads them; nothing where all were folded. */
  readonly upcastFrom: Readonly<Record<string, number>>;
}

/**
 * Folds the log anew, by the program's own views, as far as each row of a views' file has come, and compares both value by
 * value. A gateway may go on writing to the file meanwhile. Null where the file has no views that this program can read. @throws
 * EventLogError; Error where the file, or an event that is no account's, cannot be read
 */
export async function compareWithFold({ path, log, only, onDifference }: ComparedViews): Promise<Compared | null> {
  const through = readFoldedThrough(path);
  if (through === null) return null;
  const live = LiveRows.alsoOlder(path);
  try {
    return await compareRowsWithFold(live, await reachedIn(log, through), { log, only, onDifference });
  } finally {
    live.close();
  }
}

interface ComparedRows extends Omit<ComparedViews, 'path'> {
  /** By who compares several accounts: as `keysBehindAside`, which reads as many streams as accounts are set aside. */
  readonly keysBehind?: () => Promise<readonly KeyBehind[]>;
}

/** The same of rows that are open, whose checkpoint stands at a position of this log. */
export async function compareRowsWithFold(
  live: LiveRows,
  through: Position | null,
  { log, only, onDifference, keysBehind = () => keysBehindAside(live, log) }: ComparedRows,
): Promise<Compared | null> {
  if (!live.hasAllViews) return null;
  const fold = new FoldAsFar(live, through);
  // Its stream alone says nothing of a key that another account had first.
  if (only !== null && fold.isAside(only)) fold.takeKeysOfOthers(only, await keysBehind());
  let events = 0;
  for await (const event of only === null ? log.readAll() : log.readStream(accountStream(only))) {
    fold.take(event);
    events++;
  }
  const rows = compareRows(live, fold, { only, onDifference });
  return { events, rows, notCompared: fold.notFolded.size, upcastFrom: Object.fromEntries(live.upcastFrom) };
}

/** A fold of the log that ends, for each account and view, where the file's row has come to, and not before its checkpoint. */
class FoldAsFar {
  readonly #live: LiveRows;
  readonly #through: Position | null;
  readonly #catalog = new CatalogView();
  readonly #setAside = new AccountsSetAside();
  readonly #keys = new KeyIndex();
  /** Not looked at yet. */
  #keysBehind: KeyBehind[] = [];
  readonly #ofAccounts: readonly View[] = [new BalanceView(), new MonthlyView()];
  readonly #catalogRevision: number;
  #last: { readonly id: AccountId; readonly revisions: readonly number[] } | null = null;
  readonly views: readonly StoredView[] = [...this.#ofAccounts, this.#catalog, this.#setAside];
  readonly notFolded: ReadonlySet<string>;

  constructor(live: LiveRows, through: Position | null) {
    this.#live = live;
    this.#through = through;
    const rowsOf = ({ tables: [table] }: StoredView) => (table && live.has(table) ? [...live.rows(table)] : []);
    this.notFolded = live.notFolded();
    this.#catalogRevision = Math.max(NO_STREAM, ...rowsOf(this.#catalog).map(([at]) => numberOf(at)));
  }

  /** By the file's rows. */
  isAside(id: AccountId): boolean {
    const [table] = this.#setAside.tables;
    return this.#live.has(table) && [...this.#live.rows(table, id)].length > 0;
  }

  /** Also by the file's rows, and what these lack: of an account's own the fold tells. */
  takeKeysOfOthers(id: AccountId, behind: readonly KeyBehind[]): void {
    for (const row of this.#live.rows(KEYS)) {
      const [other, key] = ofKeyRow(row);
      if (other !== id) this.#keys.addFrom(other, key);
    }
    this.#keysBehind = behind.filter((one) => one.id !== id);
  }

  /** @throws Error for an event of the catalog that cannot be read */
  take(recorded: RecordedEvent): void {
    const { stream, revision } = recorded;
    const id = accountOfStream(stream);
    if (stream === CATALOG_STREAM && this.#isWithin(recorded, this.#catalogRevision)) {
      const event = decodeEvent(recorded);
      if (event.type === 'CatalogPublished') this.#catalog.fold(revision, event.data);
    }
    if (id === null) return;
    if (this.#setAside.unreadableFrom(id) !== null) {
      this.#keys.note(id, recorded);
      return;
    }
    this.#noteKeysBefore(recorded.position);
    const cameTo = this.#revisionsOf(id);
    const views = this.#ofAccounts.filter((_view, index) => this.#isWithin(recorded, cameTo[index] ?? NO_STREAM));
    if (views.length > 0) this.#fold(id, recorded, views);
  }

  /** Those whose rows are not there come as they stand in the log. */
  #noteKeysBefore(at: Position): void {
    for (let [next] = this.#keysBehind; next !== undefined && next.recorded.position < at; [next] = this.#keysBehind) {
      this.#keys.note(next.id, next.recorded);
      this.#keysBehind.shift();
    }
  }

  #fold(id: AccountId, recorded: RecordedEvent, views: readonly View[]): void {
    try {
      const event = accountEventOf(id, recorded);
      const taken = this.#keys.observe(id, event);
      if (taken !== null) throw cannotFollow(id, recorded.revision, event, new Error(taken));
      for (const view of views) applyTo(view, { id, revision: recorded.revision, event });
    } catch (error) {
      if (!(error instanceof AccountUnreadableError)) throw error;
      this.#setAside.put(id, error);
    }
  }

  #isWithin({ position, revision }: RecordedEvent, last: number): boolean {
    return revision <= last || (this.#through !== null && position <= this.#through);
  }

  /** In each of its views. An account's events mostly come together, and the rows are those of one moment. */
  #revisionsOf(id: AccountId): readonly number[] {
    if (this.#last?.id === id) return this.#last.revisions;
    const rows = this.#ofAccounts.map(({ revisions }) => this.#live.row(revisions, [id]));
    this.#last = { id, revisions: rows.map((row) => (row === null ? NO_STREAM : numberOf(row[1]))) };
    return this.#last.revisions;
  }
}

function compareRows(
  live: LiveRows,
  { views, notFolded }: FoldAsFar,
  { only, onDifference }: Pick<ComparedViews, 'only' | 'onDifference'>,
): number {
  const isCompared = (table: ViewTable, row: readonly ColumnValue[]): boolean =>
    live.isWhole(table) && !(isOfAccounts(table) && notFolded.has(String(row[0])));
  let rows = 0;
  const seen = new Map<ViewTable, Set<string>>();
  for (const view of views) {
    const changes = view.takeChanges();
    for (let next = changes.next(); next.done !== true; next = changes.next()) {
      const { table, values } = next.value;
      if (!isCompared(table, values)) continue;
      rows++;
      const keys = seen.get(table) ?? new Set();
      seen.set(table, keys.add(keyOf(table, values)));
      differencesOf(table, live.has(table) ? live.row(table, values) : null, values).forEach(onDifference);
    }
  }
  // And what the file has and no event has made.
  for (const table of views.flatMap(({ tables }) => tables)) {
    if (!live.has(table) || (only !== null && !isOfAccounts(table))) continue;
    for (const row of live.rows(table, only ?? undefined))
      if (isCompared(table, row) && seen.get(table)?.has(keyOf(table, row)) !== true)
        differencesOf(table, row, null).forEach(onDifference);
  }
  return rows;
}

const isOfAccounts = ({ columns }: ViewTable): boolean => 'account_id' in columns;
const keyOf = ({ keyColumns }: ViewTable, row: readonly ColumnValue[]): string =>
  JSON.stringify(row.slice(0, keyColumns).map(String));

/** @throws AccountUnreadableError */
function applyTo(
  view: View,
  { id, revision, event }: { id: AccountId; revision: Revision; event: AccountEvent },
): void {
  try {
    view.apply(id, revision, event);
  } catch (error) {
    throw error instanceof ViewGapError ? lacking(id, error) : cannotFollow(id, revision, event, error);
  }
}
