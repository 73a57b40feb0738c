import assert from 'node:assert/strict';
import { type AppendResult, EventLogError, type LeafPage, type ProposedEvent } from '../../../contracts/event-log.ts';
import type { Revision, StreamName } from '../../../contracts/ids.ts';
import { charsOf, refuseAppend } from '../append-bounds.ts';
import { AppendOutbox, type WaitingAppend } from './append-outbox.ts';
import { SQLITE_LIMITS } from './limits.ts';
import type { LogThread } from './log-thread.ts';
import type { AppendedGroup, LeavesQuery, WriteAnswer, WriteMessage } from './messages.ts';
import { type CommittedAppend, outcomesOf } from './outcomes.ts';

export type WriterThread = LogThread<WriteMessage, WriteAnswer>;

/** Appends that come during a commit make the next group, one message each way. Never blocks on the disk. */
export class LogWriter {
  readonly #thread: WriterThread;
  readonly #onCommitted: (appends: readonly CommittedAppend[]) => void;
  readonly #outbox = new AppendOutbox();
  readonly #inFlight: WaitingAppend[][] = [];
  #waiting = 0;
  #waitingChars = 0;
  #sentAtMs = 0;
  #lastGroupAppends = 0;
  #immediate: NodeJS.Immediate | null = null;
  #timer: NodeJS.Timeout | null = null;
  #end: EventLogError | null = null;
  #onIdle: (() => void) | null = null;
  #onLeaves: ((page: LeafPage | null) => void) | null = null;

  /** @param onCommitted told of what was written, in log order, before the appends resolve */
  constructor(thread: WriterThread, onCommitted: (appends: readonly CommittedAppend[]) => void) {
    this.#thread = thread;
    this.#onCommitted = onCommitted;
    thread.listen(
      (answer) => {
        if (answer.type === 'leaves') this.#takeLeaves(answer.page);
        else this.#take(answer);
      },
      (cause) => this.#fail(cause),
    );
  }

  append(stream: StreamName, expected: Revision, events: readonly ProposedEvent[]): Promise<AppendResult> {
    const refused = this.#end ?? refuseAppend(stream, expected, events) ?? this.#refuseByQueue();
    if (refused !== null) return Promise.reject(refused);
    let chars = 0;
    for (const event of events) chars += charsOf(event);
    this.#waiting++;
    this.#waitingChars += chars;
    return new Promise((resolve, reject) => {
      this.#outbox.push({ stream, expected, events, chars, resolve, reject });
      this.#schedule();
    });
  }

  /** Of what was written of late, without a look at the file; null where that has to be read, and beside another who asks. */
  leaves(query: LeavesQuery): Promise<LeafPage | null> {
    if (this.#end !== null || this.#onLeaves !== null) return Promise.resolve(null);
    return new Promise((resolve) => {
      this.#onLeaves = resolve;
      this.#thread.send(query);
    });
  }

  /** Refuses further appends; resolves when those under way have their answers. */
  async drain(): Promise<void> {
    this.#end ??= new EventLogError('closed', 'the event log is closed');
    if (this.#waiting === 0) return;
    await new Promise<void>((resolve) => {
      this.#onIdle = resolve;
    });
  }

  /** After `drain`. */
  close(): Promise<void> {
    assert(this.#waiting === 0, 'the writer is closed when it is drained');
    return this.#thread.close();
  }

  #refuseByQueue(): EventLogError | null {
    const { appendsWaitingMax, appendsWaitingCharsMax } = SQLITE_LIMITS;
    if (this.#waiting >= appendsWaitingMax)
      return new EventLogError('unavailable', `${appendsWaitingMax} appends wait already (appendsWaitingMax)`);
    if (this.#waitingChars >= appendsWaitingCharsMax)
      return new EventLogError('unavailable', `${this.#waitingChars} characters wait (appendsWaitingCharsMax)`);
    return null;
  }

  #schedule(): void {
    if (this.#outbox.isEmpty) return;
    if (this.#inFlight.length > 0) {
      if (this.#outbox.isFull && this.#inFlight.length < SQLITE_LIMITS.groupsInFlightMax) this.#send();
      return;
    }
    if (this.#outbox.isFull) this.#send();
    else if (this.#timer === null && this.#immediate === null) this.#sendLater();
  }

  /** After this turn of the event loop, whose other callbacks may append too; under load, a little later. */
  #sendLater(): void {
    const isLoaded = this.#lastGroupAppends >= SQLITE_LIMITS.gatherAppendsMin;
    const pauseMs = isLoaded ? this.#sentAtMs + SQLITE_LIMITS.gatherMs - performance.now() : 0;
    if (pauseMs > 0) this.#timer = setTimeout(() => this.#send(), pauseMs);
    else this.#immediate = setImmediate(() => this.#send());
  }

  #send(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    if (this.#immediate !== null) clearImmediate(this.#immediate);
    this.#timer = null;
    this.#immediate = null;
    const { appends, message } = this.#outbox.takeGroup();
    this.#inFlight.push(appends);
    this.#lastGroupAppends = appends.length;
    this.#sentAtMs = performance.now();
    this.#thread.send(message);
  }

  #take(answer: AppendedGroup): void {
    const appends = this.#inFlight.shift();
    assert(appends !== undefined, 'an answer belongs to a group');
    for (const { chars } of appends) this.#waitingChars -= chars;
    this.#waiting -= appends.length;
    if (answer.type === 'failed') {
      const error = new EventLogError(answer.kind, `the log was not written: ${answer.message}`);
      for (const { reject } of appends) reject(error);
    } else {
      const { committed, results } = outcomesOf(appends, answer.outcomes);
      if (committed.length > 0) this.#onCommitted(committed);
      for (const [index, { resolve }] of appends.entries()) {
        const result = results[index];
        assert(result !== undefined, 'each append has its outcome');
        resolve(result);
      }
    }
    this.#schedule();
    if (this.#waiting === 0) this.#onIdle?.();
  }

  #takeLeaves(page: LeafPage | null): void {
    this.#onLeaves?.(page);
    this.#onLeaves = null;
  }

  /** What was sent may have been written, what was not sent was not. */
  #fail(cause: Error): void {
    this.#end ??= new EventLogError('unavailable', 'the log cannot be written any more', { cause });
    if (this.#timer !== null) clearTimeout(this.#timer);
    if (this.#immediate !== null) clearImmediate(this.#immediate);
    const ambiguous = new EventLogError('ambiguous', 'the log ended during the append', { cause });
    for (const { reject } of this.#inFlight.flat()) reject(ambiguous);
    const unavailable = new EventLogError('unavailable', 'the log ended before the append', { cause });
    for (const { reject } of this.#outbox.takeAll()) reject(unavailable);
    this.#inFlight.length = 0;
    this.#waiting = 0;
    this.#takeLeaves(null);
    this.#onIdle?.();
  }
}
