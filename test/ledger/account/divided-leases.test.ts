import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { leaseId, proxyId } from '../../../contracts/ids.ts';
import { type MicroUsd, microUsd } from '../../../contracts/money.ts';
import { type Grant, INITIAL_SPEND, type Lease, type OpenAccount } from '../../../ledger/account/account-state.ts';
import { NO_BILLING } from '../../../ledger/account/billing-state.ts';
import { leaseCredits } from '../../../ledger/account/decide-leases.ts';
import { usableCredits } from '../../../ledger/account/grants.ts';
import {
  freeCredit,
  type LeaseTerms,
  leftBeside,
  nextExpiry,
  sumOfLeases,
  withLease,
  withLeaseReduced,
} from '../../../ledger/account/leases.ts';
import {
  anyGrants,
  anyRequests,
  grant,
  hold,
  LAST_MS,
  settle,
  sorted,
  type UnderWay,
  worstUncovered,
} from './grants-under-way.ts';

/** Leases are divided where grants expire, so that it is known what an expired grant will pay of what others have leased. */

const FAR_MS = 1_000_000;
const accountOf = (grants: readonly Grant[], leases: OpenAccount['leases'] = {}): OpenAccount =>
  ({
    grants,
    leases,
    uncovered: 0n,
    billing: NO_BILLING,
    spend: INITIAL_SPEND,
  }) as unknown as OpenAccount;
const lease = (amount: number, change: Partial<Lease> = {}): Lease => ({
  leaseId: leaseId('lease_1'),
  proxy: proxyId('proxy_1'),
  epoch: 1,
  keyId: null,
  amount: microUsd(BigInt(amount)),
  beforeLimit: {},
  expiresAtMs: FAR_MS,
  requestsFromMs: 10,
  requestsBeforeMs: 50,
  ...change,
});
const ANY: LeaseTerms = {
  keyId: null,
  requestsBeforeMs: null,
  proxy: proxyId('proxy_0'),
  epoch: 1,
  othersAheadMs: FAR_MS,
};

