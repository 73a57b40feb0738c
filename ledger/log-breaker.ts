import type { AccountId } from '../contracts/ids.ts';
import { LIMITS } from '../contracts/limits.ts';
import { TIMING, type Timing } from './timing.ts';

/** Accounts of which it is remembered when they had their turn. */
const TURNS_KEPT_MAX = 1_000;

/** Called with what the last attempt failed by, and whether it is news. */
type OnFailed = (error: unknown, isNews: boolean) => void;
/** Called with whether the log takes appends again; otherwise it can be read again, and whether it takes them is to be tried. */
type OnSignOfLife = (isClosed: boolean) => void;

interface LogBreakerOptions {
  readonly clock: () => number;
  readonly timing?: Pick<Timing, 'later'>;
  /** Whether it can be read, at first: not before the views that read it follow it. */
  readonly isRead?: boolean;
}

interface TurnRequest {
  readonly who: AccountId;
  readonly resolve: (mayTry: boolean) => void;
}

/**
 * The circuit breaker of the event log: the one place that knows whether it is there.
 *
 *   closed ──a whole round of somebody's attempts has failed, ──▶ open ──an append is taken──▶ closed
 *            and nobody's append was taken meanwhile                └──nobody waits, and a probe is answered──▶ closed
 *
 * Appends alone open and close it. While it is open, half-open probes go on: of those whose appends have failed one tries often
 * (`waits`), whoever asks anew takes turns (`mayAppend`), and where nobody waits log-probe.ts asks. That the log can be read
 * again says nothing of appends: all try at once. Where it cannot be read it is away, too.
 */
export class LogBreaker {
  readonly #clock: () => number;
  readonly #timing: Pick<Timing, 'later'>;
  readonly #onFailed: OnFailed[] = [];
  readonly #onSignOfLife: OnSignOfLife[] = [];
  /** Since when it is not read. */
  #unreadSinceMs: number | null;
  /** Since when appends have failed. */
  #openSinceMs: number | null = null;
  #isGivenUp = false;
  #taken = 0;
  readonly #waiting = new Set<object>();
  #prober: object | null = null;
  readonly #turnRequests = new Set<TurnRequest>();
  #isTurnFree = true;
  /** When each account had its last turn, by their number. */
  readonly #turns = new Map<AccountId, number>();
  #turn = 0;
  /** A probe has closed it, and no append was taken since. */
  #isClosedByProbe = false;
  #isProbeBelieved = true;

  constructor({ clock, timing = TIMING, isRead = true }: LogBreakerOptions) {
    this.#clock = clock;
    this.#timing = timing;
    this.#unreadSinceMs = isRead ? null : clock();
  }

  get isOpen(): boolean {
    return this.#openSinceMs !== null;
  }

  /** Whether the log is known to be out of reach, for appends or for reads. */
  get isAway(): boolean {
    return this.awaySinceMs !== null;
  }

