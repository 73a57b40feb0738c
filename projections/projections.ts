import { setImmediate as nextTurn } from 'node:timers/promises';
import { decodeEvent } from '../contracts/event-codec.ts';
import type { EventLog, RecordedEvent, Subscription } from '../contracts/event-log.ts';
import { isAccountEvent } from '../contracts/events.ts';
import { accountOfStream, type Position } from '../contracts/ids.ts';
import { LIMITS } from '../contracts/limits.ts';
import { loadCatalog } from '../ledger/catalog/catalog-state.ts';
import { AccountViews } from './account-views.ts';
import { CatalogView } from './catalog-view.ts';
import type { ViewRow } from './view.ts';
import { restoreViews, ViewStore } from './view-store.ts';

/** Rows that are encoded in one turn of the event loop, so that a flush never delays requests. */
const ROWS_PER_TURN = 50;

export interface ProjectionsOptions {
  readonly log: EventLog;
  /** The views' file. */
  readonly path: string;
  /** False for a reader that leaves the file alone (a command beside a running gateway). */
  readonly persist: boolean;
  /** The projections stand still from here on: an event could not be folded, or the views not be written. */
  readonly onStopped: (error: Error) => void;
}

/**
 * All views, fed by one subscription. Start-up restores the rows, then catches up from their checkpoint; `caughtUp`
 * is false until everything that was in the log then is folded.
 */
export class Projections {
  readonly accounts = new AccountViews();
  readonly catalog = new CatalogView();
  readonly #options: ProjectionsOptions;
  readonly #waiters: {
    readonly at: Position;
    readonly resolve: () => void;
    readonly reject: (error: Error) => void;
  }[] = [];
  readonly #firstCaughtUp = Promise.withResolvers<void>();
  #store: ViewStore | null = null;
  #subscription: Subscription | null = null;
  #position: Position | null = null;
  #flushedPosition: Position | null = null;
  #flushTimer: NodeJS.Timeout | null = null;
  #flushing: Promise<void> | null = null;
  #caughtUp = false;
  #stopped: Error | null = null;

  private constructor(options: ProjectionsOptions) {
    this.#options = options;
    // A stop before the end of catch-up is told to whoever waits; nobody has to wait.
    this.#firstCaughtUp.promise.catch(() => undefined);
  }

  static async start(options: ProjectionsOptions): Promise<Projections> {
    const projections = new Projections(options);
    await projections.#start();
    return projections;
  }

  /** Whether the views hold everything that the log held when they were started, and still follow it. */
  get caughtUp(): boolean {
    return this.#caughtUp && this.#stopped === null;
  }

  /** The position of the last event that was folded from the log. */
  get position(): Position | null {
    return this.#position;
  }

  /** @throws Error when the projections stop before. */
  whenCaughtUp(): Promise<void> {
    return this.#firstCaughtUp.promise;
  }

  /** Resolves when the event at a position is in the views. @throws Error when the projections stop before. */
  whenAt(at: Position): Promise<void> {
    if (this.#position !== null && this.#position >= at) return Promise.resolve();
    if (this.#stopped !== null) return Promise.reject(this.#stopped);
    return new Promise((resolve, reject) => this.#waiters.push({ at, resolve, reject }));
  }

  async close(): Promise<void> {
    await this.#subscription?.close();
    if (this.#flushTimer !== null) clearTimeout(this.#flushTimer);
    this.#flushTimer = null;
    await this.#flushing;
    if (this.#stopped === null) await this.#flush();
    await this.#store?.close();
  }

  async #start(): Promise<void> {
    const { log, path, persist } = this.#options;
    this.catalog.restore(await loadCatalog(log));
    this.#position = restoreViews(path, this.accounts.all, await log.headPosition());
    this.#flushedPosition = this.#position;
    for (const [accountId, { state }] of this.accounts.balance.all()) this.accounts.keys.addFrom(accountId, state);
    if (persist) this.#store = ViewStore.open(path, this.accounts.all, this.#position);
    this.#subscription = log.subscribeAll({
      after: this.#position,
      onEvents: async (events) => {
        // What this process has appended itself is folded by whoever appended it, in this turn of the event loop; what
        // is folded need not be decoded.
        if (this.#caughtUp) await nextTurn();
        this.#foldBatch(events);
      },
      onCaughtUp: () => {
        this.#caughtUp = true;
        this.#firstCaughtUp.resolve();
      },
      onStopped: (error) => this.#stop(error),
    });
  }

  #foldBatch(events: readonly RecordedEvent[]): void {
    for (const recorded of events) {
      this.#foldOne(recorded);
      this.#position = recorded.position;
    }
    this.#wakeWaiters();
    this.#scheduleFlush();
  }

  #foldOne(recorded: RecordedEvent): void {
    const accountId = accountOfStream(recorded.stream);
    if (accountId !== null) {
      if (this.accounts.hasFolded(accountId, recorded.revision)) return;
      const event = decodeEvent(recorded);
      if (!isAccountEvent(event)) throw new Error(`${recorded.stream}: ${event.type} does not belong there`);
      this.accounts.fold(accountId, recorded.revision, event);
      return;
    }
    const event = decodeEvent(recorded);
    if (event.type === 'CatalogPublished') this.catalog.fold(recorded.revision, event.data);
  }

  #wakeWaiters(): void {
    const at = this.#position ?? -1;
    for (let index = this.#waiters.length - 1; index >= 0; index--) {
      const waiter = this.#waiters[index];
      if (waiter === undefined || waiter.at > at) continue;
      this.#waiters.splice(index, 1);
      waiter.resolve();
    }
  }

  #scheduleFlush(): void {
    if (this.#store === null || this.#flushTimer !== null || this.#flushing !== null) return;
    this.#flushTimer = setTimeout(() => {
      this.#flushTimer = null;
      this.#flushing = this.#flush()
        .catch((error: unknown) => this.#stop(error instanceof Error ? error : new Error(String(error))))
        .finally(() => {
          this.#flushing = null;
          if (this.#position !== this.#flushedPosition && this.#stopped === null) this.#scheduleFlush();
        });
    }, LIMITS.viewFlushMs);
  }

  /**
   * Writes what has changed, with the position at which the flush began: rows may be newer than it (the fold at their
   * account's revision ignores what they hold already), never older.
   */
  async #flush(): Promise<void> {
    const at = this.#position;
    if (this.#store === null || at === null || at === this.#flushedPosition) return;
    const rows: ViewRow[] = [];
    for (const view of this.accounts.all) {
      const changes = view.takeChanges();
      for (let next = changes.next(); next.done !== true; next = changes.next()) {
        rows.push(next.value);
        if (rows.length % ROWS_PER_TURN === 0) await nextTurn();
      }
    }
    await this.#store.write(rows, this.accounts.all, at);
    this.#flushedPosition = at;
  }

  #stop(error: Error): void {
    if (this.#stopped !== null) return;
    this.#stopped = error;
    for (const { reject } of this.#waiters.splice(0)) reject(error);
    this.#firstCaughtUp.reject(error);
    this.#options.onStopped(error);
  }
}