describe('what can be leased beside another lease', () => {
  const soon = grant('soon', 10, { expiresAtMs: 50 });
  const grants = sorted([soon, grant('never', 10)]);
  const free = (other: Lease, nowMs: number, terms = ANY) =>
    freeCredit(accountOf(grants, { [other.leaseId]: other }), terms, nowMs);

  it('is all that an expired grant does not pay of the other', () => {
    expect([free(lease(8), 49), free(lease(8), 50), free(lease(13), 50)]).toEqual([12n, 10n, 7n]);
  });

  it('is less the whole other where its requests may start after the expiry, or nobody knows when', () => {
    expect(free(lease(8, { requestsBeforeMs: null }), 50)).toBe(2n);
    expect(free(lease(8, { requestsFromMs: null, requestsBeforeMs: null }), 50)).toBe(2n);
    expect(free(lease(8, { requestsBeforeMs: 51 }), 50)).toBe(2n);
  });

  it('is less the whole other where the expired grant came after its first requests, also when it has grown since', () => {
    const came = sorted([grant('soon', 10, { effectiveAtMs: 20, expiresAtMs: 50 }), grant('never', 10)]);
    const freeBeside = (other: Lease) => freeCredit(accountOf(came, { [other.leaseId]: other }), ANY, 50);
    expect([freeBeside(lease(8)), freeBeside(lease(8, { requestsFromMs: 20 }))]).toEqual([2n, 10n]);
    const data = {
      proxy: proxyId('proxy_1'),
      leaseId: leaseId('lease_1'),
      epoch: 1,
      amount: microUsd(1n),
      expiresAt: new Date(FAR_MS).toISOString(),
      requestsFrom: new Date(20).toISOString(),
      requestsBefore: new Date(50).toISOString(),
    };
    const { lease_1: grown } = withLease({ lease_1: lease(7) }, data);
    expect(grown).toEqual(lease(8));
  });

  it('is nothing for requests before an instant that another has leased for requests after', () => {
    const later = lease(1, { requestsFromMs: 50, requestsBeforeMs: null });
    expect(free(later, 49, { ...ANY, requestsBeforeMs: 50 })).toBe(0n);
    expect(free(later, 49, { ...ANY, requestsBeforeMs: 51 })).toBe(19n);
  });

  it('is only what is burned before the credit that another has leased for requests after, which are to find it', () => {
    const lasting = grant('never', 10, { priority: 0 });
    const inverted = sorted([lasting, grant('soon', 10, { expiresAtMs: 50, priority: 1 })]);
    const open = lease(4, { requestsBeforeMs: null });
    const account = accountOf(inverted, { [open.leaseId]: open });
    const before = { ...ANY, requestsBeforeMs: 50 };
    expect(freeCredit(account, before, 20)).toBe(6n);
    // Its own it compares when it admits.
    expect(freeCredit(account, { ...before, proxy: open.proxy }, 20)).toBe(16n);
    expect(freeCredit(accountOf(grants, account.leases), before, 20)).toBe(16n);
    // Nobody is behind the end yet, so whoever will start a request there knows of this lease.
    const ahead = (othersAheadMs: number) => freeCredit(account, { ...before, othersAheadMs }, 20);
    expect([ahead(29), ahead(30)]).toEqual([16n, 6n]);
    // A spent grant changes nothing.
    const spent = [grant('spent', 0, { priority: 0 }), ...grants];
    const more = lease(14, { requestsBeforeMs: null });
    const beside = (all: readonly Grant[]) =>
      freeCredit(accountOf(sorted([...all]), { [more.leaseId]: more }), before, 20);
    expect(beside(spent)).toBe(beside(grants));
    expect(beside(grants)).toBe(6n);
  });

  it('has nothing of a grant that came after requests under way may have started: they burn what lasts first', () => {
    const open = lease(4, { requestsBeforeMs: null });
    const free = (effectiveAtMs: number) => {
      const ending = grant('soon', 10, { effectiveAtMs, expiresAtMs: 50, priority: 0 });
      const account = accountOf(sorted([ending, grant('never', 10)]), { [open.leaseId]: open });
      return freeCredit(account, { ...ANY, requestsBeforeMs: 50 }, 20);
    };
    expect([free(10), free(11)]).toEqual([16n, 6n]);
  });

  it('is so at each later end of a grant, for another may start behind any of them', () => {
    const ending = (id: string, expiresAtMs: number) => grant(id, 2, { expiresAtMs, priority: 1 });
    const three = sorted([grant('never', 2, { priority: 0 }), ending('soon', 50), ending('later', 51)]);
    const open = lease(2, { requestsBeforeMs: null });
    const account = accountOf(three, { [open.leaseId]: open });
    expect(freeCredit(account, { ...ANY, requestsBeforeMs: 50 }, 20)).toBe(0n);
  });

  it('is divided at the next expiry of what can be spent', () => {
    const all = [soon, grant('sooner', 1, { expiresAtMs: 40 }), grant('empty', 0, { expiresAtMs: 20 })];
    const account = accountOf(sorted([...all, grant('to come', 5, { effectiveAtMs: 45, expiresAtMs: 46 })]));
    expect([30, 40, 45, 50].map((nowMs) => nextExpiry(account, nowMs))).toEqual([40, 50, 46, null]);
  });
});

interface Admitted extends UnderWay {
  readonly leaseId: string;
  readonly proxy: number;
  readonly cost: bigint;
  readonly settlesAt: number;
}

/** Two proxies, one of whose clocks is ahead, with an account's grants, their leases on it and what is under way. */
class World {
  account: OpenAccount;
  underWay: Admitted[] = [];
  readonly #aheadMs: number;

  constructor(grants: readonly Grant[], aheadMs: number) {
    this.account = accountOf(grants);
    this.#aheadMs = aheadMs;
  }

