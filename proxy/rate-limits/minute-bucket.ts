import { DEBT_MINUTES_MAX } from './limits.ts';

const MINUTE_MS = 60_000;

/**
 * A token bucket: it holds a minute's worth of a limit and fills at that rate, so that in any t seconds at most
 * limit × (1 + t/60) is taken. Nothing runs while nobody asks. What is used is kept in sixty-thousandths, of which a limit
 * a minute gives back just as many a millisecond: whole numbers all along.
 */
export class MinuteBucket {
  #used = 0;
  #atMs: number;

  /** @param nowMs whole milliseconds by a clock that nobody sets, as in all that follows */
  constructor(nowMs: number) {
    this.#atMs = nowMs;
  }

  /** After how long `amount` can be taken; 0 where it can now. More than a minute's worth needs a full bucket. */
  waitMs(amount: number, limit: number, nowMs: number): number {
    this.#fill(limit, nowMs);
    const over = this.#used + (Math.min(amount, limit) - limit) * MINUTE_MS;
    return over <= 0 ? 0 : Math.ceil(over / limit);
  }

  /** Also what is not there: then it is owed. */
  take(amount: number, limit: number, nowMs: number): void {
    this.#fill(limit, nowMs);
    const most = Math.max(this.#used, (1 + DEBT_MINUTES_MAX) * limit * MINUTE_MS);
    this.#used = Math.min(this.#used + amount * MINUTE_MS, most);
  }

  /** Of what was taken, what was not needed; what has come back by itself since is not given back twice. */
  giveBack(amount: number, taken: number, takenAtMs: number, limit: number, nowMs: number): void {
    this.#fill(limit, nowMs);
    const stillTaken = taken * MINUTE_MS - (nowMs - takenAtMs) * limit;
    this.#used = Math.max(0, this.#used - Math.max(0, Math.min(amount * MINUTE_MS, stillTaken)));
  }

  left(limit: number, nowMs: number): number {
    this.#fill(limit, nowMs);
    return Math.max(0, limit - Math.ceil(this.#used / MINUTE_MS));
  }

  /** After how long nothing is used any more. */
  fullInMs(limit: number, nowMs: number): number {
    this.#fill(limit, nowMs);
    return Math.ceil(this.#used / limit);
  }

  #fill(limit: number, nowMs: number): void {
    if (nowMs <= this.#atMs) return;
    this.#used = Math.max(0, this.#used - (nowMs - this.#atMs) * limit);
    this.#atMs = nowMs;
  }
}
