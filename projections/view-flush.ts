import { setImmediate as nextTurn } from 'node:timers/promises';
import { LIMITS } from '../contracts/limits.ts';
import { catchUpPauseMs, VIEW_LIMITS } from './limits.ts';
import { UnwrittenRows } from './unwritten-rows.ts';
import type { StoredView, ViewRow } from './view.ts';
import type { StoredCheckpoint } from './view-file.ts';
import { type ViewStore, ViewsNotWrittenError } from './view-store.ts';

interface ViewFlushOptions {
  readonly views: readonly StoredView[];
  /** What the views hold now; null when they hold nothing yet. */
  readonly checkpoint: () => StoredCheckpoint | null;
  /** Whether the views are still to catch up with their source: most of what changes then changes again. */
  readonly isCatchingUp: () => boolean;
  /** The file could not be written. Nothing is written after it. */
  readonly onFailed: (error: Error) => void;
  /** It cannot be written for the moment, told once; what it lacks is kept, and written when it can be. */
  readonly onPostponed: (error: Error) => void;
  /** What it lacked is written. */
  readonly onWrittenAgain: () => void;
}

/**
 * Writes the views' changes to their file, a while after the first of them, and longer after a write of many, one write at
 * a time. A full disk, or a process out of descriptors, only postpones that, for as long as it lasts.
 */
export class ViewFlush {
  readonly #options: ViewFlushOptions;
  /** Null before `writeTo`. */
  #open: (() => ViewStore) | null = null;
  /** Null where it cannot be opened for the moment. */
  #store: ViewStore | null = null;
  #timer: NodeJS.Timeout | null = null;
  /** When it is over, by `performance.now()`. */
  #dueMs = 0;
  #flushing: Promise<void> | null = null;
  #requested = false;
  #isOver = false;
  #isSuspended = true;
  readonly #unwritten = new UnwrittenRows();
  /** Of the last write, and how long it took, with the taking of its rows. */
  #rows = 0;
  #tookMs = 0;
  /** Null where the last write went well. */
  #postponedBy: Error | null = null;
  /** Who waits for a write that begins after now. */
  readonly #waiting: PromiseWithResolvers<void>[] = [];

  constructor(options: ViewFlushOptions) {
    this.#options = options;
  }

