import { FEED_LIMITS } from './limits.ts';

/** Waits between tries of what must be tried for ever: doubling to a bound, with jitter, so that many do not come at once. */
export class BackOff {
  readonly #maxMs: number;
  #tries = 0;

  constructor(maxMs: number = FEED_LIMITS.backOffMaxMs) {
    this.#maxMs = maxMs;
  }

  /** Tries since the last success. */
  get tries(): number {
    return this.#tries;
  }

  reset(): void {
    this.#tries = 0;
  }

  /** Resolves early when the signal is aborted. @param maxMs where this once it is not to wait up to the bound */
  async wait(signal: AbortSignal, maxMs = this.#maxMs): Promise<void> {
    const ms = Math.min(this.#maxMs, maxMs, FEED_LIMITS.backOffMs * 2 ** Math.min(this.#tries, 20));
    this.#tries++;
    await pause(ms / 2 + Math.random() * (ms / 2), signal);
  }
}

/** Resolves after the time, or early when the signal is aborted; whoever paused looks at the signal. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
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