  /** Since when, in milliseconds since 1970; null where it is not. */
  get awaySinceMs(): number | null {
    if (this.#openSinceMs === null || this.#unreadSinceMs === null) return this.#openSinceMs ?? this.#unreadSinceMs;
    return Math.min(this.#openSinceMs, this.#unreadSinceMs);
  }

  /** How many appends the log has taken, and how often it was found to be back: what began before tells nothing of it now. */
  get taken(): number {
    return this.#taken;
  }

  /** Whether nobody's append would tell that the log is back, so that a probe has to. */
  get wantsProbe(): boolean {
    return this.isOpen && !this.#isGivenUp && this.#waiting.size === 0 && this.#isProbeBelieved;
  }

  onFailed(listener: OnFailed): void {
    this.#onFailed.push(listener);
  }

  onSignOfLife(listener: OnSignOfLife): void {
    this.#onSignOfLife.push(listener);
  }

  /**
   * A whole round of somebody's attempts has failed. False where others' appends were taken meanwhile: then that is a trouble
   * of its own, and the log is there. @param takenBefore `taken` as it was when the round began
   */
  failed(error: unknown, takenBefore = this.#taken): boolean {
    if (this.#isGivenUp) return true;
    if (takenBefore !== this.#taken) return false;
    const isNews = !this.isOpen;
    this.#openSinceMs ??= this.#clock();
    // One that was answered and was not true is not believed again before an append is taken.
    if (this.#isClosedByProbe) this.#isProbeBelieved = false;
    if (isNews) this.#endTurn();
    for (const listener of this.#onFailed) listener(error, isNews);
    return true;
  }

  /** This process can use it no more, which is told elsewhere: away for good, whatever is still answered. */
  giveUp(): void {
    this.#openSinceMs ??= this.#clock();
    this.#isGivenUp = true;
  }

  /** The log has taken an append. */
  appended(): void {
    this.#taken++;
    this.#isClosedByProbe = false;
    this.#isProbeBelieved = true;
    this.#close();
  }

  /** It has answered a probe. Where somebody waits, that one's append says more. */
  probed(): void {
    if (!this.isOpen) return;
    this.#isClosedByProbe = this.#waiting.size === 0;
    if (this.#isClosedByProbe) this.#close();
    else this.#tellSignOfLife(false);
  }

  readsLost(): void {
    this.#unreadSinceMs ??= this.#clock();
  }

  readsBack(): void {
    if (this.#unreadSinceMs === null) return;
    this.#unreadSinceMs = null;
    this.#tellSignOfLife(false);
  }

  /** An append has failed, and is tried again after a pause. Whether that is to be a short one: of one at a time. */
  waits(who: object): boolean {
    if (!this.isOpen) return false;
    this.#waiting.add(who);
    this.#prober ??= who;
    return this.#prober === who;
  }

  /** Its pause is over. Whoever fails next may try often, so that one with a trouble of its own does not do so for ever. */
  tries(who: object): void {
    if (this.#prober === who) this.#prober = null;
  }

  /** It has nothing to append any more, or cannot. */
  waitsNoMore(who: object): void {
    this.#waiting.delete(who);
  }

  /**
   * Whether to try an append for an account: at once while the breaker is closed. While it is open one may every so often,
   * of those who ask the one who has tried the longest ago. The others wait a little for what comes of it, so that nobody
   * is refused because of an outage that is over.
   */
  async mayAppend(who: AccountId): Promise<boolean> {
    if (!this.isOpen) return true;
    if (this.#isGivenUp) return false;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const turnRequest = { who, resolve };
    this.#turnRequests.add(turnRequest);
    this.#giveTurn();
    this.#timing.later(LIMITS.logVerdictMs, () => {
      this.#turnRequests.delete(turnRequest);
      resolve(false);
    });
    return await promise;
  }

  #giveTurn(): void {
    if (!this.#isTurnFree || this.#turnRequests.size === 0) return;
    let next: TurnRequest | null = null;
    for (const turnRequest of this.#turnRequests)
      if (next === null || this.#lastTurn(turnRequest) < this.#lastTurn(next)) next = turnRequest;
    if (next === null) return;
    if (this.#turns.size >= TURNS_KEPT_MAX) this.#turns.clear();
    this.#turns.set(next.who, ++this.#turn);
    this.#turnRequests.delete(next);
    next.resolve(true);
    this.#endTurn();
  }

  #lastTurn({ who }: TurnRequest): number {
    return this.#turns.get(who) ?? 0;
  }

  /** The next one may be given after a while. */
  #endTurn(): void {
    this.#isTurnFree = false;
    this.#timing.later(LIMITS.settlementProbeMs, () => {
      this.#isTurnFree = true;
      this.#giveTurn();
    });
  }

  #close(): void {
    if (!this.isOpen || this.#isGivenUp) return;
    this.#taken++;
    this.#openSinceMs = null;
    this.#prober = null;
    this.#waiting.clear();
    this.#turns.clear();
    for (const { resolve } of this.#turnRequests) resolve(true);
    this.#turnRequests.clear();
    this.#tellSignOfLife(true);
  }

  #tellSignOfLife(isClosed: boolean): void {
    for (const listener of this.#onSignOfLife) listener(isClosed);
  }
}
