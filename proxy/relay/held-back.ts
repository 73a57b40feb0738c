/**
 * How long a client has kept an upstream waiting because it did not take what had come. An answer that breaks off under
 * that ends by its client: the upstream's time runs on while nothing of it is read.
 */
export class HeldBack {
  readonly #longMs: number;
  readonly #monotonic: () => number;
  #beganMs: number | null = null;
  #ms = 0;

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

  /** For so long in all that what the upstream did then may be because of it. */
  get isForLong(): boolean {
    const sinceMs = this.#beganMs === null ? 0 : this.#monotonic() - this.#beganMs;
    return this.#ms + sinceMs >= this.#longMs;
  }

  /** An answer that ends now ends by its client. */
  get isByClient(): boolean {
    return this.isNow || this.isForLong;
  }

  begin(): void {
    this.#beganMs = this.#monotonic();
  }

  end(): void {
    if (this.#beganMs !== null) this.#ms += this.#monotonic() - this.#beganMs;
    this.#beganMs = null;
  }
}
