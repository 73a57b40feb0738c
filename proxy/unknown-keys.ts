import type { EventLog } from '../contracts/event-log.ts';
import { LIMITS } from '../contracts/limits.ts';
import { TIMING, type Timing } from '../ledger/timing.ts';
import type { Projections } from '../projections/projections.ts';

interface UnknownKeysOptions {
  readonly log: Pick<EventLog, 'headPosition'>;
  readonly projections: Pick<Projections, 'whenAt'>;
  readonly timing?: Timing;
}

/**
 * Requests with a key that the views do not know. A command may have issued it this moment, and SDKs take a 401 for the last word: they
 * wait until the views have folded what the log had when they came, for a bounded time. One look at the log is for all who came
 * before it began, and looks follow one another with a pause: whoever makes up keys has the log asked no oftener.
 */
export class UnknownKeys {
  readonly #options: UnknownKeysOptions;
  readonly #timing: Timing;
  /** What has not begun: who comes now is in it. */
  #next: Promise<void> | null = null;
  /** When the next one may begin. */
  #free: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  constructor(options: UnknownKeysOptions) {
    this.#options = options;
    this.#timing = options.timing ?? TIMING;
  }

  /** Resolves when the key may be looked for once more. Null where too many wait: it is unknown. */
  lookAgain(): Promise<void> | null {
    if (this.#waiting >= LIMITS.unknownKeysWaitingMax) return null;
    this.#waiting++;
    this.#next ??= this.#look();
    return this.#next.finally(() => this.#waiting--);
  }

  async #look(): Promise<void> {
    await this.#free;
    this.#next = null;
    const over = new AbortController();
    const inTime = this.#timing.pause(LIMITS.unknownKeyLookMs, over.signal);
    const looked = Promise.race([this.#folded(), inTime]).finally(() => over.abort());
    this.#free = looked.then(() => this.#timing.pause(LIMITS.unknownKeyPauseMs));
    await looked;
  }

  async #folded(): Promise<void> {
    try {
      const head = await this.#options.log.headPosition();
      if (head !== null) await this.#options.projections.whenAt(head);
    } catch {
      // The log has just gone away, or all ends: whether a key can be told unknown then is `Availability`'s to say.
    }
  }
}
