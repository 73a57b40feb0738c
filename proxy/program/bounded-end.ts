import { LIMITS } from '../../contracts/limits.ts';

/**
 * The end of a program that has met what it cannot go on after. It closes what it has open, each thing by a bound of its
 * own, and together they may take longer than a supervisor should wait: a log that answers nobody, a client that reads its
 * stream to the end. When its time is over it leaves all the same, which loses nothing: it is as though it had been killed.
 */
export class BoundedEnd {
  readonly #leave: (error: unknown) => void;
  #timer: NodeJS.Timeout | null = null;

  /** @param leave tells the error and ends the process */
  constructor(leave: (error: unknown) => void) {
    this.#leave = leave;
  }

  begin(error: unknown): void {
    this.#timer ??= setTimeout(() => this.#leave(error), LIMITS.fatalEndMs);
  }

  over(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
  }
}
