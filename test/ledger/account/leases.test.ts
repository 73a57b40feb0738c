import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { AccountEvent } from '../../../contracts/events.ts';
import { leaseId, proxyId } from '../../../contracts/ids.ts';
import { microUsd } from '../../../contracts/money.ts';
import type { OpenAccount } from '../../../ledger/account/account-state.ts';
import type { AccountCommand } from '../../../ledger/account/commands.ts';
import { decide } from '../../../ledger/account/decide.ts';
import { activeLeases, freeCredit, leasesOfOthers, spendable, sumOfLeases } from '../../../ledger/account/leases.ts';
import { recordUsage } from '../../../ledger/account/record-usage.ts';
import { fold, given } from '../../fixtures/ledger/decider-specification.ts';
import {
  CARD,
  debitIn,
  granted,
  keyIssued,
  limitSet,
  OTHER_KEY,
  openAccount,
  opened,
  usageOf,
} from '../../fixtures/ledger/example-account.ts';
import { ANY, L1, L2, leaseCommand, leased, MINUTE_MS, NOW, P1, P2, released } from './example-leases.ts';

const account = [opened, keyIssued(), granted('g1', 100)] as const;

describe('a lease', () => {
  test('is what was asked for, where so much is free', () => {
    given(...account).decides(leaseCommand(40), leased(40));
  });

  test('is what is free, where that is less', () => {
    given(...account, leased(70, { proxy: P2, leaseId: L2 })).decides(leaseCommand(40), leased(30));
  });

  test('is none where nothing is free', () => {
    given(...account, leased(100, { proxy: P2, leaseId: L2 })).decides(leaseCommand(40));
  });

  test('grows, and is free credit no more', () => {
    const { state } = given(...account, leased(40), leased(20));
    expect(openLeases(state)).toEqual([[L1, 60n]]);
    expect(freeCredit(state as OpenAccount, ANY, NOW)).toBe(40n);
  });

  test('shrinks by what is debited under it, and so does the balance: what is free stays', () => {
    const before = openAccount([...account, leased(60)]);
    const events = recordUsage(before, usageOf(1, 25), CARD, L1);
    expect(debitIn(events)).toMatchObject({ amount: 25n, leaseId: L1 });
    const after = fold(events, before) as OpenAccount;
    expect(openLeases(after)).toEqual([[L1, 35n]]);
    expect(freeCredit(after, ANY, NOW)).toBe(freeCredit(before, ANY, NOW));
  });

  test('is gone when it is used up, or given back', () => {
    expect(openLeases(fold([...account, leased(60), released(60)]))).toEqual([]);
    const before = openAccount([...account, leased(25)]);
    expect(openLeases(fold(recordUsage(before, usageOf(1, 25), CARD, L1), before))).toEqual([]);
  });

  test('that has ended is free at once, by the clock, and a debit that names it changes no other', () => {
    const state = openAccount([
      ...account,
      leased(60),
      leased(10, { leaseId: L2, proxy: P2, untilMs: NOW + 2 * MINUTE_MS }),
    ]);
    expect(freeCredit(state, ANY, NOW + MINUTE_MS - 1)).toBe(30n);
    expect(freeCredit(state, ANY, NOW + MINUTE_MS)).toBe(90n);
    const without = fold([released(60)], state) as OpenAccount;
    const after = fold(recordUsage(without, usageOf(1, 5), CARD, L1), without);
    expect(openLeases(after)).toEqual([[L2, 10n]]);
  });

  test('that has ended is written down by the next one, also of the same proxy', () => {
    given(...account, leased(60, { untilMs: NOW }), leased(5, { proxy: P2, leaseId: L2, untilMs: NOW - 1 })).decides(
      leaseCommand(100),
      released(60),
      released(5, L2, P2),
      leased(100),
    );
  });

  test('is renewed without more, while it stands', () => {
    given(...account, leased(60)).decides(
      leaseCommand(0, { expiresAtMs: NOW + 5 * MINUTE_MS }),
      leased(0, { untilMs: NOW + 5 * MINUTE_MS }),
    );
    given(...account).decides(leaseCommand(0));
    given(...account, leased(60, { untilMs: NOW })).decides(leaseCommand(0), released(60));
  });

  test('gives back at most what it has', () => {
    const giveBack = (amount: number): AccountCommand => ({
      type: 'ReleaseLease',
      leaseId: L1,
      amount: microUsd(BigInt(amount)),
    });
    given(...account, leased(60)).decides(giveBack(20), released(20));
    given(...account, leased(60)).decides(giveBack(80), released(60));
    given(...account).decides(giveBack(80));
  });

  test("stays within the account's monthly limit, of which the others' leases are taken", () => {
    given(...account, limitSet(50), leased(20, { proxy: P2, leaseId: L2 })).decides(leaseCommand(100), leased(30));
  });

  test("of a key with a limit stays within that, and takes from the account's credit, too", () => {
    const limited = [...account, keyIssued({ keyId: OTHER_KEY, sha256: 'b4'.repeat(32) }), limitSet(50, OTHER_KEY)];
    given(...limited).decides(leaseCommand(100, { keyId: OTHER_KEY }), leased(50, { keyId: OTHER_KEY }));
    given(...limited, leased(45, { keyId: OTHER_KEY, leaseId: L2, proxy: P2 })).decides(
      leaseCommand(100, { keyId: OTHER_KEY }),
      leased(5, { keyId: OTHER_KEY }),
    );
    given(...limited, leased(45, { keyId: OTHER_KEY, leaseId: L2, proxy: P2 })).decides(leaseCommand(100), leased(55));
  });

  test('of others is what a proxy cannot spend, though it is in the balance', () => {
    const state = openAccount([...account, leased(60), leased(30, { proxy: P2, leaseId: L2 })]);
    expect(sumOfLeases(leasesOfOthers(state, ({ proxy }) => proxy === P1, NOW))).toBe(30n);
    expect(sumOfLeases(leasesOfOthers(state, ({ proxy }) => proxy === P2, NOW))).toBe(60n);
    expect(spendable(state, NOW)).toBe(100n);
  });
});

