import {
  EventLogError,
  type RecordedEvent,
  type SubscribeAllOptions,
  type Subscription,
} from '../../../contracts/event-log.ts';
import type { Position } from '../../../contracts/ids.ts';
import { backOffMs } from '../../back-off.ts';
import { pause } from '../../pause.ts';
import { tellStopped } from '../../tell-stopped.ts';
import type { Connection } from './connection.ts';
import type { ReadResponse } from './decode-read-response.ts';
import { faultOf, readError } from './fault.ts';
import type { EventStoreDbDeadlines } from './limits.ts';
import type { OwnStreams } from './own-streams.ts';
import { ReadCall, type ReadOutcome } from './read-call.ts';
import { subscribeRequest } from './read-request.ts';
import { ledgersStream, recordedEventOf } from './recorded-event.ts';

interface SubscriptionSource {
  readonly connection: Connection;
  readonly streams: OwnStreams;
  readonly deadlines: EventStoreDbDeadlines;
  readonly readHead: () => Promise<Position | null>;
  readonly onEnded: () => void;
}

/** What the subscriber's own handler threw, or an event that cannot be read: neither passes by trying again. */
class SubscriptionEndError extends Error {
  override readonly name = 'SubscriptionEndError';
}

/**
 * One subscriber of the whole log, kept alive: whenever the call breaks, ends, or is silent although the head of the log
 * has moved on, it is made again after the last event *applied*. The server's checkpoints are not looked at, for they
 * run ahead of the handler, and some versions of the server send wrong ones.
 *
 *   made ──▶ confirmed ──▶ caught up            once the head that was read beside the call's beginning has been applied:
 *     ▲          │             │                servers before 23.10 do not tell it, and under load are never silent
 *     ├──────────┴─ ordinary ──┤                a call that had begun breaks (servers before 24.2 drop who lags by more
 *     │                        │                than 32 events): made again at once, and nobody is told
 *     └── after a pause ◀── log lost from sight the call cannot be made, the head not be read, or what it shows not come
 */
export class LogSubscription implements Subscription {
  readonly #source: SubscriptionSource;
  readonly #options: SubscribeAllOptions;
  readonly #closing = new AbortController();
  readonly #closed = Promise.withResolvers<null>();
  readonly #hasEnded: Promise<void>;
  #applied: Position | null;
  /** Of the call under way: whether the server has taken it, and whether anything of it was applied. */
  #isConfirmed = false;
  #hasApplied = false;
  #isCaughtUp = false;
  /** What it has to bring before it has caught up; null where the log was empty. */
  #headAtStart: Position | null = null;
  /** When it has been silent for too long, by performance.now(); and the head that should have come by then. */
  #silentAtMs = 0;
  #overdue: Position | null = null;
  #call: ReadCall | null = null;
  #failures = 0;

  constructor(source: SubscriptionSource, options: SubscribeAllOptions) {
    this.#source = source;
    this.#options = options;
    this.#applied = options.after;
    this.#hasEnded = this.#run();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#closed.resolve(null);
    this.#call?.cancel();
    await this.#hasEnded;
  }

  async #run(): Promise<void> {
    // Never before the caller has its handle.
    await Promise.resolve();
    while (!this.#closing.signal.aborted) {
      try {
        await this.#follow().catch((error: unknown) => this.#drop(error));
      } catch (error) {
        if (this.#closing.signal.aborted) break;
        this.#stop(error instanceof SubscriptionEndError ? error.cause : error);
        break;
      }
    }
    this.#closing.abort();
    this.#source.onEnded();
  }

