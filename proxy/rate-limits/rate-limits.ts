import { type Refusal, refusal } from '../../contracts/errors.ts';
import type { RateLimitSet, RateLimitsConfiguration } from '../../contracts/rate-limits.ts';
import type { KnownPlans } from '../../ledger/catalog/known-plans.ts';
import type { AccountViews } from '../../projections/account-views.ts';
import type { Caller } from '../caller.ts';
import { type ApplyingLimits, LimitsByAccount } from './applying-limits.ts';
import type { AskedMessage, CallKind, EnteringKind } from './asked-call.ts';
import { CallerUse, type Obstacle } from './caller-use.ts';
import { rateLimitHeaders, WholeSeconds } from './rate-limit-headers.ts';
import { type LimitOwner, refuseByRate } from './rate-refusal.ts';
import { RateTicket } from './rate-ticket.ts';
import { RememberedUses } from './remembered-uses.ts';

interface RateLimitsParts {
  readonly configuration: RateLimitsConfiguration;
  readonly accounts: AccountViews;
  readonly catalog: () => KnownPlans;
  /** How many proxies are known to serve an account, this one among them. */
  readonly proxiesOf: (account: Caller['account']) => number;
  readonly clock: () => number;
  /** Milliseconds by a clock that nobody sets: a minute is a minute whatever becomes of the other. */
  readonly monotonic: () => number;
}

/** A limit that was in a call's way. */
interface RefusedBy {
  readonly whose: LimitOwner;
  readonly limit: keyof RateLimitSet;
}

/**
 * What each key and each account may ask for in a minute, and have under way at once. A call takes its place as soon as its
 * key is known, before its body is read: a request a minute and one at once. It has taken that for whatever it is refused
 * then, for what it asks is read before anything can be said to it. Tokens stand in its way when they are known, before money.
 */
export class RateLimits {
  readonly #parts: RateLimitsParts;
  readonly #limits: LimitsByAccount;
  readonly #uses = new RememberedUses();
  readonly #instants = new WholeSeconds();
  readonly #underWay: Record<CallKind, number> = { message: 0, stream: 0, count: 0 };
  readonly #refused: Readonly<Record<LimitOwner, Map<keyof RateLimitSet, number>>> = {
    account: new Map(),
    key: new Map(),
  };

  constructor(parts: RateLimitsParts) {
    this.#parts = parts;
    this.#limits = new LimitsByAccount(parts.configuration, parts.catalog);
  }

  /** Lets a call in whose body is still to be read, or says when to come back: then it has taken nothing. */
  enter(caller: Caller, kind: EnteringKind): RateTicket | Refusal {
    const nowMs = this.#nowMs();
    const limits = this.#limitsOf(caller);
    const key = { id: keyOf(caller), limits: limits.key };
    const uses = this.#uses.ofBoth(key, { id: caller.accountId, limits: limits.account }, nowMs);
    if (uses === null) return refusal('gateway_overloaded', 'too many callers at once', 1);
    const obstacles = ofBoth(uses, (use) => use.obstacleToEnter(kind, nowMs));
    const refused = this.#refuse(caller, uses, obstacles, 0);
    return refused ?? new RateTicket(kind, { caller, uses, monotonic: this.#nowMs, underWay: this.#underWay });
  }

  /** Takes what a message needs that has been read, or says when to come back: its request has been taken all the same. */
  ask(ticket: RateTicket, message: AskedMessage): Refusal | null {
    const nowMs = this.#nowMs();
    const { caller, uses } = ticket;
    const obstacles = ofBoth(uses, (use) => use.obstacleToAsk(message, nowMs));
    const refused = this.#refuse(caller, uses, obstacles, nextRequestMs(uses, nowMs));
    if (refused === null) ticket.asked(message);
    return refused;
  }

  /** A provider counts the tokens of a message that has been let in. Returns how that ends, or when to come back. */
  beginCount(ticket: RateTicket): (() => void) | Refusal {
    const { caller, uses } = ticket;
    const obstacles = ofBoth(uses, (use) => use.obstacleToCount());
    return this.#refuse(caller, uses, obstacles, nextRequestMs(uses, this.#nowMs())) ?? ticket.beginCount();
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

  underWay(kind: CallKind): number {
    return this.#underWay[kind];
  }

  /** How often each limit was in the way. */
  *byRefusal(): Generator<readonly [RefusedBy, number]> {
    for (const whose of ['account', 'key'] as const)
      for (const [limit, count] of this.#refused[whose]) yield [{ whose, limit }, count];
  }

  /** The limit that is in the way for longest: after that none is. @param leastMs what it has to wait for in any case */
  #refuse(
    caller: Caller,
    uses: Both<CallerUse>,
    [key, account]: Both<Obstacle | null>,
    leastMs: number,
  ): Refusal | null {
    const isAccounts = account !== null && (key === null || account.waitMs >= key.waitMs);
    const obstacle = isAccounts ? account : key;
    if (obstacle === null) return null;
    const whose = isAccounts ? 'account' : 'key';
    const counts = this.#refused[whose];
    counts.set(obstacle.limit, (counts.get(obstacle.limit) ?? 0) + 1);
    const { limits } = uses[isAccounts ? 1 : 0];
    const until = { limit: obstacle.limit, waitMs: Math.max(obstacle.waitMs, leastMs) };
    return refuseByRate(whose, until, limits, this.#limitsOf(caller).proxies);
  }

  #limitsOf({ accountId, account }: Caller): ApplyingLimits {
    const { accounts, proxiesOf, clock } = this.#parts;
    const { state } = accounts.read(accountId);
    const current = state.type === 'open' ? state : account;
    return this.#limits.of(current, proxiesOf(current), clock());
  }

  readonly #nowMs = (): number => Math.floor(this.#parts.monotonic());
}

/** Of a call's key and its account. */
type Both<T> = readonly [key: T, account: T];

const ofBoth = <T, R>([key, account]: Both<T>, look: (one: T) => R): Both<R> => [look(key), look(account)];

/** What is refused has taken its request: it needs another when it comes again. */
const nextRequestMs = ([key, account]: Both<CallerUse>, nowMs: number): number =>
  Math.max(key.nextRequestMs(nowMs), account.nextRequestMs(nowMs));

/** An account's own, whatever another's key is called. */
const keyOf = ({ accountId, key }: Caller): string => `${accountId} ${key.keyId}`;
