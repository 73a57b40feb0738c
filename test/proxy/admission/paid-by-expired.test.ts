import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { accountId, grantId, keyId, requestId } from '../../../contracts/ids.ts';
import { microUsd } from '../../../contracts/money.ts';
import type { Grant, OpenAccount } from '../../../ledger/account/account-state.ts';
import { burnFor, usableCredits, withGrant, withoutShares } from '../../../ledger/account/grants.ts';
import { Holds, type StartedHold } from '../../../proxy/admission/holds.ts';
import { heldOfCredits } from '../../../proxy/admission/money-gate.ts';
import { paidByExpired } from '../../../proxy/admission/paid-by-expired.ts';

const grant = (id: string, remaining: number, change: Partial<Grant> = {}): Grant => ({
  grantId: grantId(id),
  source: 'purchase',
  amount: microUsd(100n),
  remaining: microUsd(BigInt(remaining)),
  expired: microUsd(0n),
  costBasis: microUsd(0n),
  priority: 100,
  effectiveAtMs: 0,
  expiresAtMs: null,
  ...change,
});
const sorted = (grants: readonly Grant[]): Grant[] => grants.reduce<Grant[]>((list, next) => withGrant(list, next), []);
const hold = (amount: number, startedAtMs: number): StartedHold => ({ amount: BigInt(amount), startedAtMs });
const paid = (grants: readonly Grant[], holds: readonly StartedHold[], nowMs: number) =>
  paidByExpired(sorted(grants), holds, nowMs);

describe('what an expired grant will pay', () => {
  const soon = grant('soon', 10, { expiresAtMs: 50 });
  const never = grant('never', 10);

  it('is nothing before it has expired', () => {
    expect(paid([soon, never], [hold(8, 40)], 49)).toBe(0n);
  });

  it('is what requests hold that started before, at most what it has', () => {
    expect(paid([soon, never], [hold(8, 40)], 50)).toBe(8n);
    expect(paid([soon, never], [hold(8, 40), hold(7, 49)], 50)).toBe(10n);
  });

  it('is nothing for a request that started at its expiry or after', () => {
    expect(paid([soon, never], [hold(8, 50), hold(3, 60)], 70)).toBe(0n);
  });

  it('is only what is beyond the grants that burn before it', () => {
    const first = grant('first', 5, { priority: 1 });
    expect(paid([soon, first], [hold(8, 40)], 50)).toBe(3n);
    expect(paid([soon, grant('first', 9, { priority: 1 })], [hold(8, 40)], 50)).toBe(0n);
  });

  it('is nothing where it was not there yet when the request started', () => {
    expect(paid([grant('soon', 10, { effectiveAtMs: 41, expiresAtMs: 50 }), never], [hold(8, 40)], 50)).toBe(0n);
  });

  it('leaves that much of what can be spent now to the others', () => {
    const holds = new Holds();
    const account = accountId('acct');
    holds.place(requestId('req_1'), {
      accountId: account,
      keyId: keyId('key'),
      month: '1970-01',
      amount: microUsd(8n),
      leaseId: null,
      startedAtMs: 40,
    });
    const state = { grants: sorted([soon, never]) } as unknown as OpenAccount;
    expect([49, 50].map((nowMs) => heldOfCredits(account, state, holds, nowMs))).toEqual([8n, 0n]);
    holds.release(requestId('req_1'));
    expect([...holds.each(account)]).toEqual([]);
  });
});

const LAST_MS = 12;
const anyGrants = fc
  .array(
    fc.record({
      remaining: fc.nat({ max: 4 }),
      priority: fc.nat({ max: 1 }),
      effectiveAtMs: fc.nat({ max: 4 }),
      lastsMs: fc.option(fc.integer({ min: 1, max: 6 }), { freq: 3 }),
    }),
    { minLength: 1, maxLength: 4 },
  )
  .map((grants) =>
    sorted(
      grants.map(({ remaining, priority, effectiveAtMs, lastsMs }, index) =>
        grant(`g${index}`, remaining, {
          priority,
          effectiveAtMs,
          expiresAtMs: lastsMs === null ? null : effectiveAtMs + lastsMs,
        }),
      ),
    ),
  );
