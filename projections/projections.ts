import { setImmediate as nextTurn } from 'node:timers/promises';
import { type EventLog, isLogAway, type RecordedEvent, type Subscription } from '../contracts/event-log.ts';
import type { LedgerEvent } from '../contracts/events.ts';
import type { AccountId, Position } from '../contracts/ids.ts';
import { AccountViews } from './account-views.ts';
import { CatalogView } from './catalog-view.ts';
import { DamagedViewsError, readUndamaged, setDamagedViewsAside, whyDamaged } from './damaged-views.ts';
import { EventFold } from './event-fold.ts';
import { FoldWaiters } from './fold-waiters.ts';
import { FoldedPositions } from './folded-positions.ts';
import { VIEW_LIMITS } from './limits.ts';
import { LogViewSource } from './log-view-source.ts';
import type { RestoredRows } from './restored-rows.ts';
import { TakeBack } from './take-back.ts';
import type { StoredView } from './view.ts';
import { ViewAge } from './view-age.ts';
import type { StoredCheckpoint } from './view-file.ts';
import { ViewFlush } from './view-flush.ts';
import { type SourceBatch, SourceBehindError, SourceMissingError, type ViewSource } from './view-source.ts';
import { restoreViews, ViewStore } from './view-store.ts';

export interface ProjectionsOptions {
  readonly log: EventLog;
  /** Where the events come from, where that is not the log itself. */
  readonly source?: ViewSource;
  /** The views' file; null for a reader that starts from nothing. */
  readonly path: string | null;
  /** False for a reader that leaves the file alone (a command beside a running gateway). */
  readonly persist: boolean;
  /** Wall-clock milliseconds since 1970, the same that `ageMs` is asked with; Date.now by default. */
  readonly clock?: () => number;
  /** The views' file cannot be read, and all is read from the source; where it is written to, it was set aside, and where. */
  readonly onDamaged?: (why: string, aside: string | null) => void;
  /** The file cannot be written for the moment (a full disk, no descriptor): told once, until `onWrittenAgain`. */
  readonly onUnwritten?: (error: Error) => void;
  readonly onWrittenAgain?: () => void;
  /** Each event that says which ledger this is: no view holds it. */
  readonly onLedgerEvent?: (event: LedgerEvent) => void;
}

/** Told how the views fare, whichever turn of it comes, from what they have come to when they began to be followed. */
export interface ViewsFollower {
  /** The projections stand still from here on: an event could not be folded, or the views not be written. */
  readonly onStopped: (error: Error) => void;
  /** The views have caught up with their source, and follow it (again, where it was lost). */
  readonly onLive?: (again: { readonly wasLost: boolean }) => void;
  /**
   * Each time the source is lost from sight, which is news, or is looked for in vain; it is looked for on and on. The same
   * where it is in sight, and behind the ledger or not to be compared with it: `lost` tells which.
   */
  readonly onDropped?: (error: Error, isNews: boolean) => void;
}

/**
 * What keeps views from being live: their source is out of sight; nobody has made it yet; it is there and lacks what the ledger has; or it is there,
 * and the log does not answer that it is compared with.
 */
export type ViewsLost = 'source' | 'missing' | 'behind' | 'log';

export interface UnwrittenViews {
  /** By `performance.now()`. */
  readonly sinceMs: number;
  readonly why: string;
}

/**
 * All views, fed by one source. Start-up needs no source: it restores the rows that the file has, then catches up from
 * their checkpoint, whenever that can be.
 *
 *   restored ──▶ catching up ──▶ live ⇄ dropped          usable from the first of `restored` and `live` on; how old
 *                                  └──▶ stopped          the views may be meanwhile, `ageMs` tells
 */
