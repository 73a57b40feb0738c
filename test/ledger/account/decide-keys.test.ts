import { expect, it } from 'vitest';
import type { AccountEvent } from '../../../contracts/events.ts';
import { keyId } from '../../../contracts/ids.ts';
import { LIMITS } from '../../../contracts/limits.ts';
import type { AccountCommand } from '../../../ledger/account/commands.ts';
import { decide } from '../../../ledger/account/decide.ts';
import { fold } from '../../fixtures/ledger/decider-specification.ts';
import { keyIssued, ms, opened } from '../../fixtures/ledger/example-account.ts';

const NOW = '2026-11-20T10:00:00.000Z';
const BEN = 'ben@example.com';
const organization: AccountEvent = { ...opened, data: { ...opened.data, kind: 'organization' } } as AccountEvent;
const withBen = (role: 'owner' | 'member'): AccountEvent => ({
  type: 'MemberAdded',
  data: { email: BEN, role, addedAt: NOW, by: 'operator' },
});
const keys = (count: number, change: Parameters<typeof keyIssued>[0] = {}): AccountEvent[] =>
  Array.from({ length: count }, (_, at) =>
    keyIssued({ keyId: keyId(`key_${at}`), sha256: at.toString(16).padStart(64, '0'), ...change }),
  );
const issue = (member: string | null): AccountCommand => ({
  ...{
    type: 'IssueKey',
    keyId: keyId('key_new'),
    name: 'ci',
    sha256: 'c'.repeat(64),
    last4: 'wxyz',
    issuer: 'operator',
  },
  ...{ expiresAtMs: null, models: null, monthlyLimit: null, member, nowMs: ms(NOW) },
});
const decided = (life: readonly AccountEvent[], member: string | null = null): string => {
  const decision = decide(issue(member), fold(life));
  return 'code' in decision ? `${decision.code}: ${decision.message}` : decision.map(({ type }) => type).join();
};

it('an account has so many keys that are valid at once, and is told which to revoke', () => {
  expect(decided([organization, ...keys(LIMITS.keysMax - 1)])).toBe('ApiKeyIssued');
  expect(decided([organization, ...keys(LIMITS.keysMax)])).toMatch(
    /^too_many_keys: the account has 1000 keys that are valid, and no more are issued: revoke .*gateway key revoke \S+ key_0, or rotate one$/,
  );
});

it('keys that are revoked, or have ended, do not count; an account that has more goes on with them', () => {
  const full = [organization, ...keys(LIMITS.keysMax + 1)];
  const revoked = (at: number): AccountEvent => ({
    type: 'ApiKeyRevoked',
    data: { keyId: keyId(`key_${at}`), revokedAt: NOW },
  });
  expect(decided([...full, revoked(0)])).toMatch(/^too_many_keys: .* 1000 keys/);
  expect(decided([...full, revoked(0), revoked(1)])).toBe('ApiKeyIssued');
  expect(decided([organization, ...keys(LIMITS.keysMax, { expiresAt: NOW })])).toBe('ApiKeyIssued');
});

it('a member who is no owner has fewer, so that the others may have theirs', () => {
  const own = keys(LIMITS.keysOfMemberMax, { member: BEN });
  const life = [organization, withBen('member'), ...own];
  expect(decided(life, 'BEN@example.com')).toMatch(
    /^too_many_keys: BEN@example\.com has 200 keys .* key_0, or rotate one$/,
  );
  expect(decided(life)).toBe('ApiKeyIssued');
  expect(decided([organization, withBen('owner'), ...own], BEN)).toBe('ApiKeyIssued');
  expect(decided([organization, withBen('member'), ...own.slice(1)], BEN)).toBe('ApiKeyIssued');
});
