import type { RecordedEvent, SubscribeAllOptions, Subscription } from '../../../contracts/event-log.ts';
import { replacedLedger } from '../../identity/ledger-lost.ts';
import { tellStopped } from '../../tell-stopped.ts';
import type { LogReader } from './log-reader.ts';
import type { RecentEvents } from './recent-events.ts';
import { FileNotInPlaceError } from './while-in-place.ts';

interface SubscriptionSource {
  readonly reader: LogReader;
  readonly recent: RecentEvents;
  /** A batch was handed over. */
  readonly onDelivered: () => void;
  readonly onEnded: () => void;
}

/**
 * One subscriber of the whole log: pages from the file until there are no more, then this process's commits from
 * memory. It pulls, and nothing is queued for it: while its handler is slow it falls out of the recent events, and the
 * file feeds it again. Each batch begins after the last event delivered, wherever it comes from: no gap, no repeat.
 * A read that fails otherwise ends it, and with it the process that a supervisor starts again: what a read needs is open from
 * the start, so that no lack of room or descriptors is in its way, and what is (an I/O error) only reading anew can mend.
 * While the file is not at its place it waits: each look for what others have written tells whether it is back.
 */
export class LogSubscription implements Subscription {
  readonly #source: SubscriptionSource;
  readonly #options: SubscribeAllOptions;
  readonly #hasEnded: Promise<void>;
  #delivered: number;
  #isLive = false;
  #isClosed = false;
  #isDelivering = false;
  #waiting: { readonly resolve: () => void; readonly reject: (error: unknown) => void } | null = null;

  constructor(source: SubscriptionSource, options: SubscribeAllOptions) {
    this.#source = source;
    this.#options = options;
    this.#delivered = options.after ?? 0;
    this.#hasEnded = this.#run();
  }

  /** The position up to which recent events are of no use to it; null while it reads the file. */
  get livePosition(): number | null {
    return this.#isLive ? this.#delivered : null;
  }

  /** There is something new in the log. */
  wake(): void {
    this.#waiting?.resolve();
    this.#waiting = null;
  }

  /** The log cannot be read: a subscriber that waits would wait for ever. */
  fail(error: unknown): void {
    this.#waiting?.reject(error);
    this.#waiting = null;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.wake();
    await this.#hasEnded;
  }

  async #run(): Promise<void> {
    try {
      while (!this.#isClosed) {
        try {
          await this.#readFile();
          await this.#followRecent();
        } catch (error) {
          // What its handler throws is its handler's.
          if (this.#isDelivering) throw error;
          await this.#untilInPlace(error);
        }
      }
    } catch (error) {
      if (!this.#isClosed) this.#stop(error instanceof Error ? error : new Error(String(error)));
    } finally {
      this.#isClosed = true;
      this.#source.onEnded();
    }
  }

  /** @throws what was given, unless it says that the very file may come back */
  async #untilInPlace(error: unknown): Promise<void> {
    this.#isLive = false;
    let isTold = false;
    for (let trouble = error; ; ) {
      if (this.#isClosed) return;
      if (!(trouble instanceof FileNotInPlaceError)) throw trouble;
      if (trouble.isReplaced) throw replacedLedger(trouble.message);
      if (!isTold) this.#options.onDropped?.(trouble);
      isTold = true;
      try {
        await this.#whenWoken();
        return;
      } catch (again) {
        trouble = again;
      }
    }
  }

  async #readFile(): Promise<void> {
    this.#isLive = false;
    const rest = { type: 'all', after: this.#delivered, limit: Number.MAX_SAFE_INTEGER } as const;
    for await (const { events } of this.#source.reader.pages(rest)) {
      if (events.length > 0) await this.#deliver(events);
      if (this.#isClosed) return;
    }
    this.#isLive = true;
  }

  /** Until something is needed that is in the file only. */
  async #followRecent(): Promise<void> {
    let isCaughtUp = false;
    while (!this.#isClosed) {
      const events = this.#source.recent.after(this.#delivered);
      if (events === null) return;
      if (events.length > 0) await this.#deliver(events);
      else if (isCaughtUp) await this.#whenWoken();
      else {
        isCaughtUp = true;
        this.#options.onCaughtUp?.();
      }
    }
  }

  async #deliver(events: readonly RecordedEvent[]): Promise<void> {
    if (this.#isClosed) return;
    this.#isDelivering = true;
    await this.#options.onEvents(events);
    this.#isDelivering = false;
    this.#delivered = events.at(-1)?.position ?? this.#delivered;
    this.#source.onDelivered();
  }

  #whenWoken(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
    });
  }

  #stop(error: Error): void {
    tellStopped(error, this.#options.onStopped);
  }
}