export class Projections {
  readonly accounts = new AccountViews();
  readonly catalog = new CatalogView();
  readonly #options: ProjectionsOptions;
  readonly #source: ViewSource;
  readonly #clock: () => number;
  readonly #views: readonly StoredView[] = [...this.accounts.all, this.catalog, this.accounts.setAside];
  readonly #folded = new FoldedPositions();
  readonly #waiters = new FoldWaiters();
  readonly #age = new ViewAge();
  readonly #firstCaughtUp = Promise.withResolvers<void>();
  readonly #takeBack: TakeBack;
  readonly #fold: EventFold;
  readonly #followers: ViewsFollower[] = [];
  #store: ViewStore | null = null;
  /** What of the file nobody has asked for yet; null where nothing was restored. */
  #rows: RestoredRows | null = null;
  #flush: ViewFlush | null = null;
  #marks: NodeJS.Timeout | null = null;
  #reading: Subscription | null = null;
  #checkpoint: (() => string) | null = null;
  #caughtUp = false;
  #restoredMarkMs: number | null = null;
  #unwritten: UnwrittenViews | null = null;
  #stopped: Error | null = null;
  /** Why the source is out of sight, or behind; null before it has been, and while it is not. */
  #lost: Error | null = null;
  #closing: Promise<void> | null = null;