  clockOf(proxy: number, nowMs: number): number {
    return nowMs + (proxy === 1 ? this.#aheadMs : 0);
  }

  settleDue(index: number): void {
    for (const done of this.underWay.filter(({ settlesAt }) => settlesAt <= index)) {
      const after = settle(this.account.grants, done, done.cost);
      expect(after.uncovered).toBe(0n);
      const leases = withLeaseReduced(this.account.leases, {
        leaseId: leaseId(done.leaseId),
        amount: microUsd(done.cost),
      });
      this.account = { ...this.account, grants: after.grants, leases };
    }
    this.underWay = this.underWay.filter(({ settlesAt }) => settlesAt > index);
  }

  /** The lease that a request was admitted under, if it was. */
  admit(proxy: number, need: bigint, extra: number, nowMs: number): string | null {
    const requestsBeforeMs = nextExpiry(this.account, nowMs);
    const id = leaseId(`lease_${proxy}_${requestsBeforeMs}`);
    const missing = need - this.#room(proxy, id, nowMs);
    if (missing > 0n) this.#lease(proxy, { id, requestsBeforeMs, upTo: microUsd(missing + BigInt(extra)), nowMs });
    return need > this.#room(proxy, id, nowMs) ? null : id;
  }

  #lease(
    proxy: number,
    {
      id,
      requestsBeforeMs,
      upTo,
      nowMs,
    }: { id: Lease['leaseId']; requestsBeforeMs: number | null; upTo: MicroUsd; nowMs: number },
  ) {
    const terms = {
      proxy: proxyId(`proxy_${proxy}`),
      leaseId: id,
      epoch: 1,
      keyId: null,
      requestsBeforeMs,
      othersAheadMs: 2,
    };
    const command = { type: 'LeaseCredits' as const, ...terms, upTo, expiresAtMs: FAR_MS, nowMs };
    for (const event of leaseCredits(command, this.account))
      if (event.type === 'CreditsLeased')
        this.account = { ...this.account, leases: withLease(this.account.leases, event.data) };
  }

  #room(proxy: number, id: string, nowMs: number): bigint {
    const held = (of: (one: Admitted) => boolean) =>
      this.underWay.filter(of).reduce((sum, one) => sum + one.amount, 0n);
    const own = this.underWay.filter((one) => one.proxy === proxy);
    const others = Object.values(this.account.leases).filter((one) => one.proxy !== `proxy_${proxy}`);
    const holds = { amount: microUsd(held((one) => one.proxy === proxy)), each: own };
    const { credit } = leftBeside(this.account, null, { leases: others, holds }, nowMs);
    const byLease = (this.account.leases[id]?.amount ?? 0n) - held((one) => one.leaseId === id);
    return byLease < credit ? byLease : credit;
  }
}

it('two proxies never admit together what could stay uncovered, in any order and at any cost', () => {
  let more = 0;
  const ofWhom = fc.array(fc.record({ proxy: fc.nat({ max: 1 }), extra: fc.nat({ max: 2 }) }), {
    minLength: 5,
    maxLength: 5,
  });
  fc.assert(
    fc.property(anyGrants, anyRequests, ofWhom, fc.nat({ max: 2 }), (grants, requests, whose, aheadMs) => {
      const world = new World(grants, aheadMs);
      let nowMs = 0;
      for (const [index, request] of requests.entries()) {
        nowMs = Math.min(LAST_MS, nowMs + request.afterMs);
        world.settleDue(index);
        const { proxy, extra } = whose[index] ?? { proxy: 0, extra: 0 };
        const startedAtMs = world.clockOf(proxy, nowMs);
        const id = world.admit(proxy, BigInt(request.amount), extra, startedAtMs);
        if (id === null) continue;
        const { account } = world;
        if (sumOfLeases(Object.values(account.leases)) > usableCredits(account.grants, startedAtMs)) more++;
        const { settles } = request;
        world.underWay.push({
          ...hold(request.amount, startedAtMs),
          startedAtMs,
          finishedAtMs: startedAtMs + request.lastsMs,
          leaseId: id,
          proxy,
          cost: BigInt(Math.min(settles?.cost ?? 0, request.amount)),
          settlesAt: settles === null ? 99 : index + 1 + settles.after,
        });
        if (world.underWay.length < 4) expect(worstUncovered(account.grants, world.underWay)).toBe(0n);
      }
    }),
    { numRuns: 3_000 },
  );
  expect(more).toBeGreaterThan(20);
});
