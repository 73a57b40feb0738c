import fc from 'fast-check';
import { grantId } from '../../../contracts/ids.ts';
import { microUsd } from '../../../contracts/money.ts';
import type { Grant } from '../../../ledger/account/account-state.ts';
import { burnFor, withGrant, withoutShares } from '../../../ledger/account/grants.ts';
import type { StartedHold } from '../../../ledger/account/paid-by-expired.ts';

/** Grants that come and expire, requests that are under way meanwhile, and what of them could stay uncovered at worst. */

export const grant = (id: string, remaining: number, change: Partial<Grant> = {}): Grant => ({
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
export const sorted = (grants: readonly Grant[]): Grant[] =>
  grants.reduce<Grant[]>((list, next) => withGrant(list, next), []);
export const hold = (amount: number, startedAtMs: number): StartedHold => ({
  amount: BigInt(amount),
  firstStartMs: startedAtMs,
  lastStartMs: startedAtMs,
});
export const LAST_MS = 12;
export const anyGrants = fc
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
export const anyRequests = fc.array(
  fc.record({
    afterMs: fc.nat({ max: 3 }),
    amount: fc.integer({ min: 1, max: 4 }),
    lastsMs: fc.nat({ max: 8 }),
    /** How much of its hold it costs, and before which of the later requests it is settled; null is never here. */
    settles: fc.option(fc.record({ cost: fc.nat({ max: 4 }), after: fc.nat({ max: 2 }) })),
  }),
  { minLength: 1, maxLength: 5 },
);

export interface UnderWay extends StartedHold {
  readonly startedAtMs: number;
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

export function settle(
  grants: readonly Grant[],
  request: UnderWay,
  cost: bigint,
): { grants: Grant[]; uncovered: bigint } {
  const { shares, uncovered } = burnFor(grants, microUsd(cost), request);
  return { grants: withoutShares(grants, shares), uncovered };
}

/** What could stay uncovered at worst, whatever is settled first and whatever each request costs. */
export function worstUncovered(grants: readonly Grant[], requests: readonly UnderWay[]): bigint {
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
