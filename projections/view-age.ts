/** Time since the views were last known to hold all. Wall-clock milliseconds since 1970: they outlive the process. */
export class ViewAge {
  #isLive = false;
  #currentAtMs: number | null = null;

  /** Whether the views follow their source right now. */
  get isLive(): boolean {
    return this.#isLive;
  }

  /** The views are those of a file that was current then; null where it never was, or where they are gone. */
  restored(currentAtMs: number | null): void {
    this.#isLive = false;
    this.#currentAtMs = currentAtMs;
  }

  caughtUp(): void {
    this.#isLive = true;
  }

  dropped(nowMs: number): void {
    this.#currentAtMs = this.currentAtMs(nowMs);
    this.#isLive = false;
  }

  /** When the views were last known to be current; null when they never were. */
  currentAtMs(nowMs: number): number | null {
    return this.#isLive ? nowMs : this.#currentAtMs;
  }

  /** 0 while live; null when the views never held everything. A clock that was set back makes nothing younger than 0. */
  ageMs(nowMs: number): number | null {
    const currentAtMs = this.currentAtMs(nowMs);
    return currentAtMs === null ? null : Math.max(0, nowMs - currentAtMs);
  }
}
