import { expect, test } from 'vitest';
import { accountId, keyId } from '../../contracts/ids.ts';
import { KeyIndex } from '../../projections/key-index.ts';
import { ACCOUNT, KEY, keyIssued, openAccount, opened } from '../fixtures/ledger/example-account.ts';

const SHA256 = 'a3'.repeat(32);
const revoked = { type: 'ApiKeyRevoked', data: { keyId: KEY, revokedAt: '2026-11-06T00:00:00.000Z' } } as const;

test('a key is found by its SHA-256 once it is issued', () => {
  const index = new KeyIndex();
  expect(index.find(SHA256)).toBeNull();
  index.observe(ACCOUNT, opened);
  index.observe(ACCOUNT, keyIssued());
  expect(index.find(SHA256)).toEqual({ accountId: ACCOUNT, keyId: KEY });
  expect(index.find('b4'.repeat(32))).toBeNull();
});

test('a key is found after a restart from the account’s state, also when it is revoked', () => {
  const index = new KeyIndex();
  index.addFrom(ACCOUNT, openAccount([opened, keyIssued(), revoked]));
  expect(index.find(SHA256)).toEqual({ accountId: ACCOUNT, keyId: KEY });
});

test('a key belongs to its account alone', () => {
  const index = new KeyIndex();
  const other = accountId('other');
  index.observe(ACCOUNT, keyIssued());
  index.observe(other, keyIssued({ sha256: 'b4'.repeat(32), keyId: keyId('key_z') }));
  expect(index.find(SHA256)?.accountId).toBe(ACCOUNT);
  expect(index.find('b4'.repeat(32))).toEqual({ accountId: other, keyId: 'key_z' });
});
