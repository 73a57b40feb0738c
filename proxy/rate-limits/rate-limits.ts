import { type Refusal, refusal } from '../../contracts/errors.ts';
import type { RateLimitSet, RateLimitsConfiguration } from '../../contracts/rate-limits.ts';
import type { AccountViews } from '../../projections/account-views.ts';
import type { Caller } from '../authenticate.ts';
import { type ApplyingLimits, LimitsByAccount } from './applying-limits.ts';
import type { AskedCall, CallKind } from './asked-call.ts';
import { CallerUse } from './caller-use.ts';
import { rateLimitHeaders, WholeSeconds } from './rate-limit-headers.ts';
import { refuseByRate, type Whose } from './rate-refusal.ts';
import { RateTicket } from './rate-ticket.ts';
import { RememberedUses } from './remembered-uses.ts';

export interface RateLimitsParts {
  readonly configuration: RateLimitsConfiguration;
  readonly accounts: AccountViews;
  /** How many proxies are known to serve an account, this one among them. */
  readonly proxiesOf: (account: Caller['account']) => number;
  readonly clock: () => number;
  /** Milliseconds by a clock that nobody sets: a minute is a minute whatever becomes of the other. */
  readonly monotonic: () => number;
}

/** A limit that was in a call's way. */
export interface RefusedBy {
  readonly whose: Whose;
  readonly limit: keyof RateLimitSet;
}

/**
 * What each key and each account may ask for in a minute, and have under way at once. It stands in a call's way after key
 * and model are known and before money; what is refused takes nothing of any limit.
 */
export class RateLimits {
  readonly #parts: RateLimitsParts;
  readonly #limits: LimitsByAccount;
  readonly #uses = new RememberedUses();
  readonly #instants = new WholeSeconds();
  readonly #underWay: Record<CallKind, number> = { message: 0, stream: 0, count: 0 };
  readonly #refused: Readonly<Record<Whose, Map<keyof RateLimitSet, number>>> = { account: new Map(), key: new Map() };

  constructor(parts: RateLimitsParts) {
    this.#parts = parts;
    this.#limits = new LimitsByAccount(parts.configuration);
  }

  /** Counts the call, or says when to come back. */
  take(caller: Caller, call: AskedCall): RateTicket | Refusal {
    const nowMs = this.#nowMs();
    const limits = this.#limitsOf(caller);
    const key = { id: keyOf(caller), limits: limits.key };
    const uses = this.#uses.ofBoth(key, { id: caller.accountId, limits: limits.account }, nowMs);
    if (uses === null) return refusal('gateway_overloaded', 'too many callers at once', 1);
    const [ofKey, ofAccount] = uses;
    const refused = this.#refuse(call, ofKey, ofAccount, limits.proxies, nowMs);
    if (refused !== null) return refused;
    this.#underWay[call.kind]++;
    return new RateTicket(call, uses, this.#nowMs, () => {
      this.#underWay[call.kind]--;
    });
  }

  /** Names and values in turn: what the caller has left of the limits a minute. */
  headersOf(caller: Caller): string[] {
    const { clock } = this.#parts;
    const nowMs = this.#nowMs();
    const limits = this.#limitsOf(caller);
    const ofKey = this.#uses.find(keyOf(caller), limits.key) ?? new CallerUse(limits.key, nowMs);
    const ofAccount = this.#uses.find(caller.accountId, limits.account) ?? new CallerUse(limits.account, nowMs);
    return rateLimitHeaders(ofKey, ofAccount, { atMs: nowMs, nowMs: clock(), instants: this.#instants });
  }

  get allUnderWay(): number {
    return Object.values(this.#underWay).reduce((all, ofKind) => all + ofKind, 0);
  }

  underWay(kind: CallKind): number {
    return this.#underWay[kind];
  }

  /** How often each limit was in the way. */
  *byRefusal(): Generator<readonly [RefusedBy, number]> {
    for (const whose of ['account', 'key'] as const)
      for (const [limit, count] of this.#refused[whose]) yield [{ whose, limit }, count];
  }

  /** The limit that is in the way for longest: after that none is. */
  #refuse(call: AskedCall, ofKey: CallerUse, ofAccount: CallerUse, proxies: number, nowMs: number): Refusal | null {
    const key = ofKey.obstacle(call, nowMs);
    const account = ofAccount.obstacle(call, nowMs);
    const isAccounts = account !== null && (key === null || account.waitMs >= key.waitMs);
    const obstacle = isAccounts ? account : key;
    if (obstacle === null) return null;
    const whose = isAccounts ? 'account' : 'key';
    const counts = this.#refused[whose];
    counts.set(obstacle.limit, (counts.get(obstacle.limit) ?? 0) + 1);
    return refuseByRate(whose, obstacle, (isAccounts ? ofAccount : ofKey).limits, proxies);
  }

  #limitsOf({ accountId, account }: Caller): ApplyingLimits {
    const { accounts, proxiesOf } = this.#parts;
    const { state } = accounts.read(accountId);
    const current = state.type === 'open' ? state : account;
    return this.#limits.of(current, proxiesOf(current));
  }

  readonly #nowMs = (): number => Math.floor(this.#parts.monotonic());
}

/** An account's own, whatever another's key is called. */
const keyOf = ({ accountId, key }: Caller): string => `${accountId} ${key.keyId}`;
