import { expect, test } from 'vitest';
import { accountId, keyId } from '../../contracts/ids.ts';
import { keysAsIssued } from '../../ledger/account/members.ts';
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

test('a key is found after a restart from its row, also when it is revoked', () => {
  const index = new KeyIndex();
  for (const key of keysAsIssued(openAccount([opened, keyIssued(), revoked]))) index.addFrom(ACCOUNT, key);
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

test('a secret is that of the key that had it first, whichever key says so later', () => {
  const index = new KeyIndex();
  const other = accountId('other');
  expect(index.observe(ACCOUNT, keyIssued())).toBeNull();
  // It says nothing of whose key that is: the account that is set aside for it is told why.
  const taken = /^key key_z has the secret that another key had first$/;
  expect(index.observe(other, keyIssued({ keyId: keyId('key_z') }))).toMatch(taken);
  expect(index.observe(ACCOUNT, keyIssued({ keyId: keyId('key_z') }))).toMatch(taken);
  const rotated = { keyId: keyId('key_z'), sha256: SHA256, last4: 'wxyz', previousUntil: '2026-11-07T00:00:00.000Z' };
  const stolen = {
    type: 'ApiKeyRotated',
    data: { ...rotated, rotatedAt: '2026-11-06T00:00:00.000Z', by: 'ada' },
  } as const;
  expect(index.observe(other, stolen)).toMatch(taken);
  expect(index.find(SHA256)).toEqual({ accountId: ACCOUNT, keyId: KEY });
  // The same event once more, as it comes by the log.
  expect(index.observe(ACCOUNT, keyIssued())).toBeNull();
});

test('rows in which two keys have one secret are not taken: whose it was first, only the log says', () => {
  const [row = expect.fail('it has one')] = keysAsIssued(openAccount([opened, keyIssued()]));
  const index = new KeyIndex();
  index.addFrom(ACCOUNT, row);
  expect(() => index.addFrom(accountId('other'), row)).toThrow(/^two keys have one secret: key_a of account other, /);
});
