import type { Outcome } from '../contracts/events.ts';
import { Tally } from './tally.ts';

/** What one account's bodies may take, how many of its long ones may wait to be read, and what may come from one address at once. */
type Bound = 'bodyBytes' | 'bodiesWaiting' | 'requestsOfAddress';

const STATUS_MAX = 599;

/** Counts of answers and of ended requests. Counting allocates nothing; who reads the metrics pays. */
export class RequestCounts {
  readonly #answers = new Float64Array(STATUS_MAX + 1);
  readonly #outcomes = new Map<Outcome, number>();
  /** Answers by priority capacity that their requests had not asked for: billed at standard prices. */
  priorityUnasked = 0;
  /** There were too many. */
  connectionsRefused = 0;
  /** Requests that were refused because the event loop was behind. */
  shed = 0;
  readonly #refusedByBounds = new Tally<Bound>();

  /** An answer has ended. */
  answered(status: number): void {
    const counted = Math.min(status, STATUS_MAX);
    this.#answers[counted] = (this.#answers[counted] ?? 0) + 1;
  }

  /** A request that went upstream has ended and its usage is taken down. */
  ended(outcome: Outcome): void {
    this.#outcomes.set(outcome, (this.#outcomes.get(outcome) ?? 0) + 1);
  }

  /** It was refused with 429, by a bound that is no rate limit. */
  refusedByBound(bound: Bound): void {
    this.#refusedByBounds.add(bound);
  }

  byBound(bound: Bound): number {
    return this.#refusedByBounds.of(bound);
  }

  /** HTTP status and how many answers had it, where any had. */
  *byStatus(): Generator<readonly [status: number, count: number]> {
    for (const [status, count] of this.#answers.entries()) if (count > 0) yield [status, count];
  }

  byOutcome(): Iterable<readonly [Outcome, number]> {
    return this.#outcomes;
  }
}
