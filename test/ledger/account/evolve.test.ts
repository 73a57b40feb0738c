import { describe, expect, test } from 'vitest';
import type { AccountEvent } from '../../../contracts/events.ts';
import { grantId } from '../../../contracts/ids.ts';
import { microUsd } from '../../../contracts/money.ts';
import { INITIAL_ACCOUNT } from '../../../ledger/account/account-state.ts';
import { evolve } from '../../../ledger/account/evolve.ts';
import { fold, given } from '../../fixtures/ledger/decider-specification.ts';
import {
  debitIn,
  granted,
  KEY,
  keyIssued,
  openAccount,
  opened,
  record,
  usageOf,
} from '../../fixtures/ledger/example-account.ts';
import { EXAMPLE_EVENTS } from '../../fixtures/ledger/example-events.ts';

const usd = (amount: number) => microUsd(BigInt(amount));

describe('an account', () => {
  test('starts with its owner, on the trial plan, with nothing', () => {
    expect(openAccount([opened])).toMatchObject({
      members: { 'owner@example.com': 'owner' },
      plan: 'trial',
      balance: 0n,
      carry: 0n,
      uncovered: 0n,
      suspended: null,
      grants: [],
    });
  });

  test('has the members, roles and plan that its events say', () => {
    const account = openAccount([
      opened,
      { type: 'MemberAdded', data: { email: 'a@example.com', role: 'member' } },
      { type: 'MemberAdded', data: { email: 'b@example.com', role: 'member' } },
      { type: 'MemberRoleChanged', data: { email: 'a@example.com', role: 'admin' } },
      { type: 'MemberRemoved', data: { email: 'b@example.com' } },
      { type: 'PlanChanged', data: { plan: 'team' } },
    ]);
    expect(account.members).toEqual({ 'owner@example.com': 'owner', 'a@example.com': 'admin' });
    expect(account.plan).toBe('team');
  });

  test('keeps a revoked key, with the time from which it is refused', () => {
    const revoked: AccountEvent = {
      type: 'ApiKeyRevoked',
      data: { keyId: KEY, revokedAt: '2026-11-06T00:00:00.000Z' },
    };
    expect(openAccount([opened, keyIssued()]).keys[KEY]?.revokedAtMs).toBeNull();
    expect(openAccount([opened, keyIssued(), revoked]).keys[KEY]?.revokedAtMs).toBe(Date.UTC(2026, 10, 6));
  });
});

describe('credits', () => {
  test('that are revoked leave the grant and the balance', () => {
    const revoked: AccountEvent = {
      type: 'GrantRevoked',
      data: { grantId: grantId('g'), amount: usd(4), cause: 'refund' },
    };
    const { grants, balance } = openAccount([opened, granted('g', 10), revoked]);
    expect([grants[0]?.remaining, grants[0]?.amount, balance]).toEqual([6n, 10n, 6n]);
  });

  test('first fill what earlier debits left uncovered', () => {
    const overspent = given(opened, granted('a', 2))
      .when(record(usageOf(1, 7)))
      .events();
    const life = [opened, granted('a', 2), ...overspent];
    expect(openAccount(life)).toMatchObject({ balance: -5n, uncovered: 5n });
    expect(openAccount([...life, granted('b', 3)])).toMatchObject({ balance: -2n, uncovered: 2n });
    const account = openAccount([...life, granted('b', 3), granted('c', 10)]);
    expect(account).toMatchObject({ balance: 8n, uncovered: 0n });
    expect(account.grants.map(({ remaining }) => remaining)).toEqual([0n, 0n, 8n]);
  });

  test('come back to their grants when a debit is reversed, and leave the month', () => {
    const grants = [granted('a', 3), granted('b', 9)];
    const settled = given(opened, ...grants)
      .when(record(usageOf(1, 5)))
      .events();
    const { requestId, keyId, amount, grants: shares, uncovered, month } = debitIn(settled);
    const data = { requestId, keyId, amount, grants: shares, uncovered, month, reason: 'wrong', actor: 'operator' };
    const account = openAccount([opened, ...grants, ...settled, { type: 'DebitReversed', data }]);
    expect(account.grants).toEqual(openAccount([opened, ...grants]).grants);
    expect(account.balance).toBe(12n);
    expect(account.spend.months['2026-11']).toEqual({ account: 0n, keys: { [KEY]: 0n }, crossed: [] });
  });
});

describe('a stream that cannot be', () => {
  test.each(EXAMPLE_EVENTS.filter(({ type }) => !['AccountOpened', 'CatalogPublished', 'LedgerSealed'].includes(type)))(
    '$type before AccountOpened is a broken stream',
    (event) => {
      expect(() => evolve(INITIAL_ACCOUNT, event as AccountEvent)).toThrow(/never opened/);
    },
  );

  test('opens an account once', () => {
    expect(() => fold([opened, opened])).toThrow(/opened twice/);
  });

  test('revokes no key that was never issued', () => {
    const data = { keyId: KEY, revokedAt: '2026-11-06T00:00:00.000Z' };
    expect(() => fold([opened, { type: 'ApiKeyRevoked', data }])).toThrow(/no key/);
  });

  test.each(['CreditsExpired', 'GrantRevoked'] as const)('has no %s of more than the grant holds', (type) => {
    const event = {
      type,
      data: { grantId: grantId('g'), amount: usd(11), cause: 'refund', expiredAt: '2026-12-01T00:00:00.000Z' },
    } as unknown as AccountEvent;
    expect(() => fold([opened, granted('g', 10), event])).toThrow(/would hold -1/);
  });
});

test('folding changes no state that was handed out before', () => {
  const life = [opened, granted('g', 10), keyIssued()];
  const before = fold(life);
  const copy = structuredClone(before);
  fold(
    given(...life)
      .when(record(usageOf(1, 7)))
      .events(),
    before,
  );
  expect(before).toEqual(copy);
});
