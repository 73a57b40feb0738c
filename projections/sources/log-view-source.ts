import { z } from 'zod';
import { text } from '../../contracts/bounded-length.ts';
import {
  type EventLog,
  type ReadableLog,
  type RecordedEvent,
  type Subscription,
  unlessHidden,
} from '../../contracts/event-log.ts';
import { type Position, position, revision, type StreamName } from '../../contracts/ids.ts';
import { LedgerLostError } from '../../ledger/identity/ledger-lost.ts';
import { readLedgerState } from '../../ledger/identity/ledger-state.ts';
import { pause } from '../../ledger/pause.ts';
import { untilLogAnswers } from '../../ledger/until-log-answers.ts';
import { VIEW_LIMITS } from '../limits.ts';
import type { ViewSource, ViewSourceOptions } from './view-source.ts';

export const LOG_SOURCE = 'log';

/** Also read where a file of views is asked what it knows (known-views.ts). */
export const logCheckpointSchema = z.strictObject({
  position: z.int().min(0),
  stream: text,
  revision: z.int().min(0),
  id: text,
});
/** The last event that was folded: where to go on, and by which a log is known again. */
export type LogCheckpoint = z.infer<typeof logCheckpointSchema>;

/** The event log as the views' source: one total order, and its last event as the checkpoint. */
export class LogViewSource implements ViewSource {
  readonly name = LOG_SOURCE;
  readonly isLedger = true;
  readonly #log: EventLog;
  readonly #isWhole: Promise<unknown>;

  /** @param isWhole resolves once the ledger is known to have everything that is known of it: nothing is read before */
  constructor(log: EventLog, isWhole: Promise<unknown> = Promise.resolve()) {
    this.#log = log;
    this.#isWhole = isWhole;
  }

  throughOf(checkpoint: string): Position {
    return position(parse(checkpoint).position);
  }

  open(options: ViewSourceOptions): Subscription {
    const from = options.from === null ? null : parse(options.from);
    return new LogReading(this.#log, from, options, this.#isWhole);
  }
}

/**
 * Up to where views of a file hold this log: their last event stands at another position where the ledger has moved here since.
 * As the file says it where the log does not have that event, or hides it. @throws EventLogError
 */
export async function reachedIn(
  log: ReadableLog,
  { position, last }: { readonly position: Position | null; readonly last: LogCheckpoint | null },
): Promise<Position | null> {
  const event = last === null ? null : await eventAt(log, last);
  return event === null || event === 'hidden' || event.id !== last?.id ? position : event.position;
}

function eventAt(log: ReadableLog, { stream, revision: at }: LogCheckpoint): Promise<RecordedEvent | 'hidden' | null> {
  const read = async (): Promise<RecordedEvent | null> => {
    const options = { from: revision(at), limit: 1 };
    for await (const event of log.readStream(stream as StreamName, options)) return event;
    return null;
  };
  return unlessHidden(read(), 'hidden' as const);
}

const parse = (text: string): LogCheckpoint => logCheckpointSchema.parse(JSON.parse(text));

export const checkpointTextOf = ({ position, stream, revision, id }: RecordedEvent): string =>
  JSON.stringify({ position, stream, revision, id } satisfies LogCheckpoint);

/** From the first contact with the log, which tells whether the checkpoint is one of its own, to the subscription. */
class LogReading implements Subscription {
  readonly #log: EventLog;
  readonly #options: ViewSourceOptions;
  readonly #closing = new AbortController();
  readonly #closed = new Promise<void>((resolve) =>
    this.#closing.signal.addEventListener('abort', () => resolve(), { once: true }),
  );
  readonly #opening: Promise<Subscription | null>;

  constructor(log: EventLog, from: LogCheckpoint | null, options: ViewSourceOptions, isWhole: Promise<unknown>) {
    this.#log = log;
    this.#options = options;
    this.#opening = this.#open(from, isWhole).catch((error: unknown) => {
      if (!this.#closing.signal.aborted) options.onStopped(error instanceof Error ? error : new Error(String(error)));
      return null;
    });
  }

  async close(): Promise<void> {
    this.#closing.abort();
    const subscription = await this.#opening;
    await subscription?.close();
  }

  async #open(from: LogCheckpoint | null, isWhole: Promise<unknown>): Promise<Subscription | null> {
    const here = from === null ? null : await this.#knownAgain(from);
    await Promise.race([isWhole, this.#closed]);
    if (this.#closing.signal.aborted) return null;
    if (from !== null && here === null)
      throw new LedgerLostError(
        `the views stand at ${from.stream} revision ${from.revision}, and the ledger does not have that event: ` +
          'it is another one, or older. `gateway serve` says what is missing.',
      );
    if (from !== null && here !== null && here !== from.position)
      this.#options.onMoved(JSON.stringify({ ...from, position: here } satisfies LogCheckpoint));
    return this.#subscribe(here);
  }

  #subscribe(after: Position | null): Subscription {
    const { onBatch, onCaughtUp, onDropped, onStopped } = this.#options;
    return this.#log.subscribeAll({
      after,
      onEvents: async (events) => {
        const last = events.at(-1);
        if (last !== undefined)
          await onBatch({ events, through: last.position, checkpoint: () => checkpointTextOf(last) });
      },
      onCaughtUp,
      onDropped,
      onStopped,
    });
  }

  /**
   * Where the checkpoint's event stands in this log; null where it does not. Looked at more than once, because a node that lags
   * behind its cluster may not have the event yet.
   */
  async #knownAgain(from: LogCheckpoint): Promise<Position | null> {
    for (let look = 1; ; look++) {
      const event = await this.#eventAt(from);
      if (event === 'hidden') return position(from.position);
      if (event?.id === from.id && (event.position === from.position || (await this.#hasArrived())))
        return event.position;
      if (event !== null || look === VIEW_LIMITS.foreignLooks || this.#closing.signal.aborted) return null;
      await pause(VIEW_LIMITS.foreignPauseMs, this.#closing.signal);
    }
  }

  /** Whether the ledger was copied to this log, in the order that it had: everything up to the same event is the same. */
  async #hasArrived(): Promise<boolean> {
    const { signal } = this.#closing;
    const { arrivals } = await untilLogAnswers(() => readLedgerState(this.#log), {
      signal,
      onEach: this.#options.onDropped,
      pauseMsMax: VIEW_LIMITS.contactPauseMaxMs,
    });
    return arrivals > 0;
  }

  /**
   * What the log has at the checkpoint's place, however long it is away; null where it has nothing. Where its server hides
   * that, the account is set aside (proxy/hidden-accounts.ts), and other streams tell whether the ledger is whole.
   */
  #eventAt(from: LogCheckpoint): Promise<RecordedEvent | 'hidden' | null> {
    const { signal } = this.#closing;
    return untilLogAnswers(() => eventAt(this.#log, from), {
      signal,
      onEach: this.#options.onDropped,
      pauseMsMax: VIEW_LIMITS.contactPauseMaxMs,
    });
  }
}
