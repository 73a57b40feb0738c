import type { RecordedEvent } from '../contracts/event-log.ts';
import type { Position } from '../contracts/ids.ts';
import { VIEW_LIMITS } from './limits.ts';

/** From the log all up to the last; from partitions less, so that single ones beyond are remembered for a while. */
export class FoldedPositions {
  #through: Position | null = null;
  #recent = new Set<Position>();
  /** Those before them: to take the oldest one out of a set passes by all that were taken out before it. */
  #earlier: ReadonlySet<Position> = new Set();

  has(at: Position): boolean {
    return (this.#through !== null && at <= this.#through) || this.#recent.has(at) || this.#earlier.has(at);
  }

  /** Begins again with everything up to there. */
  reset(through: Position | null): void {
    this.#through = through;
    this.#recent.clear();
    this.#earlier = new Set();
  }

  add(events: readonly RecordedEvent[], through: Position | null): void {
    if (through !== null && through > (this.#through ?? -1)) this.#through = through;
    for (const { position } of events) if (position > (this.#through ?? -1)) this.#remember(position);
  }

  #remember(position: Position): void {
    this.#recent.add(position);
    if (this.#recent.size < VIEW_LIMITS.recentPositionsMax) return;
    this.#earlier = this.#recent;
    this.#recent = new Set();
  }
}
