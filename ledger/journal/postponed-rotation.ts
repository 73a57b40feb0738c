/** A rotation that had no descriptor for its segment: how long that has been so, and when it is tried again. */
export class PostponedRotation {
  readonly #pauseMs: number;
  readonly #retry: () => void;
  #sinceMs: number | null = null;
  #timer: NodeJS.Timeout | null = null;

  /** @param retry rotates, and then calls `end`; or is refused once more, and calls `begin` */
  constructor(pauseMs: number, retry: () => void) {
    this.#pauseMs = pauseMs;
    this.#retry = retry;
  }

  /** By `performance.now()`; null where none is postponed. */
  get sinceMs(): number | null {
    return this.#sinceMs;
  }

  /** Between two tries. */
  get isWaiting(): boolean {
    return this.#timer !== null;
  }

  begin(): void {
    this.#sinceMs ??= performance.now();
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.#retry();
    }, this.#pauseMs);
    this.#timer.unref();
  }

  end(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#sinceMs = null;
  }
}
