import type { EventLog } from '../contracts/event-log.ts';
import { LEDGER_STREAM } from '../contracts/ids.ts';
import { LIMITS } from '../contracts/limits.ts';
import { probe, UNREACHED } from './append-probe.ts';
import type { LogBreaker } from './log-breaker.ts';
import { TIMING, type Timing } from './timing.ts';

interface LogProbeOptions {
  readonly log: Pick<EventLog, 'append'>;
  readonly breaker: LogBreaker;
  readonly timing?: Pick<Timing, 'pause'>;
}

/**
 * Asks an event log whose breaker is open whether it is back, where nobody waits whose append would tell: with an append
 * that writes nothing (append-probe.ts), so often as one of those who wait would try.
 */
export class LogProbe {
  readonly #options: LogProbeOptions;
  readonly #closing = new AbortController();
  #rest = new AbortController();
  #isRunning = false;

  constructor(options: LogProbeOptions) {
    this.#options = options;
    const { breaker } = options;
    breaker.onFailed(() => {
      if (!this.#isRunning) void this.#run();
    });
    // What can be read again is asked at once.
    breaker.onSignOfLife(() => this.#rest.abort());
  }

  /** Asks no more. What is under way ends with the log. */
  close(): void {
    this.#closing.abort();
  }

  async #run(): Promise<void> {
    const { breaker, timing = TIMING } = this.#options;
    const { signal } = this.#closing;
    this.#isRunning = true;
    while (breaker.isOpen && !signal.aborted) {
      this.#rest = new AbortController();
      await timing.pause(LIMITS.settlementProbeMs, AbortSignal.any([signal, this.#rest.signal]));
      if (breaker.wantsProbe && !signal.aborted) await this.#ask();
    }
    this.#isRunning = false;
  }

  async #ask(): Promise<void> {
    const { log, breaker } = this.#options;
    try {
      await log.append(LEDGER_STREAM, UNREACHED, probe('LogProbe'));
      breaker.probed();
    } catch (error) {
      breaker.failed(error);
    }
  }
}
