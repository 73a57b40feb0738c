import { monitorEventLoopDelay } from 'node:perf_hooks';
import { type Refusal, refusal } from '../contracts/errors.ts';
import { LIMITS } from '../contracts/limits.ts';

/**
 * Watches how late the event loop is, and sheds load while it is too late: whoever asks then is told at once to come back,
 * so that those who are being served get their turns. It takes `loopDelayTimes` readings in a row to begin, and one below
 * a much lower bound to end: a single stall sheds nothing, and what is shed does not flutter.
 */
export class LoopDelay {
  readonly #read: () => number;
  readonly #timer: NodeJS.Timeout;
  #ms = 0;
  #times = 0;
  #isBehind = false;

  /** @param read milliseconds that the loop was late, on the average since it was asked last */
  constructor(read: () => number) {
    this.#read = read;
    this.#timer = setInterval(() => this.look(), LIMITS.loopDelayLookMs);
    this.#timer.unref();
  }

  /** As it was at the last look. */
  get ms(): number {
    return this.#ms;
  }

  get isBehind(): boolean {
    return this.#isBehind;
  }

  /** Why nothing new is taken; null where it is. */
  refuse(): Refusal | null {
    return this.#isBehind
      ? refusal('gateway_overloaded', 'the gateway is behind with what it has; try again', SHED_RETRY_S)
      : null;
  }

  /** What is amiss while it is behind; null while it is not. */
  describe(): string | null {
    return this.#isBehind
      ? `the event loop is ${Math.round(this.#ms)} ms late: new messages and counts are refused until it has caught up`
      : null;
  }

  look(): void {
    this.#ms = this.#read();
    this.#times = this.#ms >= LIMITS.loopDelayShedMs ? this.#times + 1 : 0;
    this.#isBehind = this.#isBehind ? this.#ms > LIMITS.loopDelayCalmMs : this.#times >= LIMITS.loopDelayTimes;
  }

  close(): void {
    clearInterval(this.#timer);
  }
}

const SHED_RETRY_S = 2;
const RESOLUTION_MS = 20;
const NS_PER_MS = 1_000_000;

/** The reading of this process: what its loop was late by, on the average since the last reading. */
export function loopDelayOfProcess(): () => number {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  histogram.enable();
  return () => {
    // Without a sample the loop has not been late by as much as one.
    const ms = histogram.count === 0 ? 0 : Math.max(0, histogram.mean / NS_PER_MS - RESOLUTION_MS);
    histogram.reset();
    return ms;
  };
}
