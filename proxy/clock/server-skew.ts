import type { Logger } from 'pino';
import { type EventLog, EventLogError, type ProposedEvent } from '../../contracts/event-log.ts';
import {
  clockStream,
  eventIdOf,
  NO_STREAM,
  type ProxyId,
  proxyId,
  type Revision,
  type StreamName,
} from '../../contracts/ids.ts';
import { recordingBy } from '../../ledger/recording-by.ts';
import { lengthOf } from './clock-watch.ts';

export interface ServerSkewOptions {
  readonly log: EventLog;
  readonly proxy: ProxyId;
  /** The gateway's clock. */
  readonly now: () => number;
  readonly monotonic: () => number;
  /** How often the gateway's clock has jumped: after each time it is to be compared anew. */
  readonly jumps: () => number;
  /** Whether the clock can be compared now: not while it is in doubt for itself. */
  readonly mayCompare: () => boolean;
  readonly skewMs: number;
  readonly logger: Logger;
}

/** How often it is looked whether to compare; a comparison that is not done yet is tried each time, for nothing is admitted until then. */
const LOOK_MS = 250;
/** How often the clocks are compared; how often while they disagree. */
const COMPARE_MS = 60_000;
const DISAGREE_MS = 5_000;
/**
 * A stream of one proxy alone conflicts where an answer was lost, and then tells where it is; commands share one. A lost
 * answer leaves nothing but a comparison that was not made.
 */
const ATTEMPTS_MAX = 10;
/** How many streams are tried: one that was deleted, or whose events are hidden, never takes a comparison again. */
const STREAMS_MAX = 5;

/**
 * How far this gateway's clock is off the clock of the log's server, where that stamps what it takes. Measured on an
 * append of our own that is read back: the stamp is of an instant between the call and its answer, so what it lies
 * outside of the two is skew, however slow the log is. These events are in a stream that is no part of the ledger.
 */
export class ServerSkew {
  readonly #options: ServerSkewOptions;
  #stream: StreamName;
  #streams = 1;
  #revision: Revision = NO_STREAM;
  #timer: NodeJS.Timeout | null = null;
  #comparing: Promise<void> | null = null;
  #skewMs = 0;
  /** The jumps there had been when the clocks were last compared; null before that. */
  #comparedAtJumps: number | null = null;
  #nextMs = 0;
  #isWarned = false;

  constructor(options: ServerSkewOptions) {
    this.#options = options;
    this.#stream = clockStream(options.proxy);
  }

  /** By how much this clock is ahead of the server's, below zero where it is behind; as far as that is certain. */
  get skewMs(): number {
    return this.#skewMs;
  }

  /** Why the clock cannot be relied on beside those of other proxies; null where it can, and where nothing is stamped. */
  doubt(): string | null {
    return this.#timer === null ? null : this.#disagreement();
  }

  /** Compares once, and says what `doubt` would. @throws EventLogError when the log does not answer */
  async compareNow(): Promise<string | null> {
    await this.#compare();
    return this.#disagreement();
  }

  #disagreement(): string | null {
    if (this.#comparedAtJumps !== this.#options.jumps())
      return 'the clock of this machine has not been compared with that of the event log yet';
    if (Math.abs(this.#skewMs) <= this.#options.skewMs) return null;
    const direction = this.#skewMs > 0 ? 'ahead of' : 'behind';
    return `the clock of this machine is ${lengthOf(Math.abs(this.#skewMs))} ${direction} that of the event log`;
  }

  /** Compares now, and from now on again and again. A log that does not answer is asked again. */
  async start(): Promise<void> {
    this.#timer ??= setInterval(() => this.#look(), LOOK_MS);
    await this.#compareOnce();
  }

  async close(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    await this.#comparing;
  }

  #look(): void {
    const isDue = this.#options.monotonic() >= this.#nextMs || this.#comparedAtJumps !== this.#options.jumps();
    if (isDue) void this.#compareOnce();
  }

  #compareOnce(): Promise<void> {
    if (!this.#options.mayCompare()) return Promise.resolve();
    this.#comparing ??= this.#compare()
      .then(() => {
        this.#isWarned = false;
      })
      .catch((error: unknown) => {
        // Once, for it is tried again soon and often.
        if (!this.#isWarned)
          this.#options.logger.warn({ err: error }, "the clock could not be compared with the event log's");
        this.#isWarned = true;
      })
      .finally(() => {
        const isFine = this.doubt() === null;
        this.#nextMs = this.#options.monotonic() + (isFine ? COMPARE_MS : DISAGREE_MS);
        this.#comparing = null;
      });
    return this.#comparing;
  }

  /** @throws EventLogError when the log does not answer, or none of the streams can be used */
  async #compare(): Promise<void> {
    for (;;) {
      try {
        return await this.#compareInStream();
      } catch (error) {
        if (!(error instanceof EventLogError && error.kind === 'invalid') || this.#streams >= STREAMS_MAX) throw error;
        this.#leaveStream(error.message);
      }
    }
  }

  #leaveStream(reason: string): void {
    const { proxy, logger } = this.#options;
    const stream = this.#stream;
    this.#streams++;
    this.#stream = clockStream(proxyId(`${proxy}-${this.#streams}`));
    this.#revision = NO_STREAM;
    logger.error(
      { stream, reason, next: this.#stream },
      'clocks cannot be compared in this stream of the event log any more, and are in the next: take out of its metadata what hides its events',
    );
  }

  /** @throws EventLogError when the log does not answer; `invalid` where the stream cannot be used */
  async #compareInStream(): Promise<void> {
    const { log, now, jumps, logger } = this.#options;
    const jumpsBefore = jumps();
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
      const calledMs = now();
      const result = await log.append(this.#stream, this.#revision, [this.#probe(calledMs)]).catch(nullWhereAmbiguous);
      const answeredMs = now();
      if (result?.type === 'conflict') this.#revision = result.actualRevision;
      if (result?.type !== 'appended') continue;
      this.#revision = result.lastRevision;
      const stampedMs = await this.#stampOf(result.lastRevision);
      // A clock that has jumped between the two readings was compared with nothing.
      if (stampedMs === null || jumps() !== jumpsBefore) return;
      const before = this.doubt();
      this.#skewMs = calledMs > stampedMs ? calledMs - stampedMs : Math.min(0, answeredMs - stampedMs);
      this.#comparedAtJumps = jumpsBefore;
      const after = this.doubt();
      if (after !== null) logger.error({ skewMs: this.#skewMs }, after);
      else if (before !== null) logger.info({ skewMs: this.#skewMs }, 'the clock agrees with that of the event log');
      return;
    }
    const why = `${ATTEMPTS_MAX} appends to ${this.#stream} conflicted, or their answers were lost`;
    throw new EventLogError('unavailable', `the clocks could not be compared: ${why}`);
  }

  async #stampOf(at: Revision): Promise<number | null> {
    for await (const { stampedAtMs } of this.#options.log.readStream(this.#stream, { from: at, limit: 1 }))
      return stampedAtMs ?? null;
    throw new EventLogError('invalid', `${this.#stream} does not show its revision ${at}, which was just written`);
  }

  #probe(nowMs: number): ProposedEvent {
    const recording = recordingBy(this.#options.proxy, nowMs);
    const metadata = JSON.stringify({ schemaVersion: 1, ...recording });
    return { id: eventIdOf(recording.commandId, 0), type: 'ClockCompared', data: '{}', metadata };
  }
}

function nullWhereAmbiguous(error: unknown): null {
  if (error instanceof EventLogError && error.kind === 'ambiguous') return null;
  throw error;
}
