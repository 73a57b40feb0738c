import { pause } from './pause.ts';

export interface BackOffBounds {
  readonly firstMs: number;
  readonly maxMs: number;
}

/**
 * How long what has failed so often in a row (from 1 on) waits before it is tried again: it doubles up to a bound, and
 * half of it is left to chance, so that what failed together does not come again together.
 * @param random at least 0, less than 1
 */
export function backOffMs({ firstMs, maxMs }: BackOffBounds, failures: number, random: number): number {
  const longest = Math.min(maxMs, firstMs * 2 ** Math.min(failures - 1, DOUBLINGS_MAX));
  return longest * (0.5 + random / 2);
}

const DOUBLINGS_MAX = 20;

/** Waits between tries of what must be tried for ever. */
export class BackOff {
  readonly #bounds: BackOffBounds;
  #tries = 0;

  constructor(bounds: BackOffBounds) {
    this.#bounds = bounds;
  }

  /** Tries since the last success. */
  get tries(): number {
    return this.#tries;
  }

  reset(): void {
    this.#tries = 0;
  }

  /** Resolves early when the signal is aborted. @param maxMs where this once it is not to wait up to the bound */
  async wait(signal: AbortSignal, maxMs = this.#bounds.maxMs): Promise<void> {
    const bounds = { ...this.#bounds, maxMs: Math.min(this.#bounds.maxMs, maxMs) };
    this.#tries++;
    await pause(backOffMs(bounds, this.#tries, Math.random()), signal);
  }
}
