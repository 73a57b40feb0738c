import { closeSync, fdatasync } from 'node:fs';

interface GroupSyncOptions {
  readonly fd: number;
  /** Longest time that written bytes wait for a sync that nobody asked for. */
  readonly backgroundMs: number;
  /** Shortest time from the end of one sync to the start of the next. */
  readonly pauseMs: number;
  /** Called before each sync: the last chance to write what should go with it. Must not throw; may call `fail`. */
  readonly beforeSync: () => void;
  /** Called with what made a sync fail; calls `fail`. */
  readonly onFailure: (cause: unknown) => void;
}

/**
 * Group commit: one fdatasync at a time, in libuv's thread pool; all who ask during one share the next.
 *
 *     write ──▶ dirty ──(a waiter, or backgroundMs)──▶ sync under way ──▶ waiters resolved ──(pauseMs)──▶ next
 *
 * After a failed sync the kernel may have dropped the pages that it could not write, so that a second sync would
 * succeed without them. The failure is therefore final.
 */
export class GroupSync {
  readonly #options: GroupSyncOptions;
  #fd: number;
  #isDirty = false;
  #isSyncing = false;
  #endedAtMs = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | null = null;
  #timerIsUrgent = false;
  /** Whom the sync under way will answer, and whom the next. */
  #current: PromiseWithResolvers<void> | null = null;
  #next: PromiseWithResolvers<void> | null = null;
  #failure: Error | null = null;
  /** The file whose sync is under way; null while none is. Once there is another, it is closed behind its sync. */
  #syncingFd: number | null = null;

  constructor(options: GroupSyncOptions) {
    this.#options = options;
    this.#fd = options.fd;
  }

  /** There are bytes in the file that may not be on the disk, or something to do before the next sync. */
  wrote(): void {
    this.#isDirty = true;
    if (this.#timer === null && !this.#isSyncing) this.#startAfter(this.#options.backgroundMs, false);
  }

  /** Resolves when everything written before the call is on disk. @throws the failure of a sync, now or earlier. */
  durable(): Promise<void> {
    if (this.#failure !== null) return Promise.reject(this.#failure);
    if (this.#isDirty) {
      this.#next ??= Promise.withResolvers();
      const { promise } = this.#next;
      this.#syncSoon();
      return promise;
    }
    if (!this.#isSyncing) return Promise.resolve();
    this.#current ??= Promise.withResolvers();
    return this.#current.promise;
  }

  /** Continues with another file; the caller has synced the one before. */
  moveTo(fd: number): void {
    const previous = this.#fd;
    this.#fd = fd;
    // Its sync may be waiting for a thread: closed now, its number could by then be another file.
    if (previous !== this.#syncingFd) closeSync(previous);
  }

  /** Nothing more is synced; whoever waits is refused. */
  fail(failure: Error): void {
    if (this.#failure !== null) return;
    this.#failure = failure;
    this.#clearTimer();
    this.#next?.reject(failure);
    this.#next = null;
  }

  /** Waits for the sync under way, then closes the file. The caller has waited for `durable`, or has a failure. */
  async close(): Promise<void> {
    if (this.#isSyncing) {
      this.#current ??= Promise.withResolvers();
      await this.#current.promise.catch(() => {
        // The failure has been given to onFailure; here only the end of the sync matters.
      });
    }
    this.#clearTimer();
    closeSync(this.#fd);
  }

  #syncSoon(): void {
    if (this.#isSyncing || this.#timerIsUrgent) return;
    const waitMs = this.#endedAtMs + this.#options.pauseMs - performance.now();
    if (waitMs <= 0) this.#start();
    else this.#startAfter(waitMs, true);
  }

  #startAfter(ms: number, isUrgent: boolean): void {
    this.#clearTimer();
    this.#timerIsUrgent = isUrgent;
    this.#timer = setTimeout(() => this.#start(), ms);
  }

  #clearTimer(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#timerIsUrgent = false;
  }

  #start(): void {
    this.#clearTimer();
    this.#isSyncing = true;
    this.#options.beforeSync();
    this.#isDirty = false;
    this.#current = this.#next;
    this.#next = null;
    const fd = this.#fd;
    this.#syncingFd = fd;
    fdatasync(fd, (error) => {
      this.#syncingFd = null;
      if (fd !== this.#fd) closeSync(fd);
      this.#ended(error);
    });
  }

  #ended(error: Error | null): void {
    const waiting = this.#current;
    this.#current = null;
    this.#isSyncing = false;
    this.#endedAtMs = performance.now();
    if (error !== null) this.#options.onFailure(error);
    if (this.#failure !== null) {
      waiting?.reject(this.#failure);
      return;
    }
    waiting?.resolve();
    if (this.#next !== null) this.#syncSoon();
    else if (this.#isDirty) this.#startAfter(this.#options.backgroundMs, false);
  }
}
