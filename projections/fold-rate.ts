/** What was folded of the source lately. */
export interface FoldedLately {
  readonly events: number;
  /** In so many milliseconds, which have ended then. */
  readonly ofMs: number;
  readonly atMs: number;
}

const SLOT_MS = 1_000;
/** The rate is that of so many slots, and of the one under way. */
const SLOTS = 10;

/** Events by the second, of the last seconds alone: as many numbers as seconds. By whoever's clock it is told. */
export class FoldRate {
  readonly #slots = new Map<number, number>();
  #sinceMs: number | null = null;

  add(events: number, nowMs: number): void {
    this.#sinceMs ??= nowMs;
    const slot = Math.floor(nowMs / SLOT_MS);
    this.#slots.set(slot, (this.#slots.get(slot) ?? 0) + events);
    this.#forget(slot);
  }

  lately(nowMs: number): FoldedLately {
    const slot = Math.floor(nowMs / SLOT_MS);
    this.#forget(slot);
    const fromMs = Math.max(this.#sinceMs ?? nowMs, (slot - SLOTS) * SLOT_MS);
    const events = [...this.#slots.values()].reduce((sum, count) => sum + count, 0);
    return { events, ofMs: Math.max(1, nowMs - fromMs), atMs: nowMs };
  }

  /** Also what a clock that was set back has left ahead of it. */
  #forget(slot: number): void {
    for (const one of this.#slots.keys()) if (one < slot - SLOTS || one > slot) this.#slots.delete(one);
    if (this.#sinceMs !== null && this.#sinceMs > (slot + 1) * SLOT_MS) this.#sinceMs = slot * SLOT_MS;
  }
}
