/**
 * How long a client has kept an upstream waiting because it did not take what had come. An answer that breaks off under
 * that ends by its client: the upstream's time runs on while nothing of it is read.
 */
export class BackPressure {
  readonly #longMs: number;
  readonly #monotonic: () => number;
  #beganMs: number | null = null;
  #endedMs = Number.NEGATIVE_INFINITY;
  /** In all, and since the client last kept up for long. */
  #ms = 0;
  #latelyMs = 0;

  /**
   * @param clientStallMs after which a client that takes nothing has left; half of it in all is for long
   * @param monotonic milliseconds by a clock that nobody sets
   */
  constructor(clientStallMs: number, monotonic: () => number) {
    this.#longMs = clientStallMs / 2;
    this.#monotonic = monotonic;
  }

  get isNow(): boolean {
    return this.#beganMs !== null;
  }

  /** For so long in all that the answer's whole time may be over because of it. */
  get isForLong(): boolean {
    return this.#ms + this.#sinceMs() >= this.#longMs;
  }

  /** For so long, and not long ago, that what the upstream does now may be because of it. */
  get isForLongLately(): boolean {
    if (this.#beganMs === null && this.#hasKeptUp(this.#monotonic())) return false;
    return this.#latelyMs + this.#sinceMs() >= this.#longMs;
  }

  begin(): void {
    const nowMs = this.#monotonic();
    if (this.#hasKeptUp(nowMs)) this.#latelyMs = 0;
    this.#beganMs = nowMs;
  }

  end(): void {
    if (this.#beganMs === null) return;
    const sinceMs = this.#sinceMs();
    this.#ms += sinceMs;
    this.#latelyMs += sinceMs;
    this.#endedMs = this.#beganMs + sinceMs;
    this.#beganMs = null;
  }

  #sinceMs(): number {
    return this.#beganMs === null ? 0 : this.#monotonic() - this.#beganMs;
  }

  /** Since it held back last the client took what came for as long as makes it long. */
  #hasKeptUp(nowMs: number): boolean {
    return nowMs - this.#endedMs >= this.#longMs;
  }
}
