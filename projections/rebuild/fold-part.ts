import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { EventLogError, type EventWithoutId } from '../../contracts/event-log.ts';
import { accountOfStream } from '../../contracts/ids.ts';
import { UnreadableEventError } from '../../contracts/unreadable-event-error.ts';
import { type ScanPart, scanWithoutIds } from '../../ledger/event-log/sqlite/scan-file.ts';
import { AccountViews } from '../account-views.ts';
import { CatalogView } from '../catalog-view.ts';
import { EventFold } from '../event-fold.ts';
import { KEY_EVENTS } from '../key-index.ts';
import { VIEW_LIMITS } from '../limits.ts';
import { LOG_SOURCE } from '../sources/log-view-source.ts';
import type { StoredView, ViewRow } from '../view.ts';
import { type Batch, batchesOf, firstBatchesOf } from '../view-file.ts';
import { restoreViews } from '../view-store.ts';
import { EventSums, type SumsOfPart } from './event-sums.ts';

/** Which part of the accounts is folded; the first has the catalog, too. */
export interface FoldPart extends ScanPart {
  readonly after: number;
  /** The file with the rows of all parts up to `after`; null where all begins. */
  readonly views: string | null;
  /** Behind so many positions each it is asked whether the rows are wanted that have changed. */
  readonly stretchPositions: number;
}

/** What a thread tells. */
export type FoldNews =
  | { readonly type: 'folded'; readonly events: number }
  /** Everything up to a position is: a word is waited for. */
  | { readonly type: 'at'; readonly position: number }
  /** Some of what was wanted: it is waited for until they are taken. */
  | { readonly type: 'rows'; readonly batches: readonly Batch[] }
  /** All of it: the same. */
  | { readonly type: 'handed over' }
  | { readonly type: 'end'; readonly sums: SumsOfPart }
  /** An error of a class would come over as one of none. */
  | { readonly type: 'unread'; readonly kind: EventLogError['kind']; readonly message: string }
  | { readonly type: 'unreadable'; readonly message: string };

export type FoldWord = 'go on' | 'hand over';

const EVENTS_A_WORD = 4_096;

assert(parentPort !== null, 'this file is a thread');
try {
  await foldPart(parentPort, workerData as FoldPart);
} catch (error) {
  const news = newsOf(error);
  if (news === null) throw error;
  parentPort.postMessage(news);
}

function newsOf(error: unknown): FoldNews | null {
  if (error instanceof EventLogError) return { type: 'unread', kind: error.kind, message: error.message };
  return error instanceof UnreadableEventError ? { type: 'unreadable', message: error.message } : null;
}

async function foldPart(port: MessagePort, { views: path, stretchPositions, ...scan }: FoldPart): Promise<void> {
  const tell = (news: FoldNews): void => port.postMessage(news);
  const ask = async (news: FoldNews): Promise<FoldWord> => {
    tell(news);
    const [word] = await once(port, 'message');
    return word;
  };
  const [accounts, catalog, sums] = [new AccountViews(), new CatalogView(), new EventSums()];
  const views: readonly StoredView[] = [...accounts.all, catalog, accounts.setAside];
  if (path !== null) await restore(path, accounts, views);
  const onTaken = (recorded: EventWithoutId, event: Parameters<EventSums['add']>[1]) => sums.add(recorded, event);
  const fold = new EventFold({ accounts, catalog, isLedger: true, onTaken });
  // A key is that account's to which the log has given it first, whoever folds that.
  const onEvent = (event: EventWithoutId): void => {
    const id = accountOfStream(event.stream);
    if (id !== null) accounts.keys.note(id, event);
  };
  let folded = 0;
  const tellFolded = (): void => {
    tell({ type: 'folded', events: folded });
    folded = 0;
  };
  let isFirst = path === null;
  const reach = async (position: number): Promise<void> => {
    if ((await ask({ type: 'at', position })) === 'go on') return;
    const batchesFor = isFirst ? firstBatchesOf : batchesOf;
    isFirst = false;
    for (const rows of changesIn(views)) await ask({ type: 'rows', batches: batchesFor(rows) });
    await ask({ type: 'handed over' });
  };
  let end = Math.min(scan.after + stretchPositions, scan.upTo);
  for (const event of scanWithoutIds(scan, { types: KEY_EVENTS, onEvent })) {
    for (; event.position > end; end = Math.min(end + stretchPositions, scan.upTo)) await reach(end);
    // What is of no account each part has read.
    if (scan.part > 0 && accountOfStream(event.stream) === null) continue;
    fold.take(event);
    if (++folded === EVENTS_A_WORD) tellFolded();
  }
  tellFolded();
  for (; end < scan.upTo; end = Math.min(end + stretchPositions, scan.upTo)) await reach(end);
  await reach(end);
  tell({ type: 'end', sums: sums.asPart });
  port.close();
}

/** @throws Error where the file has none to go on with */
async function restore(path: string, accounts: AccountViews, views: readonly StoredView[]): Promise<void> {
  // Looked at before there were several to read it.
  const restored = restoreViews(path, views, { source: LOG_SOURCE, isChecked: true });
  if (restored === null) throw new Error(`${path} holds no views that this program could go on with`);
  await accounts.survey();
  restored.rows.endSnapshot();
}

function* changesIn(views: readonly StoredView[]): Generator<ViewRow[]> {
  let rows: ViewRow[] = [];
  for (const view of views) {
    const changes = view.takeChanges();
    for (let next = changes.next(); next.done !== true; next = changes.next()) {
      rows.push(next.value);
      if (rows.length < VIEW_LIMITS.rowsPerPart) continue;
      yield rows;
      rows = [];
    }
  }
  yield rows;
}