  /** One call, from the last event applied until it breaks or the subscription is closed. */
  async #follow(): Promise<void> {
    const { connection, streams, deadlines } = this.#source;
    this.#isCaughtUp = false;
    this.#isConfirmed = false;
    this.#hasApplied = false;
    const request = subscribeRequest(this.#applied, streams.filters);
    const call = new ReadCall(connection, request, { connectMs: deadlines.connectMs, requiresLeader: false });
    this.#call = call;
    try {
      // Meanwhile the call brings what it has.
      this.#headAtStart = await this.#head();
      this.#heard();
      while (!this.#closing.signal.aborted) {
        const taken = await this.#take(call);
        if (taken === 'ended') throw new Error('EventStoreDB ended the subscription');
        this.#isConfirmed ||= taken.some((response) => response.isConfirmation);
        for (const events of batchesOf(taken, this.#applied, streams)) {
          if (this.#closing.signal.aborted) return;
          await this.#deliver(events);
        }
        if (!this.#isCaughtUp && this.#isConfirmed && this.#hasReached(this.#headAtStart)) this.#caughtUp();
      }
    } catch (error) {
      call.cancel(error instanceof EventLogError ? error : null);
      throw error;
    } finally {
      call.cancel();
      this.#call = null;
    }
  }

  /** What comes next. While no event does, the head tells whether one should have. */
  async #take(call: ReadCall): Promise<Exclude<ReadOutcome, 'silence'>> {
    for (;;) {
      const leftMs = this.#silentAtMs - performance.now();
      const taken = leftMs > 0 ? await call.take(leftMs) : 'silence';
      if (taken !== 'silence') return taken;
      await this.#compareWithHead();
    }
  }

  /** @throws EventLogError when the call is dead, or when the log is out of sight altogether */
  async #compareWithHead(): Promise<void> {
    if (this.#overdue !== null) {
      const silence = `no event came, and the log has reached ${this.#overdue}`;
      throw new EventLogError('unavailable', `the subscription to EventStoreDB is dead: ${silence}`);
    }
    const head = await this.#head();
    if (this.#hasReached(head)) return this.#heard();
    this.#overdue = head;
    this.#silentAtMs = performance.now() + this.#source.deadlines.silenceGraceMs;
  }

  /** Null also where the subscription is closed meanwhile. @throws EventLogError when it cannot be read */
  #head(): Promise<Position | null> {
    return Promise.race([this.#source.readHead(), this.#closed.promise]);
  }

  #hasReached(head: Position | null): boolean {
    return head === null || head <= (this.#applied ?? -1);
  }

  #heard(): void {
    this.#overdue = null;
    this.#silentAtMs = performance.now() + this.#source.deadlines.silenceMs;
  }

  #caughtUp(): void {
    this.#isCaughtUp = true;
    this.#failures = 0;
    try {
      this.#options.onCaughtUp?.();
    } catch (cause) {
      throw new SubscriptionEndError('the handler has failed', { cause });
    }
  }

  async #deliver(events: readonly RecordedEvent[]): Promise<void> {
    try {
      await this.#options.onEvents(events);
    } catch (cause) {
      throw new SubscriptionEndError('the handler has failed', { cause });
    }
    this.#applied = events.at(-1)?.position ?? this.#applied;
    this.#hasApplied = true;
    this.#failures = 0;
    this.#heard();
  }

  /**
   * A call that had begun is made again at once, but not for ever without bringing anything. Otherwise the log is out of
   * sight; the next try comes after a pause that doubles up to its bound, at random within a half.
   */
  async #drop(error: unknown): Promise<void> {
    const { signal } = this.#closing;
    if (error instanceof SubscriptionEndError) throw error;
    if (signal.aborted) return;
    const { backoffMs, backoffMaxMs } = this.#source.deadlines;
    const hasBegun = this.#isConfirmed && (this.#hasApplied || this.#failures === 0);
    this.#failures++;
    if (hasBegun && !(error instanceof EventLogError)) return;
    this.#options.onDropped?.(readError(error));
    const bounds = { firstMs: backoffMs, maxMs: backoffMaxMs };
    await pause(backOffMs(bounds, this.#failures, Math.random()), signal);
  }

  #stop(cause: unknown): void {
    const error = cause instanceof Error ? cause : new Error(String(cause));
    tellStopped(error, this.#options.onStopped);
  }
}

/** In batches of what came together, without repeats. @throws SubscriptionEndError for one that cannot be read */
function* batchesOf(
  responses: readonly ReadResponse[],
  applied: Position | null,
  streams: OwnStreams,
): Generator<readonly RecordedEvent[]> {
  const events: RecordedEvent[] = [];
  let last = applied ?? -1;
  for (const response of responses) {
    const { event } = response;
    const name = event === null ? null : ledgersStream(event, streams);
    if (event === null || name === null) continue;
    let recorded: RecordedEvent;
    try {
      recorded = recordedEventOf(event, name);
    } catch (cause) {
      // What came before it is still applied.
      if (events.length > 0) yield events;
      throw new SubscriptionEndError(faultOf(cause).reason, { cause });
    }
    if (recorded.position <= last) continue;
    last = recorded.position;
    events.push(recorded);
  }
  if (events.length > 0) yield events;
}
