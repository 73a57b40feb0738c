import { freeBytesAt, mebibytes } from '../ledger/room-on-disk.ts';
import { beginAnew } from './begin-anew.ts';
import { DamagedViewsError, setDamagedViewsAside, whyDamaged } from './damaged-views.ts';
import { VIEW_LIMITS } from './limits.ts';
import type { RestoredRows } from './restored-rows.ts';
import type { StoredView } from './view.ts';
import type { StoredCheckpoint } from './view-file.ts';
import { ViewFlush } from './view-flush.ts';
import { type CloseRequest, type RestoreOptions, restoreViews, ViewStore, ViewsNotWrittenError } from './view-store.ts';

export interface UnwrittenViews {
  /** By `performance.now()`. */
  readonly sinceMs: number;
  readonly why: string;
}

/** Views of an earlier version that are served from as they are, for want of room for others. */
export interface OlderViews {
  /**
   * Makes views of now of them as soon as there is room, however long that takes; they are put in their place by what `goOver` is
   * given, in one step. Ends with the signal. @throws nothing
   */
  readonly makeLater: (goOver: (move: () => void) => void, signal: AbortSignal) => Promise<void>;
}

interface ViewDiskOptions extends RestoreOptions {
  readonly path: string;
  readonly views: readonly StoredView[];
  /** False leaves the file alone. */
  readonly persist: boolean;
  /** As `ViewStore` takes it. */
  readonly keepFreeBytes: number | null;
  /** What the views hold now; null when they hold nothing yet. */
  readonly checkpoint: () => StoredCheckpoint | null;
  /** @throws Error where a checkpoint is none that the source gave */
  readonly assertRead: (checkpoint: string) => void;
  readonly isCatchingUp: () => boolean;
  /** Forgets what was restored, of which a row cannot be read. */
  readonly onForget: () => void;
  /** The file cannot be read as views; where it is written to, it was set aside, and where. */
  readonly onDamaged: (why: string, aside: string | null) => void;
  /** Nothing can be written any more, or a row that was asked for cannot be read. */
  readonly onFailed: (error: Error) => void;
  readonly onUnwritten: (error: Error) => void;
  readonly onWrittenAgain: () => void;
}

/** The file of views that run: what of it is restored, and what is written to it. */
export class ViewDisk {
  readonly #options: ViewDiskOptions;
  #store: ViewStore | null = null;
  #flush: ViewFlush | null = null;
  /** What of the file nobody has asked for yet; null where nothing was restored. */
  #rows: RestoredRows | null = null;
  #unwritten: UnwrittenViews | null = null;
  /** Of rows of an earlier version. */
  #making: { readonly ending: AbortController; readonly ended: Promise<void> } | null = null;

  constructor(options: ViewDiskOptions) {
    this.#options = options;
  }

  get path(): string {
    return this.#options.path;
  }

  /** That the file cannot be written for the moment; null where it can. */
  get unwritten(): UnwrittenViews | null {
    return this.#unwritten;
  }

  /**
   * Null where the file has no views to go on with. `survey` is for what is looked at in all rows, of one moment; both leave others their turns.
   * @param older where its views are of an earlier version: nothing is written to them, but to those that are made of them, which come in their place
   */
  async restore(survey: () => Promise<void>, older: OlderViews | null = null): Promise<StoredCheckpoint | null> {
    const { path, persist, onForget, onDamaged } = this.#options;
    try {
      const at = this.#take(older !== null);
      if (at !== null && persist) {
        await survey();
        this.#rows?.endSnapshot();
      }
      this.#rows?.onFailed((error) => this.#rowsFailed(error));
      if (older !== null) this.#make(older);
      return at;
    } catch (error) {
      const damage = whyDamaged(path, error);
      // Some rows may have been taken before the one that cannot be read.
      onForget();
      onDamaged(damage, persist ? beginAnew(path, () => setDamagedViewsAside(path)) : null);
      return null;
    }
  }

  /** The same of a file that is known to have them. @throws Error where it has not */
  async restoreKnown(survey: () => Promise<void>): Promise<StoredCheckpoint> {
    const at = this.#take(false);
    if (at === null) throw new Error(`${this.#options.path} holds no views that this program could go on with`);
    await survey();
    this.#rows?.endSnapshot();
    this.#rows?.onFailed((error) => this.#rowsFailed(error));
    return at;
  }

