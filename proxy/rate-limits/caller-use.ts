import type { RateLimitSet } from '../../contracts/rate-limits.ts';
import type { AskedCall, CallKind } from './asked-call.ts';
import { MinuteBucket } from './minute-bucket.ts';

/** A limit that is in a call's way. */
export interface Obstacle {
  readonly limit: keyof RateLimitSet;
  /** Until there is room; 0 where only the end of another call makes room, and nobody knows when that is. */
  readonly waitMs: number;
}

/** Of what there is a limit a minute. */
export type Minutely = 'requests' | 'inputTokens' | 'outputTokens';

/** What one account, or one key, has used of its limits: of three minutes' worths, and what is under way. */
export class CallerUse {
  /** As of the last call: they change with the account's plan and payments, and with the number of proxies. */
  limits: RateLimitSet;
  readonly #buckets: Readonly<Record<Minutely, MinuteBucket>>;
  readonly #underWay: Record<CallKind, number> = { message: 0, stream: 0, count: 0 };

  constructor(limits: RateLimitSet, nowMs: number) {
    this.limits = limits;
    this.#buckets = {
      requests: new MinuteBucket(nowMs),
      inputTokens: new MinuteBucket(nowMs),
      outputTokens: new MinuteBucket(nowMs),
    };
  }

  /** Of all limits that are in the way, the one that is for longest; null where none is. */
  obstacle({ kind, inputTokens }: AskedCall, nowMs: number): Obstacle | null {
    const full = this.#fullOf(kind);
    let worst: Obstacle | null = full === null ? null : { limit: full, waitMs: 0 };
    for (const of of kind === 'count' ? OF_COUNTS : OF_MESSAGES) {
      // What it will put out nobody knows: there is some room, and what is more than that is owed.
      const amount = of === 'inputTokens' ? inputTokens : 1;
      const waitMs = this.#buckets[of].waitMs(amount, this.limitOf(of), nowMs);
      if (waitMs > (worst?.waitMs ?? 0)) worst = { limit: LIMIT_OF[of], waitMs };
    }
    return worst;
  }

  begin({ kind, inputTokens }: AskedCall, nowMs: number): void {
    this.#underWay[kind]++;
    this.take('requests', 1, nowMs);
    this.take('inputTokens', inputTokens, nowMs);
  }

  end(kind: CallKind): void {
    if (this.#underWay[kind] === 0) throw new Error(`a ${kind} has ended that was not under way`);
    this.#underWay[kind]--;
  }

  take(of: Minutely, amount: number, nowMs: number): void {
    this.#buckets[of].take(amount, this.limitOf(of), nowMs);
  }

  giveBack(of: Minutely, amount: number, { taken, takenAtMs }: Taken, nowMs: number): void {
    this.#buckets[of].giveBack(amount, taken, takenAtMs, this.limitOf(of), nowMs);
  }

  limitOf(of: Minutely): number {
    return this.limits[LIMIT_OF[of]];
  }

  left(of: Minutely, nowMs: number): number {
    return this.#buckets[of].left(this.limitOf(of), nowMs);
  }

  fullInMs(of: Minutely, nowMs: number): number {
    return this.#buckets[of].fullInMs(this.limitOf(of), nowMs);
  }

  underWay(kind: CallKind): number {
    return this.#underWay[kind];
  }

  /** Whether it is as though nothing had ever been used. */
  isForgettable(nowMs: number): boolean {
    const { message, stream, count } = this.#underWay;
    return message + stream + count === 0 && OF_MESSAGES.every((of) => this.fullInMs(of, nowMs) === 0);
  }

  #fullOf(kind: CallKind): keyof RateLimitSet | null {
    const { message, stream, count } = this.#underWay;
    const { concurrentRequests, concurrentStreams, concurrentCounts } = this.limits;
    if (kind === 'count') return count >= concurrentCounts ? 'concurrentCounts' : null;
    if (message + stream >= concurrentRequests) return 'concurrentRequests';
    return kind === 'stream' && stream >= concurrentStreams ? 'concurrentStreams' : null;
  }
}

/** What was taken, and when. */
export interface Taken {
  readonly taken: number;
  readonly takenAtMs: number;
}

/** Written out: a name that is put together for each look is looked up slowly. */
const LIMIT_OF = {
  requests: 'requestsPerMinute',
  inputTokens: 'inputTokensPerMinute',
  outputTokens: 'outputTokensPerMinute',
} as const satisfies Record<Minutely, keyof RateLimitSet>;

const OF_MESSAGES: readonly Minutely[] = ['requests', 'inputTokens', 'outputTokens'];
const OF_COUNTS: readonly Minutely[] = ['requests'];
