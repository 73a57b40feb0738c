import type { Subscription } from '../../contracts/event-log.ts';
import { BackOff } from '../back-off.ts';
import { tellStopped } from '../tell-stopped.ts';
import { type FeedSession, HandlingError } from './feed-session.ts';
import { pauseMsMaxAfter, reasonOf } from './kafka-fault.ts';
import { FEED_LIMITS } from './limits.ts';
import { whileItPasses } from './while-it-passes.ts';

interface ReadingOptions {
  /** Opens a session and resolves when it has its partitions; what it has opened by then it closes when it throws. */
  readonly open: (signal: AbortSignal) => Promise<FeedSession>;
  readonly onDropped?: ((error: Error) => void) | undefined;
  readonly onStopped?: ((error: Error) => void) | undefined;
}

/** Sessions one after the other, for ever, with a back-off: until the handler fails or the reading is closed. */
export class FeedReading implements Subscription {
  readonly #options: ReadingOptions;
  readonly #closed = new AbortController();
  readonly #hasEnded: Promise<void>;

  constructor(options: ReadingOptions) {
    this.#options = options;
    this.#hasEnded = this.#run();
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await this.#hasEnded;
  }

  async #run(): Promise<void> {
    const { signal } = this.#closed;
    const backOff = new BackOff(FEED_LIMITS.backOff);
    while (!signal.aborted) {
      const error = await this.#session(backOff);
      if (error === null || signal.aborted) return;
      if (error instanceof HandlingError) return tellStopped(error.cause, this.#options.onStopped);
      // A session that came about was dropped; tries that fail after it are the same loss.
      if (backOff.tries === 0) this.#options.onDropped?.(new Error(reasonOf(error), { cause: error }));
      await backOff.wait(signal, pauseMsMaxAfter(error));
    }
  }

  /** Null when it was closed. */
  async #session(backOff: BackOff): Promise<Error | null> {
    const { signal } = this.#closed;
    let session: FeedSession | null = null;
    const closed = Promise.withResolvers<null>();
    const close = (): void => closed.resolve(null);
    signal.addEventListener('abort', close, { once: true });
    try {
      session = await whileItPasses(() => this.#options.open(signal), signal);
      backOff.reset();
      return await Promise.race([session.lost, signal.aborted ? null : closed.promise]);
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error));
    } finally {
      signal.removeEventListener('abort', close);
      await session?.close();
    }
  }
}
