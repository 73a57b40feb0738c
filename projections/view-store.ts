import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import { messageOf } from '../contracts/message-of.ts';
import { lackedDescriptor } from '../contracts/shortage.ts';
import { isBusy, isFull, mayPass } from '../ledger/event-log/sqlite/database-fault.ts';
import { makeForFolderOwner } from '../ledger/folder-owner.ts';
import { markOpen } from './closed-mark.ts';
import { readUpcastFrom } from './known-views.ts';
import { VIEW_LIMITS } from './limits.ts';
import { openRows, RestoredRows } from './restored-rows.ts';
import { olderTablesOf, planIn, type UpcastPlan } from './upcast-views.ts';
import type { StoredView, ViewRow } from './view.ts';
import {
  type Batch,
  checkpointIn,
  checkpointOf,
  checkRows,
  clearing,
  heldTables,
  isStored,
  once,
  prepareFile,
  type StoredCheckpoint,
  writing,
} from './view-file.ts';
import { wasClosedWhole } from './was-closed-whole.ts';

export interface StoreThreadData {
  readonly path: string;
  readonly keepFreeBytes: number | null;
}
/** A part of what one transaction carries out, which ends with the last. */
export type WriteRequest = { readonly batches: readonly Batch[]; readonly isLast: boolean };
/** An end, which says so in the file where that has all that was to be written. */
export type CloseRequest = { readonly close: 'whole' | 'as it is' };
/** Why it is not carried out, and whether all may be written later: nothing of it is. */
export type WriteFault = { readonly message: string; readonly mayPass: boolean; readonly isFull: boolean };
/** Null when it is carried out. */
export type WriteAnswer = WriteFault | null;

/** Nothing of a write is in the file. */
export class ViewsNotWrittenError extends Error {
  override readonly name = 'ViewsNotWrittenError';
  /** The same write can succeed later: the disk was full, or the process out of descriptors. */
  readonly mayPass: boolean;
  /** Once there is room. */
  readonly isFull: boolean;

  constructor({ message, mayPass, isFull }: WriteFault) {
    super(`the views were not written: ${message}`);
    this.mayPass = mayPass;
    this.isFull = isFull;
  }
}

interface ViewStoreOptions {
  readonly path: string;
  readonly views: readonly StoredView[];
  /** False empties the file first: rows that were not restored are not of these views. */
  readonly keep: boolean;
  /** Nothing is written that would leave the disk less: it is as full then. Null, or left out, for whoever may have all. */
  readonly keepFreeBytes?: number | null;
  /** The thread that writes has ended by itself, at most once: nothing is written any more. Not told where `isUnstarted`. */
  readonly onDied: (error: Error) => void;
}

/**
 * Rows and the checkpoint they stand at, always written together. A cache of the log: deleting it costs a replay and
 * changes nothing, so it need not be synced on every write.
 */
export class ViewStore {
  readonly #worker: Worker;
  readonly #exited: Promise<unknown>;
  readonly #options: ViewStoreOptions;
  #underWay: Promise<void> | null = null;
  /** For the answer to one part of it. */
  #waiting: PromiseWithResolvers<void> | null = null;
  #died: Error | null = null;
  #hasAnswered = false;
  #closing: Promise<void> | null = null;

  private constructor(options: ViewStoreOptions) {
    this.#options = options;
    const workerData: StoreThreadData = { path: options.path, keepFreeBytes: options.keepFreeBytes ?? null };
    this.#worker = new Worker(new URL('./view-store-worker.ts', import.meta.url), { workerData });
    this.#exited = new Promise((resolve) => this.#worker.once('exit', resolve));
    this.#worker.on('message', (answer: WriteAnswer) => this.#answered(answer));
    // Also between writes, where nobody waits: without a listener the whole process would end.
    this.#worker.on('error', (error) => this.#end(error));
    this.#worker.on('exit', () => {
      if (this.#closing === null) this.#end(new Error('its thread has ended'));
    });
  }

  /** @throws ViewsNotWrittenError where there is no room, or no descriptor, for it now; Error when the file is no database or is held by another process. */
  static open(options: ViewStoreOptions): ViewStore {
    beginFile(options);
    return new ViewStore(options);
  }

  /** Its thread found no descriptor to start by, or to open the file by: nothing was written, and another store can be opened in the place of this one. */
  get isUnstarted(): boolean {
    return this.#died instanceof ViewsNotWrittenError;
  }

  /** Writes all of it or nothing. One call at a time. @throws ViewsNotWrittenError; Error when the thread has ended. */
  write(rows: readonly ViewRow[], at: StoredCheckpoint): Promise<void> {
    return this.#carryOut(writing(rows, this.#options.views, at));
  }

  /** Removes every row and the checkpoint. @throws as `write`. */
  clear(): Promise<void> {
    return this.#carryOut(clearing(this.#options.views).map((sql) => once(sql)));
  }

  /** After the write under way; whether the file has all then, and nothing of it is doubted. Idempotent. */
  close(how: CloseRequest['close'] = 'as it is'): Promise<void> {
    this.#closing ??= this.#close(how);
    return this.#closing;
  }

  async #carryOut(batches: readonly Batch[]): Promise<void> {
    if (this.#underWay !== null) throw new Error('a write of the view store is under way');
    if (this.#closing !== null) throw new Error('the view store is closed');
    this.#underWay = this.#sendOneByOne(batches).finally(() => {
      this.#underWay = null;
    });
    await this.#underWay;
  }

  /** Each behind the answer to the one before: as one message the rows of all accounts would be in memory three times more. */
  async #sendOneByOne(batches: readonly Batch[]): Promise<void> {
    for (const request of requestsOf(batches)) {
      if (this.#died !== null) throw this.#died;
      this.#waiting = Promise.withResolvers();
      this.#worker.postMessage(request);
      await this.#waiting.promise;
    }
  }

  #answered(answer: WriteAnswer): void {
    const waiting = this.#waiting;
    this.#waiting = null;
    this.#hasAnswered = true;
    if (answer === null) waiting?.resolve();
    else waiting?.reject(new ViewsNotWrittenError(answer));
  }

  #end(cause: unknown): void {
    if (this.#died !== null) return;
    const message = messageOf(cause);
    // One that was opened anew in the place of a file that is gone would have only what changes from then on.
    const isGone = !existsSync(this.#options.path);
    const isUnstarted = !this.#hasAnswered && !isGone && (lackedDescriptor(cause) || mayPass(cause));
    this.#died = isUnstarted
      ? new ViewsNotWrittenError({ message, mayPass: true, isFull: false })
      : new Error(`the views cannot be written any more: ${message}`, { cause });
    this.#waiting?.reject(this.#died);
    this.#waiting = null;
    if (!isUnstarted) this.#options.onDied(this.#died);
  }

  async #close(how: CloseRequest['close']): Promise<void> {
    // Whoever writes is told of its fault.
    await this.#underWay?.catch(() => undefined);
    if (this.#died === null) this.#worker.postMessage({ close: how } satisfies CloseRequest);
    await this.#exited;
  }
}