const anyRequests = fc.array(
  fc.record({
    afterMs: fc.nat({ max: 3 }),
    amount: fc.integer({ min: 1, max: 4 }),
    lastsMs: fc.nat({ max: 8 }),
    /** How much of its hold it costs, and before which of the later requests it is settled; null is never here. */
    settles: fc.option(fc.record({ cost: fc.nat({ max: 4 }), after: fc.nat({ max: 2 }) })),
  }),
  { minLength: 1, maxLength: 5 },
);

interface UnderWay extends StartedHold {
  readonly finishedAtMs: number;
}

/** All orders of a few things. */
function* orders<T>(things: readonly T[]): Generator<T[]> {
  if (things.length < 2) yield [...things];
  for (const [index, first] of things.entries())
    if (things.length > 1)
      for (const others of orders([...things.slice(0, index), ...things.slice(index + 1)])) yield [first, ...others];
}

/** All costs of a few requests, each from nothing to its hold. */
function* costs(requests: readonly UnderWay[]): Generator<[UnderWay, bigint][]> {
  const [first, ...others] = requests;
  if (first === undefined) return yield [];
  for (const rest of costs(others)) for (let cost = 0n; cost <= first.amount; cost++) yield [[first, cost], ...rest];
}

function settle(grants: readonly Grant[], request: UnderWay, cost: bigint): { grants: Grant[]; uncovered: bigint } {
  const { shares, uncovered } = burnFor(grants, microUsd(cost), request);
  return { grants: withoutShares(grants, shares), uncovered };
}

/** What could stay uncovered at worst, whatever is settled first and whatever each request costs. */
function worstUncovered(grants: readonly Grant[], requests: readonly UnderWay[]): bigint {
  let worst = 0n;
  for (const order of orders(requests))
    for (const settled of costs(order)) {
      let left = grants;
      for (const [request, cost] of settled) {
        const after = settle(left, request, cost);
        left = after.grants;
        if (after.uncovered > worst) worst = after.uncovered;
      }
    }
  return worst;
}

describe('a gate that does not count what expired grants will pay', () => {
  it('never admits what could stay uncovered, in any order and at any cost', () => {
    let more = 0;
    fc.assert(
      fc.property(anyGrants, anyRequests, (first, requests) => {
        let grants: readonly Grant[] = first;
        let nowMs = 0;
        let underWay: (UnderWay & { cost: bigint; settlesAt: number })[] = [];
        for (const [index, request] of requests.entries()) {
          nowMs = Math.min(LAST_MS, nowMs + request.afterMs);
          for (const done of underWay.filter(({ settlesAt }) => settlesAt <= index)) {
            const after = settle(grants, { ...done, finishedAtMs: Math.min(done.finishedAtMs, nowMs) }, done.cost);
            expect(after.uncovered).toBe(0n);
            grants = after.grants;
          }
          underWay = underWay.filter(({ settlesAt }) => settlesAt > index);
          const held = underWay.reduce((sum, { amount }) => sum + amount, 0n);
          const usable = usableCredits(grants, nowMs);
          const need = BigInt(request.amount);
          if (need > usable - held + paidByExpired(grants, underWay, nowMs)) continue;
          if (need > usable - held) more += 1;
          const { settles } = request;
          const cost = BigInt(Math.min(settles?.cost ?? 0, request.amount));
          const settlesAt = settles === null ? 99 : index + 1 + settles.after;
          underWay.push({ amount: need, startedAtMs: nowMs, finishedAtMs: nowMs + request.lastsMs, cost, settlesAt });
          if (underWay.length < 4) expect(worstUncovered(grants, underWay)).toBe(0n);
        }
      }),
      { numRuns: 3_000 },
    );
    expect(more).toBeGreaterThan(20);
  });
});