  private constructor(options: ProjectionsOptions) {
    this.#options = options;
    this.#source = options.source ?? new LogViewSource(options.log);
    this.#clock = options.clock ?? Date.now;
    // A stop before the end of catch-up is told to whoever waits; nobody has to wait.
    this.#firstCaughtUp.promise.catch(() => undefined);
    this.#takeBack = new TakeBack(options.log, this.accounts);
    this.#fold = new EventFold({
      accounts: this.accounts,
      catalog: this.catalog,
      isLedger: this.#source.isLedger,
      onLedgerEvent: options.onLedgerEvent,
    });
    // Also by what is met elsewhere than in the source.
    this.accounts.setAside.onChanged(() => this.#flush?.request());
  }

  /** Needs nothing but the file, which is made anew where it is none of views. @throws Error when it cannot be opened */
  static async start(options: ProjectionsOptions): Promise<Projections> {
    const projections = new Projections(options);
    projections.#start();
    return projections;
  }

  /** Whether the source is in sight and everything in it is in the views. */
  get isLive(): boolean {
    return this.#age.isLive;
  }

  /** Why they are not live, as far as they have met it; null where they are, or have met nothing yet. */
  get lost(): ViewsLost | null {
    if (this.#lost === null) return null;
    if (this.#lost instanceof SourceBehindError) return 'behind';
    if (this.#lost instanceof SourceMissingError) return 'missing';
    return !this.#source.isLedger && isLogAway(this.#lost) ? 'log' : 'source';
  }

  /**
   * How old the views may be: 0 while they follow their source; otherwise the time since they last did, in this process
   * or, where they are only restored, in the one before. Null when they never held everything: they are not usable.
   */
  ageMs(nowMs: number): number | null {
    return this.#age.ageMs(nowMs);
  }

  /** When the file's views were last current, by the clock of then: it has been so late. Null: there were none. */
  get restoredMarkMs(): number | null {
    return this.#restoredMarkMs;
  }

  /** That the file cannot be written for the moment; null where it can. */
  get unwritten(): UnwrittenViews | null {
    return this.#unwritten;
  }

  /** What they have come to by now is told at once. */
  follow(follower: ViewsFollower): void {
    this.#followers.push(follower);
    if (this.#stopped !== null) follower.onStopped(this.#stopped);
    else if (this.#lost !== null) follower.onDropped?.(this.#lost, true);
    else if (this.isLive) follower.onLive?.({ wasLost: false });
  }

  /** Where the source would be gone on with: text of the source's own; null before anything was folded. */
  get checkpoint(): { readonly source: string; readonly text: string } | null {
    return this.#checkpoint === null ? null : { source: this.#source.name, text: this.#checkpoint() };
  }

  /** Also accounts set aside by an earlier run are read again by then. @throws Error when stopped or closed before */
  whenCaughtUp(): Promise<void> {
    return this.#firstCaughtUp.promise;
  }

  /** An account may be read again that an event of it has set aside. @throws EventLogError where the log cannot be read */
  readAgain(accountId: AccountId): Promise<void> {
    return this.#takeBack.some([accountId]);
  }

  /**
   * Resolves when the event at a position has come in by the source. @throws Error when the projections stop before.
   * Where the source is Kafka's, an event that came long ago may only be known by later ones in every partition.
   */
  whenAt(at: Position): Promise<void> {
    return this.#waiters.when(() => this.#folded.has(at));
  }

  /** When what the views hold now is in their file. @throws Error where it will not be, or there is none to write */
  whenWritten(): Promise<void> {
    return this.#flush?.written() ?? Promise.reject(new Error('these views are not written'));
  }

  /** Writes what the file lacks and lets go of source and file. Idempotent. @throws Error when it cannot be written. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#reading?.close();
    await this.#takeBack.close();
    this.#stopMarks();
    try {
      await this.#flush?.close({ write: this.#stopped === null });
    } finally {
      this.#rows?.close();
      await this.#store?.close();
      const closed = this.#stopped ?? new Error('the projections are closed');
      this.#firstCaughtUp.reject(closed);
      this.#waiters.end(closed);
    }
  }

  #start(): void {
    const { path, persist } = this.#options;
    const restored = path === null ? null : this.#restore(path);
    if (restored !== null) this.#takeRestored(restored);
    if (persist && path !== null) this.#openStore({ path, keep: restored !== null });
    this.#reading = this.#source.open({
      from: restored?.checkpoint ?? null,
      isFolded: (event) => this.#fold.isFolded(event),
      onBatch: (batch) => this.#takeBatch(batch),
      onForeign: () => this.#startOver(),
      onCaughtUp: () => this.#sourceLive(),
      onDropped: (error) => this.#sourceDropped(error),
      onStopped: (error) => this.#stop(error),
    });
  }

  /** Null where the file has no views to go on with. */
  #restore(path: string): StoredCheckpoint | null {
    const found = readUndamaged(path, () => this.#readBack(path));
    if (found.damage === null) return found.read;
    // Some rows may have been taken before the one that cannot be read.
    this.#forgetRows();
    this.#options.onDamaged?.(found.damage, this.#options.persist ? setDamagedViewsAside(path) : null);
    return null;
  }

  #readBack(path: string): StoredCheckpoint | null {
    const restored = restoreViews(path, this.#views, this.#source.name);
    if (restored === null) return null;
    this.#rows = restored.rows;
    if (this.#options.persist) {
      this.accounts.survey();
      this.#rows.endSnapshot();
    }
    this.#rows.onFailed((error) => this.#rowsFailed(path, error));
    return restored.at;
  }

  /** Rows that were asked for, and cannot be read: nobody knows what else of the file is wrong. */
  #rowsFailed(path: string, error: unknown): Error {
    const failed = this.#whyFailed(path, error);
    if (this.#options.persist) this.#stop(failed);
    return failed;
  }

  #whyFailed(path: string, error: unknown): Error {
    try {
      const damage = whyDamaged(path, error);
      return new DamagedViewsError(path, damage, { aside: this.#options.persist ? setDamagedViewsAside(path) : null });
    } catch (other) {
      return other instanceof Error ? other : new Error(String(other));
    }
  }

  #forgetRows(): void {
    this.#rows?.close();
    this.#rows = null;
    for (const view of this.#views) view.clear();
    this.accounts.keys.clear();
  }

  #takeRestored({ checkpoint, currentAtMs }: StoredCheckpoint): void {
    this.#checkpoint = () => checkpoint;
    this.#folded.reset(this.#source.throughOf(checkpoint));
    this.#restoredMarkMs = currentAtMs;
    // By a clock that is behind they would be young until it is there.
    this.#age.restored(currentAtMs === null ? null : Math.min(currentAtMs, this.#clock()));
  }

  #openStore({ path, keep }: { readonly path: string; readonly keep: boolean }): void {
    this.#store = ViewStore.open({ path, views: this.#views, keep, onDied: (error) => this.#stop(error) });
    this.#flush = new ViewFlush({
      store: this.#store,
      views: this.#views,
      checkpoint: () => this.#storedCheckpoint(),
      isCatchingUp: () => !this.#caughtUp,
      onFailed: (error) => this.#stop(error),
      onPostponed: (error) => {
        this.#unwritten = { sinceMs: performance.now(), why: error.message };
        this.#options.onUnwritten?.(error);
      },
      onWrittenAgain: () => {
        this.#unwritten = null;
        this.#options.onWrittenAgain?.();
      },
    });
  }

  #storedCheckpoint(): StoredCheckpoint | null {
    if (this.#checkpoint === null) return null;
    const currentAtMs = this.#age.currentAtMs(this.#clock());
    return { source: this.#source.name, checkpoint: this.#checkpoint(), currentAtMs };
  }

  /** The restored rows are of another log: nothing of them may stay, in memory or in the file. */
  async #startOver(): Promise<void> {
    // Before what nobody has read yet goes: views that never held everything are asked nothing.
    this.#age.restored(null);
    this.#forgetRows();
    await this.#flush?.clear();
    // And what was folded meanwhile: the file has none of it.
    this.#forgetRows();
    this.#checkpoint = null;
    this.#folded.reset(null);
    this.#restoredMarkMs = null;
  }

  async #takeBatch({ events, through, checkpoint }: SourceBatch): Promise<void> {
    // What this process has appended itself is folded by whoever appended it, in this turn of the event loop.
    if (this.#caughtUp) await nextTurn();
    await this.#foldInTurns(events);
    this.#checkpoint = checkpoint;
    this.#folded.add(events, through);
    this.#waiters.wake();
    this.#flush?.request();
  }

  /** So that folding neither delays requests nor the reading of what comes next: a subscriber that lags is dropped by some. */
  async #foldInTurns(events: readonly RecordedEvent[]): Promise<void> {
    for (const [index, recorded] of events.entries()) {
      if (index > 0 && index % VIEW_LIMITS.foldsPerTurn === 0) await nextTurn();
      if (this.#stopped !== null) throw this.#stopped;
      this.#fold.take(recorded);
    }
  }

  #sourceLive(): void {
    if (this.#stopped !== null || this.#closing !== null) return;
    const isFirst = !this.#caughtUp;
    this.#caughtUp = true;
    const isNews = !this.isLive;
    const wasLost = this.#lost !== null;
    this.#lost = null;
    this.#age.caughtUp();
    if (isFirst) this.#takeAllBack();
    this.#startMarks();
    if (isNews) for (const { onLive } of this.#followers) onLive?.({ wasLost });
  }

  /** The ledger is known to be the one that the views are of, and a newer program may read what an earlier one could not. */
  #takeAllBack(): void {
    this.#takeBack.all().then(
      () => this.#firstCaughtUp.resolve(),
      (error: Error) => this.#stop(error),
    );
  }

  #sourceDropped(error: Error): void {
    const before = this.lost;
    this.#lost = error;
    const isNews = before !== this.lost;
    this.#age.dropped(this.#clock());
    this.#stopMarks();
    if (this.#caughtUp) this.#flush?.request();
    for (const { onDropped } of this.#followers) onDropped?.(error, isNews);
  }

  /** While live, the file is told so now and then, also when nothing happens: a restart then knows how old it is. */
  #startMarks(): void {
    this.#stopMarks();
    this.#flush?.request();
    this.#marks = setTimeout(() => this.#startMarks(), VIEW_LIMITS.currentMarkMs);
  }

  #stopMarks(): void {
    if (this.#marks !== null) clearTimeout(this.#marks);
    this.#marks = null;
  }

  #stop(error: Error): void {
    if (this.#stopped !== null) return;
    this.#stopped = error;
    this.#age.dropped(this.#clock());
    this.#stopMarks();
    this.#waiters.end(error);
    this.#firstCaughtUp.reject(error);
    for (const { onStopped } of this.#followers) onStopped(error);
  }
}
