import type { AccountId } from '../contracts/ids.ts';
import { LIMITS } from '../contracts/limits.ts';

/** Accounts of which it is remembered when they tried. */
const TRIED_BY_MAX = 1_000;

/** Called with what the last attempt failed by, and whether it is news. */
type OnFailed = (error: unknown, isNews: boolean) => void;
/** Called with whether the log was away until then. */
type OnAnswered = (wasAway: boolean) => void;

/**
 * The circuit breaker of the event log: the one place that knows whether it is there.
 *
 *   closed ──a whole round of attempts has failed──▶ open ──one probes, often──▶ half-open ──answered──▶ closed
 *                                                     ▲────────────in vain──────────┘
 *
 * It opens by appends that fail. Where the views read the log itself, that they cannot counts as away as well.
 */
export class LogBreaker {
  readonly #clock: () => number;
  readonly #isRead: () => boolean;
  readonly #onFailed: OnFailed[] = [];
  readonly #onAnswered: OnAnswered[] = [];
  #openSinceMs: number | null = null;
  #probe: object | null = null;
  #isGivenUp = false;
  #triedMs = Number.NEGATIVE_INFINITY;
  readonly #triedBy = new Map<AccountId, number>();

  /** @param isRead false while views that read the log itself do not follow it */
  constructor(clock: () => number, isRead: () => boolean = () => true) {
    this.#clock = clock;
    this.#isRead = isRead;
  }

  /** Since when appends have failed, in milliseconds since 1970; null where they do not. */
  get openSinceMs(): number | null {
    return this.#openSinceMs;
  }

  get isOpen(): boolean {
    return this.#openSinceMs !== null;
  }

  /** Whether the log is known to be out of reach, for appends or for reads. */
  get isAway(): boolean {
    return this.isOpen || !this.#isRead();
  }

  onFailed(listener: OnFailed): void {
    this.#onFailed.push(listener);
  }

  onAnswered(listener: OnAnswered): void {
    this.#onAnswered.push(listener);
  }

  /** A whole round of somebody's attempts has failed. */
  failed(error: unknown): void {
    if (this.#isGivenUp) return;
    const isNews = !this.isOpen;
    if (isNews) this.#triedMs = this.#clock();
    this.#openSinceMs ??= this.#clock();
    for (const listener of this.#onFailed) listener(error, isNews);
  }

  /** This process can use it no more, which is told elsewhere: away for good, whatever is still answered. */
  giveUp(): void {
    this.#openSinceMs ??= this.#clock();
    this.#isGivenUp = true;
  }

  /** A sign of life: whoever waits after a failure tries again at once. */
  answered(): void {
    if (this.#isGivenUp) return;
    const wasAway = this.isOpen;
    this.#openSinceMs = null;
    this.#probe = null;
    for (const listener of this.#onAnswered) listener(wasAway);
  }

  /**
   * Whether to try an append for an account now: always while the log is there; while it is not, one every so often, so that
   * it is found to be back though nobody else waits for it. Accounts take turns: one with a trouble of its own takes no turn
   * of the others. Never while the views cannot read the log: they find it.
   */
  mayTry(who: AccountId): boolean {
    if (!this.isAway) return true;
    if (this.#isGivenUp || !this.#isRead()) return false;
    const nowMs = this.#clock();
    const { settlementProbeMs, settlementBackoffMaxMs } = LIMITS;
    const lastOwnMs = this.#triedBy.get(who) ?? Number.NEGATIVE_INFINITY;
    // The clock may have been set back.
    if (Math.abs(nowMs - this.#triedMs) < settlementProbeMs) return false;
    if (Math.abs(nowMs - lastOwnMs) < settlementBackoffMaxMs) return false;
    if (this.#triedBy.size >= TRIED_BY_MAX) this.#triedBy.clear();
    this.#triedBy.set(who, nowMs);
    this.#triedMs = nowMs;
    return true;
  }

  /** Whether this is who may try often while the log is away, so that its first answer ends the waiting of all. */
  mayProbe(who: object): boolean {
    if (this.isOpen) this.#probe ??= who;
    return this.#probe === who;
  }

  /** Whoever fails next takes over, so that one with a trouble of its own is not the probe for ever. */
  endProbe(who: object): void {
    if (this.#probe === who) this.#probe = null;
  }
}