  /** From here on what changes is written. @param keep false empties the file first */
  open(keep: boolean): void {
    if (!this.#options.persist) return;
    this.#store = null;
    this.#flush ??= this.#newFlush();
    this.#flush.writeTo(() => {
      this.#store = this.#openStore(keep);
      return this.#store;
    });
  }

  request(): void {
    this.#flush?.request();
  }

  written(): Promise<void> {
    return this.#flush?.written() ?? Promise.reject(new Error('these views are not written'));
  }

  async clear(): Promise<void> {
    await this.#flush?.clear();
  }

  /** Nothing has the file open for writing when it resolves, and it has all; `open` goes on. @throws Error where it lacks something */
  async suspend(): Promise<void> {
    let has: CloseRequest['close'] = 'as it is';
    try {
      await this.#flush?.suspend();
      has = 'whole';
    } finally {
      await this.#store?.close(has);
    }
  }

  closeRows(): void {
    this.#rows?.close();
    this.#rows = null;
  }

  /**
   * What another disk has restored is this one's from here on: `move` puts its file in the place of this one's, and nothing
   * of either is open meanwhile. @throws what `move` throws; ViewsNotWrittenError where the disk has no room to open either again; then all is as it was
   */
  moveFrom(other: ViewDisk, move: () => void): void {
    const { path, onFailed } = this.#options;
    assertRoomToSwitch(path);
    const [own, rows] = [this.#rows, other.#rows];
    own?.pause();
    rows?.pause();
    try {
      move();
    } catch (error) {
      own?.reopen(path);
      throw error;
    }
    own?.close();
    other.#rows = null;
    this.#rows = rows;
    try {
      rows?.reopen(path);
      rows?.onFailed((error) => this.#rowsFailed(error));
    } catch (error) {
      onFailed(error instanceof Error ? error : new Error(String(error)));
    }
  }

  async close({ write }: { readonly write: boolean }): Promise<void> {
    let has: CloseRequest['close'] = 'as it is';
    this.#making?.ending.abort();
    await this.#making?.ended;
    try {
      await this.#flush?.close({ write });
      if (write) has = 'whole';
    } finally {
      this.#rows?.close();
      await this.#store?.close(has);
    }
  }

  #take(areOlder: boolean): StoredCheckpoint | null {
    const { path, views } = this.#options;
    const restored = restoreViews(path, views, { ...this.#options, areOlder });
    if (restored === null) return null;
    this.#rows = restored.rows;
    this.#options.assertRead(restored.at.checkpoint);
    return restored.at;
  }

  #newFlush(): ViewFlush {
    const { views, checkpoint, isCatchingUp, onFailed, onUnwritten, onWrittenAgain } = this.#options;
    return new ViewFlush({
      ...{ views, checkpoint, isCatchingUp, onFailed },
      onPostponed: (error) => {
        this.#unwritten = { sinceMs: performance.now(), why: error.message };
        onUnwritten(error);
      },
      onWrittenAgain: () => {
        this.#unwritten = null;
        onWrittenAgain();
      },
    });
  }

  #make({ makeLater }: OlderViews): void {
    const ending = new AbortController();
    this.#making = { ending, ended: makeLater((move) => this.#goOver(move), ending.signal) };
  }

  /** What was written meanwhile is nothing: what has changed since they were read is written next. @throws as `moveFrom`; then all is as it was */
  #goOver(move: () => void): void {
    const { path, onFailed } = this.#options;
    const rows = this.#rows;
    if (rows?.areOlder !== true) throw new Error(`${path} is not read as views of an earlier version any more`);
    assertRoomToSwitch(path);
    rows.pause();
    try {
      move();
    } catch (error) {
      rows.reopen(path);
      throw error;
    }
    try {
      rows.reopenMade(path);
    } catch (error) {
      onFailed(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #openStore(keep: boolean): ViewStore {
    if (this.#rows?.areOlder === true)
      throw new ViewsNotWrittenError({ message: OF_EARLIER_VERSION, mayPass: true, isFull: true });
    const { path, views, keepFreeBytes, onFailed } = this.#options;
    return ViewStore.open({ path, views, keep, keepFreeBytes, onDied: onFailed });
  }

  /** Rows that were asked for, and cannot be read: nobody knows what else of the file is wrong. */
  #rowsFailed(error: unknown): Error {
    const failed = this.#whyFailed(error);
    if (this.#options.persist) this.#options.onFailed(failed);
    return failed;
  }

  #whyFailed(error: unknown): Error {
    const { path, persist } = this.#options;
    try {
      const damage = whyDamaged(path, error);
      return new DamagedViewsError(path, damage, { aside: persist ? setDamagedViewsAside(path) : null });
    } catch (other) {
      return other instanceof Error ? other : new Error(String(other));
    }
  }
}

const OF_EARLIER_VERSION = 'they are of an earlier version, and there is no room to make ones of this one of them';

/** Rows that cannot be read, for want of room beside their file, would end the views that serve. */
function assertRoomToSwitch(path: string): void {
  const free = freeBytesAt(path);
  if (free >= VIEW_LIMITS.roomToSwitchBytes) return;
  const message = `${mebibytes(free)} are free, and a switch has to have ${mebibytes(VIEW_LIMITS.roomToSwitchBytes)}`;
  throw new ViewsNotWrittenError({ message, mayPass: true, isFull: true });
}
