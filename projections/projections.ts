import { setImmediate as nextTurn } from 'node:timers/promises';
import type { RecordedEvent, Subscription } from '../contracts/event-log.ts';
import { type AccountId, type Position, revision } from '../contracts/ids.ts';
import { AccountViews } from './account-views.ts';
import { CatalogView } from './catalog-view.ts';
import { CurrentMarks } from './current-marks.ts';
import { EventFold } from './event-fold.ts';
import { FoldRate } from './fold-rate.ts';
import { FoldWaiters } from './fold-waiters.ts';
import { FoldedPositions } from './folded-positions.ts';
import { VIEW_LIMITS } from './limits.ts';
import type { FileHas, ProjectionsOptions, ViewsFollower } from './projections-options.ts';
import { LogViewSource } from './sources/log-view-source.ts';
import { lostBy, type SourceBatch, type ViewSource, type ViewsLost } from './sources/view-source.ts';
import { TakeBack } from './take-back.ts';
import type { StoredView } from './view.ts';
import { ViewAge } from './view-age.ts';
import { type UnwrittenViews, ViewDisk } from './view-disk.ts';
import type { StoredCheckpoint } from './view-file.ts';
import { goOver, type SwitchedSide, type SwitchOptions } from './views-switch.ts';

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
  /**
   * An account's balance comes before its months: in a file it is never the newer of the two. What is decided by it is appended
   * behind it, and has to be folded by both.
   */
  readonly #views: readonly StoredView[] = [...this.accounts.all, this.catalog, this.accounts.setAside];
  readonly #folded = new FoldedPositions();
  readonly #waiters = new FoldWaiters();
  readonly #age = new ViewAge();
  readonly #rate = new FoldRate();
  readonly #restored = Promise.withResolvers<void>();
  readonly #firstCaughtUp = Promise.withResolvers<void>();
  readonly #takeBack: TakeBack;
  readonly #fold: EventFold;
  readonly #followers: ViewsFollower[] = [];
  /** Null for a reader that starts from nothing. */
  readonly #disk: ViewDisk | null;
  readonly #marks = new CurrentMarks(() => this.#disk?.request());
  #reading: Subscription | null = null;
  #checkpoint: (() => string) | null = null;
  /** The last event that came by the source. */
  #at: Position | null = null;
  /** Told of each, once it is folded. */
  #onEvent: (() => void) | null = null;
  #caughtUp = false;
  #restoredMarkMs: number | null = null;
  #stopped: Error | null = null;
  /** Why the source is out of sight, or behind; null before it has been, and while it is not. */
  #lost: Error | null = null;
  #closing: Promise<void> | null = null;
  #underWay: { readonly ending: AbortController; readonly ended: Promise<void> } | null = null;

  private constructor(options: ProjectionsOptions) {
    this.#options = options;
    this.#source = options.source ?? new LogViewSource(options.log);
    this.#clock = options.clock ?? Date.now;
    this.#disk = this.#diskOf(options);
    // A stop before the end of catch-up is told to whoever waits; nobody has to wait.
    this.#firstCaughtUp.promise.catch(() => undefined);
    this.#takeBack = new TakeBack(options.log, this.accounts);
    const { accounts, catalog } = this;
    this.#fold = new EventFold({ ...options, accounts, catalog, isLedger: this.#source.isLedger });
    // Also by what is met elsewhere than in the source.
    this.accounts.setAside.onChanged(() => this.#disk?.request());
  }

  /** Needs nothing but the file, which is made anew where it is none of views. @throws Error when it cannot be opened */
  static async start(options: ProjectionsOptions): Promise<Projections> {
    const projections = new Projections(options);
    if (options.prepare !== undefined) void projections.#whileOpen((ending) => projections.#startPrepared(ending));
    else projections.#start(await projections.#restore(options.isBeside === true ? 'made' : 'any'));
    return projections;
  }

  /** Whether the source is in sight and everything in it is in the views. */
  get isLive(): boolean {
    return this.#age.isLive;
  }

  /** Why they are not live, as far as they have met it; null where they are, or have met nothing yet. */
  get lost(): ViewsLost | null {
    return this.#lost === null ? null : lostBy(this.#lost, this.#source);
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
    return this.#disk?.unwritten ?? null;
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

  /** When what the file has is read, and not at all where they stop, or are closed, before. */
  whenRestored(): Promise<void> {
    return this.#restored.promise;
  }

  /** Also accounts set aside by an earlier run are read again by then. @throws Error when stopped or closed before */
  whenCaughtUp(): Promise<void> {
    return this.#firstCaughtUp.promise;
  }

  /** An account may be read again that an event of it has set aside. @throws EventLogError where the log cannot be read */
  readAgain(accountId: AccountId): Promise<void> {
    return this.#takeBack.some([accountId]);
  }

  /** An account is refused from here on, with the reason, and its events wait in the ledger until it is unparked. */
  park(accountId: AccountId, reason: string): void {
    const { setAside } = this.accounts;
    setAside.park(accountId, revision(this.accounts.foldedUpTo(accountId) + 1), reason);
  }

  /**
   * Resolves when what has waited is read, and the account served again, unless an event of it sets it aside: until then it is refused.
   * `onAway` is told that the log is away, which is waited for. @throws as `readAgain`
   */
  unpark(accountId: AccountId, onAway?: () => void): Promise<void> {
    this.accounts.setAside.unpark(accountId);
    return this.#takeBack.some([accountId], onAway);
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
    return this.#disk?.written() ?? Promise.reject(new Error('these views are not written'));
  }

  /** Writes what the file lacks and lets go of source and file. Idempotent. @throws Error when it cannot be written. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /**
   * Goes over to views of the same log that stand in another file, in one step: those are brought beside these until both have
   * folded the same, and `move` puts their file in the place of this one's. Meanwhile these serve, and are not written. @throws
   * Error where it does not come to that before `signal` is aborted; then all is as it was
   */
  async switchTo(path: string, move: () => void, signal: AbortSignal): Promise<void> {
    if (!this.isLive || this.#closing !== null) throw new Error('the views do not follow the ledger just now');
    if (!this.#source.isLedger) throw new Error('views that are fed from a topic are not switched');
    if (this.#underWay !== null) throw new Error('the views are being switched already');
    return this.#whileOpen((ending) => this.#switchTo({ path, move, signal: AbortSignal.any([signal, ending]) }));
  }

  async #switchTo(options: SwitchOptions): Promise<void> {
    const { log, clock } = this.#options;
    const { path } = options;
    const beside = await Projections.start({ log, path, persist: true, isBeside: true, ...(clock && { clock }) });
    try {
      await goOver(this.#side(), beside.#side(), options);
      this.#takeAllBack();
    } finally {
      await beside.close();
    }
  }

  #side(): SwitchedSide {
    const { accounts, catalog } = this;
    return {
      ...{ accounts, catalog, disk: this.#disk },
      at: () => this.#at,
      stopped: () => this.#stopped,
      stop: (error) => this.#stop(error),
      onEvent: (listener) => {
        this.#onEvent = listener;
      },
      reach: async () => {
        await this.whenCaughtUp();
        const head = await this.#options.log.headPosition();
        if (head !== null) await this.whenAt(head);
      },
    };
  }

  async #close(): Promise<void> {
    this.#underWay?.ending.abort();
    await this.#underWay?.ended;
    await this.#reading?.close();
    await this.#takeBack.close();
    this.#marks.stop();
    try {
      await this.#disk?.close({ write: this.#stopped === null });
    } finally {
      const closed = this.#stopped ?? new Error('the projections are closed');
      this.#firstCaughtUp.reject(closed);
      this.#waiters.end(closed);
    }
  }

  async #restore(has: FileHas): Promise<StoredCheckpoint | null> {
    if (this.#disk === null) return null;
    const survey = () => this.accounts.survey();
    return has === 'made' ? this.#disk.restoreKnown(survey) : this.#disk.restore(survey, has === 'any' ? null : has);
  }

  /** The end breaks it off, and waits for it. */
  #whileOpen(work: (ending: AbortSignal) => Promise<void>): Promise<void> {
    const ending = new AbortController();
    const ended = work(ending.signal).finally(() => {
      this.#underWay = null;
    });
    this.#underWay = { ending, ended: ended.catch(() => undefined) };
    return ended;
  }

  async #startPrepared(ending: AbortSignal): Promise<void> {
    try {
      const restored = await this.#restore((await this.#options.prepare?.(ending)) ?? 'any');
      if (this.#closing === null) this.#start(restored);
    } catch (error) {
      if (this.#closing === null) this.#stop(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #start(restored: StoredCheckpoint | null): void {
    if (restored !== null) this.#takeRestored(restored);
    for (const { accountId, reason } of this.#options.parked ?? []) this.park(accountId, reason);
    this.#disk?.open(restored !== null);
    this.#restored.resolve();
    this.#reading = this.#source.open({
      from: restored?.checkpoint ?? null,
      isFolded: (event) => this.#fold.isFolded(event),
      onBatch: (batch) => this.#takeBatch(batch),
      onForeign: () => this.#startOver(),
      onMoved: (checkpoint) => this.#goOnFrom(checkpoint),
      onCaughtUp: () => this.#sourceLive(),
      onDropped: (error) => this.#sourceDropped(error),
      onStopped: (error) => this.#stop(error),
    });
  }

  #diskOf(options: ProjectionsOptions): ViewDisk | null {
    const { path, persist, keepFreeBytes = null, isBeside, prepare } = options;
    const { onDamaged, onUnwritten, onWrittenAgain } = options;
    if (path === null) return null;
    return new ViewDisk({
      ...{ path, persist, keepFreeBytes, views: this.#views, source: this.#source.name },
      ...(isBeside === true || prepare !== undefined ? { isChecked: true } : {}),
      checkpoint: () => this.#storedCheckpoint(),
      assertRead: (checkpoint) => this.#source.throughOf(checkpoint),
      isCatchingUp: () => !this.#caughtUp,
      onForget: () => this.#forgetRows(),
      onDamaged: (why, aside) => onDamaged?.(why, aside),
      onFailed: (error) => this.#stop(error),
      onUnwritten: (error) => onUnwritten?.(error),
      onWrittenAgain: () => onWrittenAgain?.(),
    });
  }

  #forgetRows(): void {
    this.#disk?.closeRows();
    for (const view of this.#views) view.clear();
    this.accounts.keys.clear();
    this.accounts.paying.clear();
    this.accounts.unclosed.clear();
    this.accounts.products.clear();
  }

  #takeRestored({ checkpoint, currentAtMs }: StoredCheckpoint): void {
    this.#goOnFrom(checkpoint);
    this.#restoredMarkMs = currentAtMs;
    // By a clock that is behind they would be young until it is there.
    this.#age.restored(currentAtMs === null ? null : Math.min(currentAtMs, this.#clock()));
  }

  #goOnFrom(checkpoint: string): void {
    this.#checkpoint = () => checkpoint;
    const through = this.#source.throughOf(checkpoint);
    this.#folded.reset(through);
    this.#at = through;
  }

  #storedCheckpoint(): StoredCheckpoint | null {
    if (this.#checkpoint === null) return null;
    const currentAtMs = this.#age.currentAtMs(this.#clock());
    const foldedLately = this.#rate.lately(this.#clock());
    return { source: this.#source.name, checkpoint: this.#checkpoint(), currentAtMs, foldedLately };
  }

  /** The restored rows are of another log: nothing of them may stay, in memory or in the file. */
  async #startOver(): Promise<void> {
    // Before what nobody has read yet goes: views that never held everything are asked nothing.
    this.#age.restored(null);
    this.#forgetRows();
    await this.#disk?.clear();
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
    this.#rate.add(events.length, this.#clock());
    this.#waiters.wake();
    this.#disk?.request();
  }

  /** So that folding neither delays requests nor the reading of what comes next: a subscriber that lags is dropped by some. */
  async #foldInTurns(events: readonly RecordedEvent[]): Promise<void> {
    for (const [index, recorded] of events.entries()) {
      if (index > 0 && index % VIEW_LIMITS.foldsPerTurn === 0) await nextTurn();
      if (this.#stopped !== null) throw this.#stopped;
      this.#fold.take(recorded);
      this.#at = recorded.position;
      this.#onEvent?.();
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
    this.#marks.start();
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
    this.#marks.stop();
    if (this.#caughtUp) this.#disk?.request();
    for (const { onDropped } of this.#followers) onDropped?.(error, isNews);
  }

  #stop(error: Error): void {
    if (this.#stopped !== null) return;
    this.#stopped = error;
    this.#age.dropped(this.#clock());
    this.#marks.stop();
    this.#waiters.end(error);
    this.#firstCaughtUp.reject(error);
    for (const { onStopped } of this.#followers) onStopped(error);
  }
}
