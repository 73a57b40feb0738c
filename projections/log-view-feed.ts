import { z } from 'zod';
import { type EventLog, EventLogError, type RecordedEvent, type Subscription } from '../contracts/event-log.ts';
import { type Position, position, revision, type StreamName } from '../contracts/ids.ts';
import { VIEW_LIMITS } from './limits.ts';
import type { ViewFeed, ViewFeedOptions } from './view-feed.ts';

const NAME = 'log';

const checkpointSchema = z.strictObject({
  position: z.int().min(0),
  stream: z.string().min(1),
  revision: z.int().min(0),
  id: z.string().min(1),
});
/** The last event that was folded: where to go on, and by which a log is known again. */
type LogCheckpoint = z.infer<typeof checkpointSchema>;

/** The event log as the views' feed: one total order, and its last event as the checkpoint. */
export class LogViewFeed implements ViewFeed {
  readonly name = NAME;
  readonly #log: EventLog;

  constructor(log: EventLog) {
    this.#log = log;
  }

  throughOf(checkpoint: string): Position {
    return position(parse(checkpoint).position);
  }

  open(options: ViewFeedOptions): Subscription {
    return new LogReading(this.#log, options.from === null ? null : parse(options.from), options);
  }
}

const parse = (text: string): LogCheckpoint => checkpointSchema.parse(JSON.parse(text));

const textOf = ({ position, stream, revision, id }: RecordedEvent): string =>
  JSON.stringify({ position, stream, revision, id } satisfies LogCheckpoint);

/** From the first contact with the log, which tells whether the checkpoint is one of its own, to the subscription. */
class LogReading implements Subscription {
  readonly #log: EventLog;
  readonly #options: ViewFeedOptions;
  readonly #closing = new AbortController();
  readonly #opening: Promise<Subscription | null>;

  constructor(log: EventLog, from: LogCheckpoint | null, options: ViewFeedOptions) {
    this.#log = log;
    this.#options = options;
    this.#opening = this.#open(from).catch((error: unknown) => {
      if (!this.#closing.signal.aborted) options.onStopped(error instanceof Error ? error : new Error(String(error)));
      return null;
    });
  }

  async close(): Promise<void> {
    this.#closing.abort();
    const subscription = await this.#opening;
    await subscription?.close();
  }

  async #open(from: LogCheckpoint | null): Promise<Subscription | null> {
    const isForeign = from !== null && !(await this.#isKnownAgain(from));
    if (this.#closing.signal.aborted) return null;
    if (isForeign) await this.#options.onForeign();
    if (this.#closing.signal.aborted) return null;
    return this.#subscribe(from === null || isForeign ? null : position(from.position));
  }

  #subscribe(after: Position | null): Subscription {
    const { onBatch, onCaughtUp, onDropped, onStopped } = this.#options;
    return this.#log.subscribeAll({
      after,
      onEvents: async (events) => {
        const last = events.at(-1);
        if (last !== undefined) await onBatch({ events, through: last.position, checkpoint: () => textOf(last) });
      },
      onCaughtUp,
      onDropped,
      onStopped,
    });
  }

  /** Looked at more than once, because a node that lags behind its cluster may not have the event yet. */
  async #isKnownAgain(from: LogCheckpoint): Promise<boolean> {
    for (let look = 1; ; look++) {
      const event = await this.#eventAt(from);
      if (event?.id === from.id && event.position === from.position) return true;
      if (event !== null || look === VIEW_LIMITS.foreignLooks || this.#closing.signal.aborted) return false;
      await this.#pause(VIEW_LIMITS.foreignPauseMs);
    }
  }

  /** What the log has at the checkpoint's place, however long it is away; null where it has nothing. */
  async #eventAt(from: LogCheckpoint): Promise<RecordedEvent | null> {
    for (let pauseMs: number = VIEW_LIMITS.contactBackoffMs; ; ) {
      try {
        const options = { from: revision(from.revision), limit: 1 };
        for await (const event of this.#log.readStream(from.stream as StreamName, options)) return event;
        return null;
      } catch (error) {
        if (!(error instanceof EventLogError && error.canRetry) || this.#closing.signal.aborted) throw error;
        this.#options.onDropped(error);
      }
      await this.#pause(pauseMs * (0.5 + Math.random() / 2));
      pauseMs = Math.min(2 * pauseMs, VIEW_LIMITS.contactBackoffMaxMs);
    }
  }

  /** Only the end of this reading ends a pause early; whoever paused looks at the signal. */
  #pause(ms: number): Promise<void> {
    const { signal } = this.#closing;
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', end);
        resolve();
      };
      const timer = setTimeout(end, ms);
      signal.addEventListener('abort', end);
    });
  }
}
