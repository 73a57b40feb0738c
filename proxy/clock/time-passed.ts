/** A moment by both clocks of the machine. */
export interface Moment {
  readonly wallMs: number;
  readonly monotonicMs: number;
}

/** Longer ago than anything. */
export const NEVER: Moment = Object.freeze({
  wallMs: Number.NEGATIVE_INFINITY,
  monotonicMs: Number.NEGATIVE_INFINITY,
});

/**
 * How long ago a moment is, where too short would cost money. The monotonic clock stands still while the machine is
 * suspended, and the wall clock can be set back: the one that says more counts. One that was set ahead says too much.
 */
export class TimePassed {
  readonly #wall: () => number;
  readonly #monotonic: () => number;

  /**
   * @param wall milliseconds since 1970, as the machine has them
   * @param monotonic milliseconds by a clock that nobody sets
   */
  constructor(wall: () => number, monotonic: () => number) {
    this.#wall = wall;
    this.#monotonic = monotonic;
  }

  now(): Moment {
    return { wallMs: this.#wall(), monotonicMs: this.#monotonic() };
  }

  /** The most that can have passed, in milliseconds. */
  mostSince({ wallMs, monotonicMs }: Moment): number {
    return Math.max(this.#wall() - wallMs, this.#monotonic() - monotonicMs);
  }

  /** What the clock says that nobody sets, in milliseconds: steady, but too little after a suspend. */
  steadySince({ monotonicMs }: Moment): number {
    return this.#monotonic() - monotonicMs;
  }
}
