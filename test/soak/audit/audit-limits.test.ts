import { expect, it } from 'vitest';
import type { OwnMonth } from '../../../ledger/audit/own-account.ts';
import type { AccountBooks } from '../../crash/audit/account-books.ts';
import { accountBooks } from '../../crash/audit/account-books.ts';
import { auditLimits } from './audit-limits.ts';

function books(accountId: string, account: bigint, keys: Readonly<Record<string, bigint>>): AccountBooks {
  const month: OwnMonth = { account, keys: new Map(Object.entries(keys)) };
  return { ...accountBooks(accountId, [], new Map()), months: new Map([['2026-11', month]]) };
}

it('lets an account spend up to its limit, and a key up to its own', () => {
  expect(auditLimits(books('acct_capped', 1_500_000n, { key_a: 1_500_000n }))).toEqual([]);
  expect(auditLimits(books('acct_keyed', 800_000n, { key_a: 400_000n, key_b: 400_000n }))).toEqual([]);
  expect(auditLimits(books('acct_ada', 9_000_000n, { key_a: 9_000_000n }))).toEqual([]);
});

it('finds the first micro-USD above a limit', () => {
  expect(auditLimits(books('acct_capped', 1_500_001n, {}))).toEqual([expect.stringContaining('above its limit')]);
  expect(auditLimits(books('acct_keyed', 500_000n, { key_a: 400_001n, key_b: 99_999n }))).toEqual([
    expect.stringContaining('key_a'),
  ]);
});
