import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { newKey } from '../../../ledger/account/new-key.ts';

test('a new key has the form that callers know and 256 bits of randomness', () => {
  const { secret, keyId } = newKey();
  expect(secret).toMatch(/^sk-svc-[A-Za-z0-9_-]{43}$/);
  expect(keyId).toMatch(/^key_[0-9a-f]{16}$/);
});

test('what is kept of a key is its SHA-256 and its last four characters', () => {
  const { secret, sha256, last4 } = newKey();
  expect(sha256).toBe(createHash('sha256').update(secret).digest('hex'));
  expect(last4).toBe(secret.slice(-4));
});

test('no two keys are the same', () => {
  const keys = Array.from({ length: 1000 }, newKey);
  expect(new Set(keys.map(({ secret }) => secret)).size).toBe(1000);
  expect(new Set(keys.map(({ keyId }) => keyId)).size).toBe(1000);
});

test('a key id tells nothing of the secret', () => {
  const { secret, keyId, sha256 } = newKey();
  expect(secret).not.toContain(keyId.slice(4));
  expect(sha256).not.toContain(keyId.slice(4));
});
