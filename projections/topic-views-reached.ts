import type { ReadableLog, RecordedEvent } from '../contracts/event-log.ts';
import { type AccountId, accountOfStream, CATALOG_STREAM, NO_STREAM, type Position } from '../contracts/ids.ts';
import { AccountsSetAside } from './accounts-set-aside.ts';
import { BalanceView } from './balance-view.ts';
import { CatalogView } from './catalog-view.ts';
import { VIEW_LIMITS } from './limits.ts';
import { MonthlyView } from './monthly-view.ts';
import { LiveRows } from './rebuild/live-rows.ts';
import { numberOf } from './view.ts';

export interface TopicViewsReached {
  /** They hold every event of the log up to here. */
  readonly position: Position | null;
  /** How many of those behind it they lack, and the first of them. */
  readonly lacking: number;
  readonly first: RecordedEvent | null;
}

/**
 * How far views of a file that a topic feeds hold the log, by their rows: their checkpoint says offsets of the topic, and what was
 * compared with the log last. Null where more of the log is not compared yet than is read for it, or the rows are of another version.
 * @throws EventLogError; Error when it is no database
 *
 * @param verified up to where they were found to hold all of it
 */
export async function topicViewsReached(
  log: ReadableLog,
  path: string,
  verified: Position | null,
): Promise<TopicViewsReached | null> {
  const rows = new LiveRows(path);
  try {
    // Of another version.
    if (![CATALOG, ...REVISIONS].every((table) => rows.has(table))) return null;
    const held = new HeldRevisions(rows);
    let [reached, first, lacking, seen] = [verified, null as RecordedEvent | null, 0, 0];
    for await (const event of log.readAll({
      after: verified,
      limit: VIEW_LIMITS.comparedForStatus,
      placesOnly: true,
    })) {
      seen++;
      if (held.has(event)) {
        if (first === null) reached = event.position;
        continue;
      }
      lacking++;
      first ??= event;
    }
    return seen === VIEW_LIMITS.comparedForStatus ? null : { position: reached, lacking, first };
  } finally {
    rows.close();
  }
}

/** What rows say of streams; each is looked up once. */
class HeldRevisions {
  readonly #rows: LiveRows;
  readonly #ofAccount = new Map<AccountId, number>();
  readonly #ofCatalog: number;

  constructor(rows: LiveRows) {
    this.#rows = rows;
    const publications = [...rows.rows(CATALOG)].map(([revision]) => numberOf(revision));
    this.#ofCatalog = Math.max(NO_STREAM, ...publications);
  }

  /** Also of what is no part of any view, and of what waits in the ledger because its account is set aside. */
  has({ stream, revision }: RecordedEvent): boolean {
    if (stream === CATALOG_STREAM) return revision <= this.#ofCatalog;
    const id = accountOfStream(stream);
    return id === null || revision <= this.#revisionOf(id);
  }

  #revisionOf(id: AccountId): number {
    const known = this.#ofAccount.get(id);
    if (known !== undefined) return known;
    const isAside =
      this.#rows.has(ASIDE) && [...this.#rows.rows(ASIDE, id)].some(([, cause]) => cause === 'unreadable');
    const at = REVISIONS.map((table) => numberOf(this.#rows.row(table, [id])?.[1] ?? NO_STREAM));
    const revision = isAside ? Number.POSITIVE_INFINITY : Math.min(...at);
    this.#ofAccount.set(id, revision);
    return revision;
  }
}

const [CATALOG] = new CatalogView().tables;
const [ASIDE] = new AccountsSetAside().tables;
const REVISIONS = [new BalanceView().revisions, new MonthlyView().revisions] as const;