  /** From here on, until `suspend`. What keeps a file from being opened for now only postpones that, too. @throws what else `open` throws */
  writeTo(open: () => ViewStore): void {
    this.#open = open;
    this.#store = null;
    this.#isSuspended = false;
    try {
      this.#opened();
    } catch (error) {
      if (!isForNow(error)) throw error;
      this.#postpone(error);
    }
    if (this.#requested || this.#waiting.length > 0) this.request();
  }

  /** Something has changed: rows, the checkpoint, or the time at which the views were current. */
  request(): void {
    this.#requested = true;
    if (this.#isOver || this.#isSuspended || this.#flushing !== null) return;
    const pauseMs = this.#pauseMs();
    const dueMs = performance.now() + pauseMs;
    if (this.#timer !== null) {
      if (this.#dueMs <= dueMs) return;
      clearTimeout(this.#timer);
    }
    this.#dueMs = dueMs;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#flushing = this.#flush()
        .catch((error: unknown) => this.#fail(error))
        .finally(() => {
          this.#flushing = null;
          if (this.#requested) this.request();
        });
    }, pauseMs);
  }

  /** The more a write has, the more of what changes again before the next is written once. */
  #pauseMs(): number {
    if (this.#postponedBy !== null) return VIEW_LIMITS.postponedPauseMs;
    if (this.#options.isCatchingUp()) return catchUpPauseMs(this.#tookMs);
    const { flushPausePerRowMs, flushPauseMaxMs } = VIEW_LIMITS;
    return Math.min(Math.max(LIMITS.viewFlushMs, this.#rows * flushPausePerRowMs), flushPauseMaxMs);
  }

  /** Resolves when what the views hold now is in the file. Rejects where it will not be any more. */
  written(): Promise<void> {
    const waiting = Promise.withResolvers<void>();
    if (this.#isOver) waiting.reject(notWritten());
    else this.#waiting.push(waiting);
    this.request();
    return waiting.promise;
  }

  /** Empties the file instead, after the write under way. What the views hold then is written when it changes again. */
  async clear(): Promise<void> {
    await this.#quiesce();
    await this.#opened().clear();
    this.#unwritten.clear();
    if (this.#waiting.length > 0) this.request();
  }

  /** Writes what there is, and from then on nothing until `writeTo`: what changes meanwhile waits. @throws Error where it cannot */
  async suspend(): Promise<void> {
    this.#isSuspended = true;
    await this.#quiesce();
    if (this.#isOver) throw notWritten();
    await this.#flush();
    if (this.#postponedBy !== null) throw this.#postponedBy;
  }

  /** Writes what is left, where the views are still to be trusted, and the disk lets it; also for whoever has waited for that, and waits again. */
  async close({ write }: { readonly write: boolean }): Promise<void> {
    this.#isSuspended = true;
    await this.#quiesce();
    try {
      if (write && !this.#isOver) await this.#flushForAll();
    } finally {
      this.#isOver = true;
      this.#giveUp();
    }
  }

  async #flushForAll(): Promise<void> {
    for (let isLeft = true; isLeft; isLeft = this.#waiting.length > 0 && this.#postponedBy === null) {
      await this.#flush();
      await nextTurn();
    }
  }

  async #quiesce(): Promise<void> {
    this.#requested = false;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    await this.#flushing;
    // Where that was postponed.
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  /** With the checkpoint of its beginning: rows may be newer (the fold ignores what they have), never older. */
  async #flush(): Promise<void> {
    this.#requested = false;
    const waiting = this.#waiting.splice(0);
    try {
      await this.#writeChanges();
      for (const { resolve } of waiting) resolve();
    } catch (error) {
      if (isForNow(error)) {
        this.#waiting.unshift(...waiting);
        this.#postpone(error);
        return;
      }
      for (const { reject } of waiting) reject(error);
      throw error;
    }
    if (this.#postponedBy === null) return;
    this.#postponedBy = null;
    this.#options.onWrittenAgain();
  }

  #postpone(error: Error): void {
    this.#requested = true;
    const isNews = this.#postponedBy === null;
    this.#postponedBy = error;
    if (isNews) this.#options.onPostponed(error);
  }

  async #writeChanges(): Promise<void> {
    const at = this.#options.checkpoint();
    if (at === null) return;
    const store = this.#opened();
    const fromMs = performance.now();
    const rows: ViewRow[] = [];
    for (const view of this.#options.views) {
      const changes = view.takeChanges();
      for (let next = changes.next(); next.done !== true; next = changes.next()) {
        rows.push(next.value);
        if (rows.length % VIEW_LIMITS.rowsPerTurn === 0) await nextTurn();
      }
    }
    try {
      await store.write(this.#unwritten.with(rows), at);
    } catch (error) {
      this.#unwritten.add(rows);
      throw error;
    }
    this.#rows = rows.length;
    this.#tookMs = performance.now() - fromMs;
    this.#unwritten.clear();
  }

  #opened(): ViewStore {
    if (this.#open === null) throw new Error('there is no file to write to');
    if (this.#store?.isUnstarted === true) this.#store = null;
    this.#store ??= this.#open();
    return this.#store;
  }

  #fail(error: unknown): void {
    this.#isOver = true;
    this.#giveUp();
    this.#options.onFailed(error instanceof Error ? error : new Error(String(error)));
  }

  #giveUp(): void {
    for (const { reject } of this.#waiting.splice(0)) reject(notWritten());
  }
}

const isForNow = (error: unknown): error is ViewsNotWrittenError =>
  error instanceof ViewsNotWrittenError && error.mayPass;

const notWritten = (): Error => new Error('the views are not written any more');
