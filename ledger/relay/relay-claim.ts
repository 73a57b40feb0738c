import { encodeEvents } from '../../contracts/event-codec.ts';
import { BASE_FORMS, type Forms, formsBeyond, OWN_FORMS } from '../../contracts/event-forms.ts';
import { type EventLog, isLogAway, type ProposedEvent } from '../../contracts/event-log.ts';
import type { RelayEvent } from '../../contracts/events.ts';
import { type Position, type Revision, relayStream, type StreamName } from '../../contracts/ids.ts';
import { BackOff } from '../back-off.ts';
import { FEED_LIMITS } from '../feed/limits.ts';
import { recordingBy } from '../recording-by.ts';
import type { RelayState } from './relay-state.ts';

export interface ClaimOptions {
  readonly log: EventLog;
  /** The topic; its name is also the stream's. */
  readonly feed: string;
  /** Who claims: another name for every process. */
  readonly relay: string;
  readonly claimMs: number;
  readonly clock: () => number;
  /** What this program reads: whoever writes new forms of events asks for it (ledger/forms/). */
  readonly reads?: Forms;
  /** Ends waiting for a log that is away. */
  readonly signal: AbortSignal;
}

/** Another relay has claimed the feed: this one must not publish any more. */
export class RelayFencedError extends Error {
  override readonly name = 'RelayFencedError';
}

/** The relay was told to stop before the log answered. */
class RelayStoppedError extends Error {
  override readonly name = 'RelayStoppedError';
}

/**
 * The right to publish, kept in the log: each append is made at the revision of the one before, so that of two relays
 * one meets a conflict and knows that it is fenced. Every method may throw RelayFencedError, and RelayStoppedError.
 */
export class RelayClaim {
  readonly epoch: number;
  readonly #options: ClaimOptions;
  readonly #stream: StreamName;
  #revision: Revision;
  #untilMs: number;
  #checkpoint: Position | null;
  #last: Promise<unknown> = Promise.resolve();

  /** Claims what the state says is free; null when another was faster. */
  static async take(options: ClaimOptions, state: RelayState): Promise<RelayClaim | null> {
    const claim = new RelayClaim(options, state);
    try {
      await claim.#append((until) => ({ type: 'RelayClaimed', data: { ...claim.#name, until } }));
      return claim;
    } catch (error) {
      if (error instanceof RelayFencedError) return null;
      throw error;
    }
  }

  private constructor(options: ClaimOptions, state: RelayState) {
    this.#options = options;
    this.#stream = relayStream(options.feed);
    this.epoch = state.epoch + 1;
    this.#revision = state.revision;
    this.#untilMs = 0;
    this.#checkpoint = state.checkpoint;
  }

  /** Everything up to here was acknowledged when it was last written down. */
  get checkpointed(): Position | null {
    return this.#checkpoint;
  }

  /** Whether less than half of the claim is left: renew before sending. */
  get isDue(): boolean {
    return this.#untilMs - this.#options.clock() < this.#options.claimMs / 2;
  }

  /** Resolves when at least half of the claim is left. */
  async ensure(): Promise<void> {
    if (this.isDue) await this.#append((until) => this.#renewal(until));
  }

  /** Writes down how far Kafka has acknowledged, which renews the claim. Null: from the beginning. */
  async checkpoint(acknowledged: Position | null): Promise<void> {
    await this.#append((until) => ({
      type: 'RelayCheckpointed',
      data: { ...this.#name, position: acknowledged ?? 0, until },
    }));
    this.#checkpoint = acknowledged;
  }

  async release(): Promise<void> {
    await this.#append(() => ({ type: 'RelayReleased', data: this.#name }));
    this.#untilMs = 0;
  }

  get #name(): { readonly relay: string; readonly epoch: number } {
    return { relay: this.#options.relay, epoch: this.epoch };
  }

  /** By a checkpoint, so that a reader of the stream finds the last one near its end. */
  #renewal(until: string): RelayEvent {
    return { type: 'RelayCheckpointed', data: { ...this.#name, position: this.#checkpoint ?? 0, until } };
  }

  /** One append after the other: each is made at the revision that the one before has left. */
  #append(event: (until: string) => RelayEvent): Promise<void> {
    const appended = this.#last.then(() => this.#appendNow(event));
    this.#last = appended.catch(() => undefined);
    return appended;
  }

  async #appendNow(event: (until: string) => RelayEvent): Promise<void> {
    const { clock, claimMs, reads = OWN_FORMS } = this.#options;
    const nowMs = clock();
    const untilMs = nowMs + claimMs;
    const events = encodeEvents([event(new Date(untilMs).toISOString())], {
      ...recordingBy('relay', nowMs),
      reads: formsBeyond(reads, BASE_FORMS),
    });
    this.#revision = await this.#appendWhenThere(events);
    this.#untilMs = untilMs;
  }

  /** The same events at the same revision until the log answers, which finds out what became of an earlier try. */
  async #appendWhenThere(events: readonly ProposedEvent[]): Promise<Revision> {
    const { log, signal, feed, relay } = this.#options;
    for (const backOff = new BackOff(FEED_LIMITS.backOff); ; ) {
      try {
        const result = await log.append(this.#stream, this.#revision, events);
        if (result.type === 'appended') return result.lastRevision;
        throw new RelayFencedError(
          `${relay} is fenced: another relay has claimed the feed ${feed} (${this.#stream} is at revision ` +
            `${result.actualRevision}, this one left it at ${this.#revision})`,
        );
      } catch (error) {
        if (!isLogAway(error)) throw error;
        await backOff.wait(signal);
        if (signal.aborted)
          throw new RelayStoppedError(`stopped while the event log was away: ${error.message}`, { cause: error });
      }
    }
  }
}
