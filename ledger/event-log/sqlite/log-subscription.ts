import type { RecordedEvent, SubscribeAllOptions, Subscription } from '../../../contracts/event-log.ts';
import { SQLITE_LIMITS } from './limits.ts';
import type { LogReader } from './log-reader.ts';

/**
 * One subscriber: pages from the file until there are no more, then what this process commits, from memory. Positions
 * have no gaps, so an event that is not the very next one means that another process wrote in between, and the file is
 * read again from the last event delivered.
 */
export class LogSubscription implements Subscription {
  readonly #reader: LogReader;
  readonly #options: SubscribeAllOptions;
  readonly #onClosed: () => void;
  readonly #done: Promise<void>;
  /** Position of the last event delivered; positions begin at 1. */
  #delivered: number;
  /** Position of the last event delivered, or waiting to be. */
  #accepted: number;
  #live: RecordedEvent[] = [];
  /** There is, or may be, something in the file that is neither delivered nor in `#live`. */
  #isBehind = true;
  #isClosed = false;
  #wake: (() => void) | null = null;

  constructor(reader: LogReader, options: SubscribeAllOptions, onClosed: () => void) {
    this.#reader = reader;
    this.#options = options;
    this.#onClosed = onClosed;
    this.#delivered = options.after ?? 0;
    this.#accepted = this.#delivered;
    this.#done = this.#run();
  }

  /** What this process has just committed, in log order. */
  offer(events: readonly RecordedEvent[]): void {
    if (this.#isBehind || this.#isClosed) {
      this.#fallBehind();
      return;
    }
    const isNext = events[0]?.position === this.#accepted + 1;
    if (!isNext || this.#live.length + events.length > SQLITE_LIMITS.liveEventsMax) {
      this.#fallBehind();
      return;
    }
    for (const event of events) this.#live.push(event);
    this.#accepted += events.length;
    this.#wake?.();
  }

  /** The file ends at this position now. */
  offerHead(head: number | null): void {
    if (head !== null && head > this.#accepted) this.#fallBehind();
  }

  /** The file's end could not be read: the subscriber's own read finds out why. */
  offerFailure(): void {
    this.#fallBehind();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#wake?.();
    await this.#done;
  }

  #fallBehind(): void {
    this.#isBehind = true;
    this.#wake?.();
  }

  async #run(): Promise<void> {
    try {
      while (!this.#isClosed) {
        if (this.#isBehind) await this.#catchUp();
        else if (this.#live.length > 0) await this.#deliver(this.#live.splice(0, SQLITE_LIMITS.pageEvents));
        else
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
      }
    } catch (error) {
      if (!this.#isClosed) this.#options.onStopped?.(error instanceof Error ? error : new Error(String(error)));
      this.#isClosed = true;
    } finally {
      this.#onClosed();
    }
  }

  async #catchUp(): Promise<void> {
    this.#live = [];
    // Anything that comes after this line may not be in the page that is read below: it sets the flag again.
    this.#isBehind = false;
    const page = await this.#reader.page({
      type: 'all',
      after: this.#delivered,
      limit: SQLITE_LIMITS.pageEvents,
    });
    // Offers during the read were judged by a delivered position that is about to move: read once more.
    const mayHaveMore = page.length > 0 || this.#live.length > 0;
    this.#live = [];
    this.#accepted = page.at(-1)?.position ?? this.#delivered;
    if (mayHaveMore) this.#isBehind = true;
    if (page.length > 0) await this.#deliver(page);
    else if (!this.#isBehind && !this.#isClosed) this.#options.onCaughtUp?.();
  }

  async #deliver(events: readonly RecordedEvent[]): Promise<void> {
    if (this.#isClosed) return;
    await this.#options.onEvents(events);
    this.#delivered = events.at(-1)?.position ?? this.#delivered;
  }
}
