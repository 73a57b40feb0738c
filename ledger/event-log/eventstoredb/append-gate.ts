import { EventLogError } from '../../../contracts/event-log.ts';
import { EVENTSTOREDB_LIMITS } from './limits.ts';

interface Waiting {
  readonly chars: number;
  readonly timer: NodeJS.Timeout;
  readonly start: () => void;
  readonly refuse: (error: EventLogError) => void;
}

/** Lets a bounded number of appends run at once, in the order they came; a bounded number waits a bounded time. */
export class AppendGate {
  readonly #turnMs: number;
  readonly #waiting = new Set<Waiting>();
  #chars = 0;
  #running = 0;
  #whenIdle: (() => void) | null = null;

  constructor(turnMs: number) {
    this.#turnMs = turnMs;
  }

  /** @throws EventLogError `unavailable` when there is no room or no turn comes: then nothing was begun */
  async run<Result>(chars: number, append: () => Promise<Result>): Promise<Result> {
    if (this.#running >= EVENTSTOREDB_LIMITS.appendsInFlightMax) await this.#turn(chars);
    else this.#running++;
    try {
      return await append();
    } finally {
      this.#handOver();
    }
  }

  /** Resolves when nothing runs or waits, or when the time is up; what then still waits is refused. */
  async drain(timeMs: number): Promise<void> {
    if (this.#running === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#whenIdle = resolve;
    const timer = setTimeout(resolve, timeMs);
    await promise;
    clearTimeout(timer);
    for (const waiting of [...this.#waiting]) this.#refuse(waiting, 'the log was closed before its turn came');
  }

  #turn(chars: number): Promise<void> {
    const { appendsWaitingMax, appendsWaitingCharsMax } = EVENTSTOREDB_LIMITS;
    if (this.#waiting.size >= appendsWaitingMax || this.#chars + chars > appendsWaitingCharsMax)
      throw new EventLogError('unavailable', `${this.#waiting.size} appends wait already (appendsWaitingMax)`);
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        chars,
        timer: setTimeout(() => this.#refuse(waiting, `no turn in ${this.#turnMs} ms (appendTurnMs)`), this.#turnMs),
        start: resolve,
        refuse: reject,
      };
      this.#waiting.add(waiting);
      this.#chars += chars;
    });
  }

  /** The place of an append that has ended is the first waiting one's, before a newcomer can take it. */
  #handOver(): void {
    const [first] = this.#waiting;
    if (first !== undefined) {
      this.#remove(first);
      first.start();
    } else if (--this.#running === 0) this.#whenIdle?.();
  }

  #refuse(waiting: Waiting, reason: string): void {
    this.#remove(waiting);
    waiting.refuse(new EventLogError('unavailable', `the append was not begun: ${reason}`));
  }

  #remove(waiting: Waiting): void {
    clearTimeout(waiting.timer);
    this.#waiting.delete(waiting);
    this.#chars -= waiting.chars;
  }
}