describe('leases of several proxies, whatever they do', () => {
  type Step =
    | { readonly type: 'lease'; readonly proxy: number; readonly upTo: number; readonly forMs: number }
    | { readonly type: 'release'; readonly proxy: number; readonly amount: number }
    | { readonly type: 'spend'; readonly proxy: number; readonly part: number }
    | { readonly type: 'grant'; readonly amount: number }
    | { readonly type: 'wait'; readonly forMs: number };

  const proxy = fc.integer({ min: 0, max: 2 });
  const amount = fc.integer({ min: 1, max: 60 });
  const forMs = fc.integer({ min: 1, max: 100 });
  const step: fc.Arbitrary<Step> = fc.oneof(
    fc.record({ type: fc.constant('lease' as const), proxy, upTo: amount, forMs }),
    fc.record({ type: fc.constant('release' as const), proxy, amount }),
    fc.record({ type: fc.constant('spend' as const), proxy, part: fc.integer({ min: 1, max: 100 }) }),
    fc.record({ type: fc.constant('grant' as const), amount }),
    fc.record({ type: fc.constant('wait' as const), forMs }),
  );

  test('are never more than there is, and what is spent within them is always covered', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        let state = openAccount(account);
        let nowMs = NOW;
        for (const [index, one] of steps.entries()) {
          state = fold(eventsOf(one, index, state, nowMs), state) as OpenAccount;
          if (one.type === 'wait') nowMs += one.forMs;
          expect(sumOfLeases(activeLeases(state, nowMs)) <= spendable(state, nowMs)).toBe(true);
          expect(Object.values(state.leases).every((lease) => lease.amount > 0n)).toBe(true);
          expect(state.uncovered).toBe(0n);
        }
      }),
      { numRuns: 300 },
    );
  });

  function eventsOf(one: Step, index: number, state: OpenAccount, nowMs: number): readonly AccountEvent[] {
    if (one.type === 'wait') return [];
    if (one.type === 'grant') return [granted(`more-${index}`, one.amount)];
    const own = leaseId(`lease_${one.proxy}`);
    if (one.type === 'spend') {
      const lease = activeLeases(state, nowMs).find(({ leaseId: id }) => id === own);
      const spent = lease === undefined ? 0 : Math.floor((Number(lease.amount) * one.part) / 100);
      return recordUsage(state, usageOf(index, spent), CARD, own);
    }
    const command: AccountCommand =
      one.type === 'release'
        ? { type: 'ReleaseLease', leaseId: own, amount: microUsd(BigInt(one.amount)) }
        : leaseCommand(one.upTo, {
            proxy: proxyId(`proxy_${one.proxy}`),
            leaseId: own,
            nowMs,
            expiresAtMs: nowMs + one.forMs,
          });
    const decision = decide(command, state);
    if ('type' in decision) throw new Error(decision.message);
    return decision;
  }
});

const openLeases = (state: ReturnType<typeof fold>): [string, bigint][] =>
  state.type === 'unopened' ? [] : Object.values(state.leases).map((lease) => [lease.leaseId, lease.amount]);
