import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { revision } from '../../contracts/ids.ts';
import { entryOf } from '../../ledger/account/keyed-tree.ts';
import { BalanceView } from '../../projections/balance-view.ts';
import { SpendLimits } from '../../projections/spend-limits.ts';
import {
  ACCOUNT,
  granted,
  KEY,
  keyIssued,
  limitSet,
  OTHER_KEY,
  openAccount,
  opened,
} from '../fixtures/ledger/example-account.ts';
import { live, lives } from '../fixtures/ledger/random-life.ts';

function limitsOf(events: ReturnType<typeof live>): SpendLimits {
  const balance = new BalanceView();
  for (const [index, event] of events.entries()) balance.apply(ACCOUNT, revision(index), event);
  return new SpendLimits(balance);
}

describe('limits and what was spent', () => {
  test('are what the account’s own state says, in any life', () => {
    fc.assert(
      fc.property(lives, (steps) => {
        const events = live(steps);
        const view = limitsOf(events);
        const { spend } = openAccount(events);
        for (const month of ['2026-12', '2027-01', '2027-02']) {
          expect(view.ofAccount(ACCOUNT, month)).toEqual({
            limit: spend.accountLimit,
            spent: spend.months[month]?.account ?? 0n,
          });
          for (const key of [KEY, OTHER_KEY])
            expect(view.ofKey(ACCOUNT, key, month)).toEqual({
              limit: entryOf(spend.keyLimits, key) ?? null,
              spent: entryOf(spend.months[month]?.keys ?? null, key) ?? 0n,
            });
        }
      }),
      { numRuns: 60 },
    );
  });

  test('are none and nothing before anything is known', () => {
    const view = limitsOf([]);
    expect(view.ofAccount(ACCOUNT, '2026-11')).toEqual({ limit: null, spent: 0n });
    expect(view.ofKey(ACCOUNT, KEY, '2026-11')).toEqual({ limit: null, spent: 0n });
  });

  test('change with the events that set them', () => {
    const life = [opened, granted('g', 9), keyIssued(), limitSet(5), limitSet(0, KEY)];
    const view = limitsOf(life);
    expect(view.ofAccount(ACCOUNT, '2026-11').limit).toBe(5n);
    expect(view.ofKey(ACCOUNT, KEY, '2026-11').limit).toBe(0n);
    const lifted = limitsOf([...life, limitSet(null), limitSet(null, KEY)]);
    expect([lifted.ofAccount(ACCOUNT, '2026-11').limit, lifted.ofKey(ACCOUNT, KEY, '2026-11').limit]).toEqual([
      null,
      null,
    ]);
  });
});
