import type { BodyOwner } from './body-owner.ts';
import { OwnerTurns } from './owner-turns.ts';

/**
 * Long bodies and answers are taken in as much at a time as Node reads at once, of one of them in a turn of the event loop,
 * accounts in turn. Node would read up to 2 MiB of each connection in every turn, and whoever else is served waits that long.
 * So the busier the loop is, the slower they come, all of them together.
 */
export class IntakeTurns {
  readonly #waiting = new OwnerTurns<() => void>();
  #isBegun = false;
  #turn = 0;
  #isTurnAsked = false;
  #bytesOfTurn = 0;

  /** Bodies and answers of which more comes when it is their turn. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** The turn of the event loop: the same number throughout, and another one in each later turn. */
  get turn(): number {
    if (!this.#isTurnAsked) setImmediate(this.#endTurn);
    this.#isTurnAsked = true;
    return this.#turn;
  }

  /** Counts what has come of an answer. Returns how much of all answers has come in this turn, with it. */
  count(bytes: number): number {
    this.#bytesOfTurn += bytes;
    return this.#bytesOfTurn;
  }

  /** Calls `goOn` in a later turn of the event loop. */
  wait(owner: BodyOwner, goOn: () => void): void {
    this.#waiting.add(owner, goOn);
    if (this.#isBegun) return;
    this.#isBegun = true;
    setImmediate(this.#next);
  }

  readonly #next = (): void => {
    this.#waiting.take()?.();
    if (this.#waiting.size > 0) setImmediate(this.#next);
    else this.#isBegun = false;
  };

  readonly #endTurn = (): void => {
    this.#turn++;
    this.#bytesOfTurn = 0;
    this.#isTurnAsked = false;
  };
}
