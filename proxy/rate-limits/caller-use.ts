import type { RateLimitSet } from '../../contracts/rate-limits.ts';
import type { AskedMessage, CallKind, EnteringKind } from './asked-call.ts';
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

  /** What keeps a call from beginning: of requests a minute and calls at once, whichever is for longer; null where neither is. */
  obstacleToEnter(kind: EnteringKind, nowMs: number): Obstacle | null {
    const waitMs = this.nextRequestMs(nowMs);
    if (waitMs > 0) return { limit: 'requestsPerMinute', waitMs };
    return kind === 'count' ? this.obstacleToCount() : this.#obstacleToMessages();
  }

  /** What keeps a message that has begun from going on, now that it is known; of several limits the one that is for longest. */
  obstacleToAsk({ isStream, inputTokens }: AskedMessage, nowMs: number): Obstacle | null {
    const isFull = isStream && this.#underWay.stream >= this.limits.concurrentStreams;
    let worst: Obstacle | null = isFull ? { limit: 'concurrentStreams', waitMs: 0 } : null;
    for (const of of TOKENS) {
      // What it will put out nobody knows: there is some room, and what is more than that is owed.
      const amount = of === 'inputTokens' ? inputTokens : 1;
      const waitMs = this.#buckets[of].waitMs(amount, this.limitOf(of), nowMs);
      if (waitMs > (worst?.waitMs ?? 0)) worst = { limit: LIMIT_OF[of], waitMs };
    }
    return worst;
  }

  obstacleToCount(): Obstacle | null {
    return this.#underWay.count >= this.limits.concurrentCounts ? { limit: 'concurrentCounts', waitMs: 0 } : null;
  }

  /** Until there is a request to take. */
  nextRequestMs(nowMs: number): number {
    return this.#buckets.requests.waitMs(1, this.limitOf('requests'), nowMs);
  }

  begin(kind: CallKind): void {
    this.#underWay[kind]++;
  }

  end(kind: CallKind): void {
    if (this.#underWay[kind] === 0) throw new Error(`a ${kind} has ended that was not under way`);
    this.#underWay[kind]--;
  }

  take(of: Minutely, amount: number, nowMs: number): void {
    this.#buckets[of].take(amount, this.limitOf(of), nowMs);
  }

  giveBack(of: Minutely, amount: number, { taken, takenAtMs }: BucketTake, nowMs: number): void {
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

  /** Whether it is as though nothing had ever been used. */
  isForgettable(nowMs: number): boolean {
    const { message, stream, count } = this.#underWay;
    return message + stream + count === 0 && ALL.every((of) => this.fullInMs(of, nowMs) === 0);
  }

  #obstacleToMessages(): Obstacle | null {
    const { message, stream } = this.#underWay;
    return message + stream >= this.limits.concurrentRequests ? { limit: 'concurrentRequests', waitMs: 0 } : null;
  }
}

interface BucketTake {
  readonly taken: number;
  readonly takenAtMs: number;
}

/** Written out: a name that is put together for each look is looked up slowly. */
const LIMIT_OF = {
  requests: 'requestsPerMinute',
  inputTokens: 'inputTokensPerMinute',
  outputTokens: 'outputTokensPerMinute',
} as const satisfies Record<Minutely, keyof RateLimitSet>;

const TOKENS = ['inputTokens', 'outputTokens'] as const satisfies readonly Minutely[];
const ALL: readonly Minutely[] = ['requests', ...TOKENS];
