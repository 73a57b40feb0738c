import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { revision } from '../../contracts/ids.ts';
import { SpendLimitView } from '../../projections/spend-limit-view.ts';
import {
  ACCOUNT,
  granted,
  KEY,
  keyIssued,
  limitSet,
  OTHER_KEY,
  openAccount,
  opened,
} from '../ledger/account/example-account.ts';
import { live, lives } from '../ledger/account/random-life.ts';

function viewOf(events: ReturnType<typeof live>): SpendLimitView {
  const view = new SpendLimitView();
  for (const [index, event] of events.entries()) view.apply(ACCOUNT, revision(index), event);
  return view;
}

describe('limits and what was spent', () => {
  test('are what the account’s own state says, in any life', () => {
    fc.assert(
      fc.property(lives, (steps) => {
        const events = live(steps);
        const view = viewOf(events);
        const { spend } = openAccount(events);
        for (const month of ['2026-12', '2027-01', '2027-02']) {
          expect(view.ofAccount(ACCOUNT, month)).toEqual({
            limit: spend.accountLimit,
            spent: spend.months[month]?.account ?? 0n,
          });
          for (const key of [KEY, OTHER_KEY])
            expect(view.ofKey(ACCOUNT, key, month)).toEqual({
              limit: spend.keyLimits[key] ?? null,
              spent: spend.months[month]?.keys[key] ?? 0n,
            });
        }
      }),
      { numRuns: 60 },
    );
  });

  test('are none and nothing before anything is known', () => {
    const view = new SpendLimitView();
    expect(view.ofAccount(ACCOUNT, '2026-11')).toEqual({ limit: null, spent: 0n });
    expect(view.ofKey(ACCOUNT, KEY, '2026-11')).toEqual({ limit: null, spent: 0n });
    expect(view.revisionOf(ACCOUNT)).toBe(-1);
  });

  test('change with the events that set them', () => {
    const view = viewOf([opened, granted('g', 9), keyIssued(), limitSet(5), limitSet(0, KEY)]);
    expect(view.ofAccount(ACCOUNT, '2026-11').limit).toBe(5n);
    expect(view.ofKey(ACCOUNT, KEY, '2026-11').limit).toBe(0n);
    view.apply(ACCOUNT, revision(5), limitSet(null));
    view.apply(ACCOUNT, revision(6), limitSet(null, KEY));
    expect([view.ofAccount(ACCOUNT, '2026-11').limit, view.ofKey(ACCOUNT, KEY, '2026-11').limit]).toEqual([null, null]);
  });
});