/** Makes a file ready to be written to. @throws as `ViewStore.open` */
export function beginFile(options: Pick<ViewStoreOptions, 'path' | 'views' | 'keep'>): void {
  try {
    begin(options);
  } catch (error) {
    if (isBusy(error) || !mayPass(error)) throw error;
    throw new ViewsNotWrittenError({ message: messageOf(error), mayPass: true, isFull: isFull(error) });
  }
}

function begin({ path, views, keep }: Pick<ViewStoreOptions, 'path' | 'views' | 'keep'>): void {
  makeForFolderOwner(path);
  const database = new DatabaseSync(path, { timeout: 5_000 });
  try {
    markOpen(database);
    database.exec('PRAGMA journal_mode = WAL');
    prepareFile(database, views);
    if (!keep) for (const sql of clearing(views)) database.exec(sql);
  } finally {
    database.close();
  }
}

function* requestsOf(batches: readonly Batch[]): Generator<WriteRequest> {
  let part: Batch[] = [];
  let room = VIEW_LIMITS.rowsPerPart;
  for (const { statements, rows } of batches)
    for (let from = 0; from < rows.length; ) {
      const taken = rows.slice(from, from + room);
      part.push({ statements, rows: taken });
      from += taken.length;
      room -= taken.length;
      if (room > 0) continue;
      yield { batches: part, isLast: false };
      [part, room] = [[], VIEW_LIMITS.rowsPerPart];
    }
  yield { batches: part, isLast: true };
}

export interface RestoreOptions {
  /** The name of what feeds the views. */
  readonly source: string;
  /** Whether all of its rows can be relied on was asked before; else it is asked here, unless the file was closed whole. */
  readonly isChecked?: boolean;
  /** The file is of an earlier version: its rows are made ones of now as they are read. */
  readonly areOlder?: boolean;
}

/** Views that have their rows from a file. */
interface Restored {
  /** Where the rows stand. */
  readonly at: StoredCheckpoint;
  /** To be closed. Until `endSnapshot` all that is read of them is of one moment. */
  readonly rows: RestoredRows;
}

/**
 * Restores views from the file, as of one moment; null, and nothing is restored, where the file does not hold all of them
 * in their present version (or has never held those that it may lack), fed by that source. A missing file is an empty one;
 * nothing is written. @throws Error when the file is no database, its rows are not of one moment, or one that is read now
 * is not of its form; where it is to be of an earlier version, and nothing can be made of that
 */
export function restoreViews(path: string, views: readonly StoredView[], options: RestoreOptions): Restored | null {
  const database = openReadOnly(path);
  if (database === null) return null;
  let restored: Restored | null = null;
  try {
    // One snapshot, for a gateway may write beside a command that reads.
    database.exec('BEGIN');
    restored =
      options.areOlder === true
        ? restoreOlder(database, planFor(path, database, views), options)
        : restoreFrom(database, { views, isChecked: wasClosedWhole(path), ...options });
    return restored;
  } finally {
    if (restored === null && database.isOpen) database.close();
  }
}

function planFor(path: string, database: DatabaseSync, views: readonly StoredView[]): UpcastPlan {
  const plan = planIn(database, views, readUpcastFrom(path));
  if (plan === null) throw new Error('nothing of now can be made of its rows');
  return plan;
}

/** Looked at before (damaged-rows.ts). */
function restoreOlder(database: DatabaseSync, plan: UpcastPlan, { source }: RestoreOptions): Restored {
  const at = checkpointIn(database);
  if (at?.source !== source) throw new Error(`its rows are fed by another source than ${source}`);
  const rows = new RestoredRows(database, olderTablesOf(plan));
  for (const view of plan.views) view.restore(rows);
  return { at, rows };
}

function restoreFrom(
  database: DatabaseSync,
  { views, source, isChecked }: RestoreOptions & { readonly views: readonly StoredView[] },
): Restored | null {
  const at = checkpointOf(database, views);
  if (at === null || at.source !== source) return null;
  if (isChecked !== true) checkRows(database, heldTables(database, views));
  const rows = new RestoredRows(database);
  for (const view of views) if (isStored(database, view)) view.restore(rows);
  return { at, rows };
}

function openReadOnly(path: string): DatabaseSync | null {
  try {
    return openRows(path);
  } catch (error) {
    if (error instanceof Error && /unable to open/.test(error.message)) return null;
    throw error;
  }
}
