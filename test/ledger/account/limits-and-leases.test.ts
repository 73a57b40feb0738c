import { describe, expect, test } from 'vitest';
import type { AccountEvent } from '../../../contracts/events.ts';
import { type KeyId, type LeaseId, leaseId } from '../../../contracts/ids.ts';
import type { OpenAccount } from '../../../ledger/account/account-state.ts';
import type { AccountCommand } from '../../../ledger/account/commands.ts';
import { activeLeases, freeCredit, setAsideForKey } from '../../../ledger/account/leases.ts';
import { recordUsage } from '../../../ledger/account/record-usage.ts';
import { fold, given } from '../../fixtures/ledger/decider-specification.ts';
import {
  CARD,
  granted,
  KEY,
  keyIssued,
  limitSet,
  OTHER_KEY,
  openAccount,
  opened,
  usageOf,
  usd,
} from '../../fixtures/ledger/example-account.ts';
import { ANY, L1, L2, leaseCommand, leased, NOW, P1, released } from './example-leases.ts';

const K1 = leaseId('lease_1_key');
const leasedForKey = (amount: number): AccountEvent => leased(amount, { leaseId: K1, keyId: KEY });
const narrowed = (atMost: number, id: LeaseId = L1): AccountEvent => ({
  type: 'LeaseNarrowed',
  data: { proxy: P1, leaseId: id, keyId: KEY, atMost: usd(atMost) },
});
const narrow = (atMost: number, id: LeaseId = L1): AccountCommand => ({
  type: 'NarrowLease',
  leaseId: id,
  keyId: KEY,
  atMost: usd(atMost),
});
const leaseForKey = (upTo: number): AccountCommand => leaseCommand(upTo, { leaseId: K1, keyId: KEY });

const account = [opened, keyIssued(), keyIssued({ keyId: OTHER_KEY, sha256: 'b4'.repeat(32) }), granted('g1', 1_000)];
const setAside = (state: OpenAccount): bigint => setAsideForKey(state, KEY, activeLeases(state, NOW));
const accountAfter = (...events: readonly AccountEvent[]): OpenAccount => openAccount([...account, ...events]);

describe("a key's limit", () => {
  test('counts all that was leased before for keys without one, by whomever', () => {
    given(...account, leased(40), leased(20, { leaseId: L2 }), limitSet(100, KEY)).decides(
      leaseForKey(100),
      leasedForKey(40),
    );
  });

  test('leaves nothing where more was leased before than it allows', () => {
    given(...account, leased(90), leased(90, { leaseId: L2 }), limitSet(100, KEY)).decides(leaseForKey(1));
  });

  test('counts no more than the key holds from before, once its proxy has said it', () => {
    const state = accountAfter(leased(90), limitSet(100, KEY), narrowed(30));
    expect(setAside(state)).toBe(30n);
    expect(freeCredit(state, { ...ANY, keyId: KEY }, NOW)).toBe(70n);
    // The other keys have what they had.
    expect(freeCredit(state, ANY, NOW)).toBe(910n);
    expect(setAside(accountAfter(leased(90), limitSet(100, KEY), narrowed(0)))).toBe(0n);
  });

  test('counts nothing of what is leased for other keys afterwards', () => {
    expect(setAside(accountAfter(leased(40), limitSet(100, KEY), leased(200), leased(60, { leaseId: L2 })))).toBe(40n);
  });

  test("counts less with each debit of the key, not with another's", () => {
    const state = accountAfter(leased(40), limitSet(100, KEY), leased(60));
    const own = fold(recordUsage(state, usageOf(1, 15), CARD, L1), state) as OpenAccount;
    expect(setAside(own)).toBe(25n);
    expect(freeCredit(own, { ...ANY, keyId: KEY }, NOW)).toBe(60n);
    const others = fold(recordUsage(state, usageOf(1, 15, { keyId: OTHER_KEY }), CARD, L1), state) as OpenAccount;
    expect(setAside(others)).toBe(40n);
  });

  test('counts at most what the lease has', () => {
    expect(setAside(accountAfter(leased(40), limitSet(100, KEY), released(30)))).toBe(10n);
    expect(setAside(accountAfter(leased(40), limitSet(100, KEY), released(30), leased(50)))).toBe(10n);
    expect(setAside(accountAfter(leased(40), limitSet(100, KEY), released(40), leased(50)))).toBe(0n);
  });

  test('that is lowered counts what was leased under the higher one', () => {
    given(...account, limitSet(100, KEY), leasedForKey(60), limitSet(70, KEY)).decides(
      leaseForKey(100),
      leasedForKey(10),
    );
    given(...account, limitSet(100, KEY), leasedForKey(60), limitSet(50, KEY)).decides(leaseForKey(100));
  });

  test('that is lowered counts what is left from before the first, as it was', () => {
    expect(setAside(accountAfter(leased(90), limitSet(100, KEY), narrowed(30), limitSet(80, KEY)))).toBe(30n);
  });

  test('that is lifted and set again counts both what was leased for the key, and what all keys without one have', () => {
    const state = accountAfter(
      limitSet(100, KEY),
      leasedForKey(50),
      limitSet(null, KEY),
      leased(30),
      limitSet(100, KEY),
    );
    expect(setAside(state)).toBe(80n);
    const lifted = accountAfter(leased(90), limitSet(100, KEY), narrowed(0), limitSet(null, KEY), limitSet(100, KEY));
    expect(setAside(lifted)).toBe(90n);
  });

  test('of a key that is issued with it counts nothing from before', () => {
    const NEW_KEY = 'key_c' as KeyId;
    const state = accountAfter(
      leased(90),
      keyIssued({ keyId: NEW_KEY, sha256: 'c5'.repeat(32), monthlyLimit: usd(100) }),
    );
    expect(setAsideForKey(state, NEW_KEY, activeLeases(state, NOW))).toBe(0n);
  });
});

describe('what a proxy says of a lease', () => {
  test('is written down where it is news', () => {
    given(...account, leased(90), limitSet(100, KEY)).decides(narrow(30), narrowed(30));
    given(...account, leased(90), limitSet(100, KEY), narrowed(30)).decides(narrow(30));
    given(...account, leased(90), limitSet(100, KEY), narrowed(30)).decides(narrow(31));
  });

  test('is nothing where the key has no limit, or the lease is gone', () => {
    given(...account, leased(90)).decides(narrow(0));
    given(...account, limitSet(100, KEY)).decides(narrow(0));
  });
});

describe("an account's limit", () => {
  const lease = leaseCommand(500);

  test('counts all leases from before, of every scope', () => {
    given(
      ...account,
      limitSet(500, KEY),
      leased(40),
      leased(20, { leaseId: L2 }),
      leasedForKey(30),
      limitSet(100),
    ).decides(lease, leased(10));
    given(...account, limitSet(200), leased(150, { leaseId: L2 }), limitSet(100)).decides(lease);
  });
});
