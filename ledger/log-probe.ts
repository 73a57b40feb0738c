import { type EventLog, isLogAway } from '../contracts/event-log.ts';
import { LEDGER_STREAM } from '../contracts/ids.ts';
import { LIMITS } from '../contracts/limits.ts';
import { probe, UNREACHED } from './append-probe.ts';
import type { LogBreaker } from './log-breaker.ts';
import { TIMING, type Timing } from './timing.ts';

interface LogProbeOptions {
  readonly log: Pick<EventLog, 'append' | 'headPosition'>;
  readonly breaker: LogBreaker;
  readonly timing?: Pick<Timing, 'pause'>;
}

/**
 * Asks an event log whose breaker is open whether it is back, where nobody waits whose append would tell: with an append
 * that writes nothing (append-probe.ts), so often as one of those who wait would try. So often, too, whether it can be read
 * again where a read was in vain that nobody follows up.
 */
export class LogProbe {
  readonly #options: LogProbeOptions;
  readonly #closing = new AbortController();
  #rest = new AbortController();
  #isRunning = false;
  #hasReadFailed = false;

  constructor(options: LogProbeOptions) {
    this.#options = options;
    const { breaker } = options;
    breaker.onFailed(() => this.#start());
    // What can be read again is asked at once.
    breaker.onSignOfLife(() => this.#rest.abort());
  }

  /** A read was not answered, and no view follows the log that would tell when one is. */
  readFailed(): void {
    this.#hasReadFailed = true;
    this.#options.breaker.readsLost();
    this.#start();
  }

  /** Asks no more. What is under way ends with the log. */
  close(): void {
    this.#closing.abort();
  }

  #start(): void {
    if (!this.#isRunning) void this.#run();
  }

  async #run(): Promise<void> {
    const { breaker, timing = TIMING } = this.#options;
    const { signal } = this.#closing;
    this.#isRunning = true;
    while ((breaker.isOpen || this.#hasReadFailed) && !signal.aborted) {
      this.#rest = new AbortController();
      await timing.pause(LIMITS.settlementProbeMs, AbortSignal.any([signal, this.#rest.signal]));
      if (this.#hasReadFailed && !signal.aborted) await this.#read();
      if (breaker.wantsProbe && !signal.aborted) await this.#ask();
    }
    this.#isRunning = false;
  }

  async #read(): Promise<void> {
    const { log, breaker } = this.#options;
    try {
      await log.headPosition();
    } catch (error) {
      // Any other answer is one: who reads meets it, too.
      if (isLogAway(error)) return;
    }
    this.#hasReadFailed = false;
    breaker.readsBack();
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
