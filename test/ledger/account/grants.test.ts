import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { grantId } from '../../../contracts/ids.ts';
import { type MicroUsd, microUsd } from '../../../contracts/money.ts';
import type { Grant } from '../../../ledger/account/account-state.ts';
import { burnFor, burnOrder, isUsable, usableCredits, withoutShares } from '../../../ledger/account/grants.ts';
import { usd } from '../../fixtures/ledger/example-account.ts';
import { grant as grantOf, sorted } from './grants-under-way.ts';

const grant = (id: string, change: Partial<Grant> = {}): Grant =>
  grantOf(id, 10, { amount: usd(10), costBasis: usd(10), ...change });

const NOW = 50;
/** For a request that starts and ends at one instant. */
const burn = (grants: readonly Grant[], amount: MicroUsd, atMs: number) =>
  burnFor(
    grants.filter((one) => one.effectiveAtMs <= atMs),
    amount,
    { startedAtMs: atMs, finishedAtMs: atMs },
  );
const anyGrant = fc.record({
  priority: fc.integer({ min: 0, max: 2 }),
  expiresAtMs: fc.option(fc.integer({ min: 20, max: 80 })),
  costBasis: fc.constantFrom(0, 5).map(usd),
  effectiveAtMs: fc.integer({ min: 0, max: 60 }),
  remaining: fc.integer({ min: 0, max: 10 }).map(usd),
});
const anyGrants = fc
  .array(anyGrant, { maxLength: 8, size: 'max' })
  .map((grants) => sorted(grants.map((change, index) => grant(`g${index}`, change))));
const anyAmount = fc.integer({ min: 0, max: 60 }).map(usd);

/** The order (interface, 5.5) as one text that sorts: another way to it than the product's. */
const sortText = ({ priority, expiresAtMs, costBasis, effectiveAtMs, grantId: id }: Grant): string =>
  [priority, expiresAtMs ?? 9_999, costBasis === 0n ? 0 : 1, effectiveAtMs]
    .map((n) => String(n).padStart(5, '0'))
    .join('|') + id;

describe('grants burn', () => {
  test.each([
    ['the lower priority first', { priority: 1 }, { priority: 2, expiresAtMs: 60 }],
    ['the earlier expiry first', { expiresAtMs: 60 }, { expiresAtMs: 70, costBasis: usd(0) }],
    ['those that never expire last', { expiresAtMs: 9_000 }, { expiresAtMs: null, costBasis: usd(0) }],
    ['what cost nothing first', { costBasis: usd(0), effectiveAtMs: 9 }, { costBasis: usd(1), effectiveAtMs: 0 }],
    ['the earlier effective first', { effectiveAtMs: 1 }, { effectiveAtMs: 2 }],
  ])('%s, where all before that is equal', (_rule, first, second) => {
    // The grant that burns first has the later id, so that the last tie-break would decide the other way.
    const [a, b] = [grant('z', first), grant('a', second)];
    expect(burn(sorted([b, a]), usd(1), NOW).shares).toEqual([{ grantId: 'z', amount: 1n }]);
    expect(burn(sorted([a, b]), usd(1), NOW).shares).toEqual([{ grantId: 'z', amount: 1n }]);
  });

  test('the lower id first, where all else is equal', () => {
    expect(burn(sorted([grant('b'), grant('a')]), usd(15), NOW).shares).toEqual([
      { grantId: 'a', amount: 10n },
      { grantId: 'b', amount: 5n },
    ]);
  });

  test('in an order that does not depend on the order in which they were granted', () => {
    fc.assert(
      fc.property(anyGrants, fc.infiniteStream(fc.nat()), (grants, numbers) => {
        const shuffled = grants.map((one) => ({ one, at: numbers.next().value ?? 0 })).sort((a, b) => a.at - b.at);
        expect(sorted(shuffled.map(({ one }) => one))).toEqual(grants);
      }),
    );
  });

  test('in the order that callers are told', () => {
    fc.assert(
      fc.property(anyGrants, (grants) => {
        expect(grants.map(sortText)).toEqual(grants.map(sortText).sort());
        for (const [index, later] of grants.entries())
          for (const earlier of grants.slice(0, index)) expect(burnOrder(earlier, later)).toBeLessThan(0);
      }),
    );
  });

  test('invariant 4: burn order: never from a later grant while an earlier usable one has something left', () => {
    fc.assert(
      fc.property(anyGrants, anyAmount, (grants, amount) => {
        const taken = new Map(burn(grants, amount, NOW).shares.map((share) => [share.grantId, share.amount]));
        for (const [index, later] of grants.entries()) {
          if (!taken.has(later.grantId)) continue;
          for (const earlier of grants.slice(0, index))
            if (isUsable(earlier, NOW)) expect(taken.get(earlier.grantId) ?? 0n).toBe(earlier.remaining);
        }
      }),
    );
  });

  test('to exactly the amount: shares and what is uncovered add up to it', () => {
    fc.assert(
      fc.property(anyGrants, anyAmount, (grants, amount) => {
        const { shares, uncovered } = burn(grants, amount, NOW);
        const covered = shares.reduce((sum, share) => sum + share.amount, 0n);
        const usable = usableCredits(grants, NOW);
        expect(covered + uncovered).toBe(amount);
        expect(covered).toBe(usable < amount ? usable : amount);
        expect(shares.every((share) => share.amount > 0n)).toBe(true);
      }),
    );
  });

  test('invariant 15: expiry: only inside their period: from effectiveAt, until before expiresAt', () => {
    const one = grant('g', { effectiveAtMs: 40, expiresAtMs: 50 });
    expect([39, 40, 49, 50].map((atMs) => burn([one], usd(1), atMs).shares.length)).toEqual([0, 1, 1, 0]);
    expect([39, 40, 49, 50].map((atMs) => usableCredits([one], atMs))).toEqual([0n, 10n, 10n, 0n]);
  });
});

describe('the shares of grants', () => {
  test('are taken and given back', () => {
    fc.assert(
      fc.property(anyGrants, anyAmount, (grants, amount) => {
        const { shares } = burn(grants, amount, NOW);
        const less = withoutShares(grants, shares);
        expect(less.every(({ remaining }) => remaining >= 0n)).toBe(true);
        expect(
          withoutShares(
            less,
            shares.map((share) => ({ ...share, amount: microUsd(-share.amount) })),
          ),
        ).toEqual(grants);
      }),
    );
  });

  test('of more than a grant holds, or ever held, are a bug and not a balance', () => {
    const share = { grantId: grantId('g'), amount: usd(1) };
    expect(() => withoutShares([grant('g', { remaining: usd(0) })], [share])).toThrow(/g of 10 would hold -1/);
    expect(() => withoutShares([grant('g')], [{ ...share, amount: usd(-1) }])).toThrow(/g of 10 would hold 11/);
    expect(() => withoutShares([grant('other')], [share])).toThrow(/no grant g/);
  });
});
