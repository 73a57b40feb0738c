import type { RateLimitSet } from '../../contracts/rate-limits.ts';
import { CallerUse } from './caller-use.ts';
import { LOOKED_AT, REMEMBERED_MAX } from './limits.ts';

/** An account or a key, and the limits that it has now. */
interface Subject {
  readonly id: string;
  readonly limits: RateLimitSet;
}

/**
 * What accounts and keys have used, for as long as it matters: whoever has nothing under way, and its full minute again, is
 * forgotten when others come. So there are as many as have called lately, and never more than a bound.
 */
export class RememberedUses {
  /** Those that were looked at last stand last. */
  readonly #uses = new Map<string, CallerUse>();
  readonly #max: number;

  constructor(max: number = REMEMBERED_MAX) {
    this.#max = max;
  }

  get count(): number {
    return this.#uses.size;
  }

  /** Null where nothing is remembered: nothing is used. */
  find(id: string, limits: RateLimitSet): CallerUse | null {
    const use = this.#uses.get(id);
    if (use === undefined) return null;
    use.limits = limits;
    return use;
  }

  /** Of a key and its account, which are remembered together; null where more callers than can be have something used. */
  ofBoth(key: Subject, account: Subject, nowMs: number): readonly [key: CallerUse, account: CallerUse] | null {
    const ofKey = this.find(key.id, key.limits);
    const ofAccount = this.find(account.id, account.limits);
    if (ofKey !== null && ofAccount !== null) return [ofKey, ofAccount];
    // Neither is forgotten for the other: what is new has used nothing yet.
    this.#forgetSome(nowMs);
    return this.#uses.size + 2 > this.#max ? null : [this.#remember(key, nowMs), this.#remember(account, nowMs)];
  }

  #remember({ id, limits }: Subject, nowMs: number): CallerUse {
    const use = this.find(id, limits) ?? new CallerUse(limits, nowMs);
    this.#uses.set(id, use);
    return use;
  }

  #forgetSome(nowMs: number): void {
    const oldest = this.#uses.entries();
    for (let looked = 0; looked < LOOKED_AT; looked++) {
      const next = oldest.next();
      if (next.done === true) return;
      const [id, use] = next.value;
      this.#uses.delete(id);
      if (!use.isForgettable(nowMs)) this.#uses.set(id, use);
    }
  }
}
