import { describe, expect, test } from 'vitest';
import type { AccountEvent } from '../../../contracts/events.ts';
import { grantId } from '../../../contracts/ids.ts';
import { microUsd } from '../../../contracts/money.ts';
import { INITIAL_ACCOUNT } from '../../../ledger/account/account-state.ts';
import { evolve } from '../../../ledger/account/evolve.ts';
import { entryOf } from '../../../ledger/account/keyed-tree.ts';
import { fold, given } from '../../fixtures/ledger/decider-specification.ts';
import {
  granted,
  KEY,
  keyIssued,
  openAccount,
  opened,
  record,
  usageOf,
} from '../../fixtures/ledger/example-account.ts';
import { EXAMPLE_EVENTS } from '../../fixtures/ledger/example-events.ts';

const expired = (amount: number): AccountEvent => ({
  type: 'CreditsExpired',
  data: { grantId: grantId('g'), amount: microUsd(BigInt(amount)), expiredAt: '2026-12-01T00:00:00.000Z' },
});

describe('an account', () => {
  test('starts on the trial plan, with nothing', () => {
    expect(openAccount([opened])).toMatchObject({
      email: 'owner@example.com',
      plan: 'trial',
      balance: 0n,
      carry: 0n,
      uncovered: 0n,
      suspended: null,
      grants: [],
    });
  });

  test('has the plan that its events say', () => {
    expect(openAccount([opened, { type: 'PlanChanged', data: { plan: 'team', terms: null } }]).plan).toBe('team');
  });

  test('keeps a revoked key, with the time from which it is refused', () => {
    const revoked: AccountEvent = {
      type: 'ApiKeyRevoked',
      data: { keyId: KEY, revokedAt: '2026-11-06T00:00:00.000Z' },
    };
    expect(entryOf(openAccount([opened, keyIssued()]).keys, KEY)?.revokedAtMs).toBeNull();
    expect(entryOf(openAccount([opened, keyIssued(), revoked]).keys, KEY)?.revokedAtMs).toBe(Date.UTC(2026, 10, 6));
  });
});

describe('credits', () => {
  test('that expire leave the grant and the balance', () => {
    const { grants, balance } = openAccount([opened, granted('g', 10), expired(4)]);
    expect([grants[0]?.remaining, grants[0]?.amount, balance]).toEqual([6n, 10n, 6n]);
  });

  test('first fill what earlier debits left uncovered', () => {
    const overspent = given(opened, granted('a', 2)).decided(record(usageOf(1, 7)));
    const life = [opened, granted('a', 2), ...overspent];
    expect(openAccount(life)).toMatchObject({ balance: -5n, uncovered: 5n });
    expect(openAccount([...life, granted('b', 3)])).toMatchObject({ balance: -2n, uncovered: 2n });
    const account = openAccount([...life, granted('b', 3), granted('c', 10)]);
    expect(account).toMatchObject({ balance: 8n, uncovered: 0n });
    expect(account.grants.map(({ remaining }) => remaining)).toEqual([0n, 0n, 8n]);
  });
});

describe('a stream that cannot be', () => {
  test.each(EXAMPLE_EVENTS.filter(({ type }) => !['AccountOpened', 'CatalogPublished'].includes(type)))(
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

  test('has no expiry of more than the grant holds', () => {
    expect(() => fold([opened, granted('g', 10), expired(11)])).toThrow(/would hold -1/);
  });
});

test('folding changes no state that was handed out before', () => {
  const life = [opened, granted('g', 10), keyIssued()];
  const before = fold(life);
  const copy = structuredClone(before);
  fold(given(...life).decided(record(usageOf(1, 7))), before);
  expect(before).toEqual(copy);
});
