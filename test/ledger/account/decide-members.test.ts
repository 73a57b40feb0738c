import { describe, expect, it } from 'vitest';
import { downcast, upcast } from '../../../contracts/event-upcasters.ts';
import { keyId } from '../../../contracts/ids.ts';
import type { CommandOf } from '../../../ledger/account/commands.ts';
import { keyInWords, previousAt } from '../../../ledger/account/key-state.ts';
import { entryOf, valuesOf } from '../../../ledger/account/keyed-tree.ts';
import { memberOfKey, ownerOf, roleOf } from '../../../ledger/account/members.ts';
import { given } from '../../fixtures/ledger/decider-specification.ts';
import { KEY, keyIssued, ms, OTHER_KEY, openAccount, opened } from '../../fixtures/ledger/example-account.ts';
import {
  BEN,
  keyRotated,
  memberAdded,
  memberRemoved,
  OWNER,
  organization,
  roleChanged,
} from '../../fixtures/ledger/example-organization.ts';

const AT = '2026-11-20T10:00:00.000Z';
const NOW = ms(AT);
const BY = { by: 'operator', nowMs: NOW };
const add: CommandOf<'AddMember'> = { type: 'AddMember', email: BEN, role: 'member', ...BY };

const issue = (member: string | null): CommandOf<'IssueKey'> => ({
  ...{ type: 'IssueKey', keyId: OTHER_KEY, name: 'ci', sha256: 'b'.repeat(64), last4: 'wxyz' },
  ...{ issuer: 'owner@example.com', expiresAtMs: null, models: null, monthlyLimit: null, member, nowMs: NOW },
});
const issued = (member: string | null) => keyIssued({ keyId: OTHER_KEY, sha256: 'b'.repeat(64), member });

describe('members', () => {
  it('are the opener, who is an owner, and those that were added, whatever the letters of their e-mails', () => {
    given(organization).decides(add, memberAdded());
    const account = openAccount([organization, memberAdded('Ben@Example.com', 'admin')]);
    expect(roleOf(account, 'OWNER@example.com')).toBe('owner');
    expect(roleOf(account, 'ben@example.COM')).toBe('admin');
    expect(roleOf(account, 'eve@example.com')).toBeNull();
    expect(roleOf(account, '__proto__')).toBeNull();
  });

  it('are added once, with one role, and not to a personal account', () => {
    given(organization, memberAdded()).decides({ ...add, email: 'BEN@EXAMPLE.COM' });
    given(organization, memberAdded()).refuses(
      { ...add, role: 'admin' },
      'member_exists',
      /as member: change the role/,
    );
    given(opened).refuses(add, 'personal_account');
  });

  it('become another role, and what they are already changes nothing', () => {
    const role = { type: 'ChangeMemberRole', email: BEN, role: 'admin', by: 'operator' } as const;
    given(organization, memberAdded()).decides(role, roleChanged(BEN, 'admin'));
    given(organization, memberAdded(BEN, 'admin')).decides(role);
    given(organization).refuses(role, 'member_not_found', /ben@example\.com is no member/);
  });

  it('leave, but for the last owner, who stays one', () => {
    const remove = { type: 'RemoveMember', email: BEN, ...BY } as const;
    given(organization, memberAdded()).decides(remove, memberRemoved());
    const leave = { ...remove, email: OWNER };
    given(organization, memberAdded(BEN, 'admin')).refuses(leave, 'last_owner', /make somebody else an owner first/);
    given(opened).refuses(
      { ...leave, email: openAccount([opened]).email },
      'last_owner',
      /personal account .* stays so$/,
    );
    given(organization, memberAdded(BEN, 'owner')).decides(leave, memberRemoved(OWNER));
    given(organization, memberAdded(BEN, 'owner'), memberRemoved(OWNER)).refuses(remove, 'last_owner');
  });
});

describe('the keys of a member', () => {
  const life = [organization, memberAdded(), keyIssued(), issued(BEN)];

  it('are of whom they name, and of the first owner where they name nobody', () => {
    const { keys, ...account } = openAccount(life);
    const whose = [KEY, OTHER_KEY].map((id) => memberOfKey(account, entryOf(keys, id) ?? { member: 'nobody' }));
    expect(whose).toEqual([OWNER, BEN]);
    given(organization, memberAdded()).decides(issue(BEN), issued(BEN));
    given(organization).refuses(issue(BEN), 'member_not_found');
  });

  it('of the first owner are written as those of before there were members', () => {
    given(organization).decides(issue('Owner@example.com'), issued(null));
    given(organization).decides(issue(null), issued(null));
  });

  it('of nobody else are of an owner that there is: the first, else the first of the others', () => {
    const others = [memberAdded('eve@example.com'), memberAdded(BEN, 'owner'), memberAdded('dan@example.com', 'owner')];
    given(organization, ...others).decides(issue(null), issued(null));
    const left = [organization, ...others, memberRemoved(OWNER)];
    given(...left).decides(issue(null), issued(BEN));
    given(organization, ...others, roleChanged(OWNER, 'member')).decides(issue(null), issued(BEN));
    given(...left, memberAdded(OWNER, 'owner')).decides(issue(null), issued(null));
    expect(ownerOf(openAccount(left))).toBe(BEN);
  });

  it('end as the member leaves, those of others go on, and who comes again needs new ones', () => {
    const ended = (events: Parameters<typeof openAccount>[0]) =>
      [...valuesOf(openAccount(events).keys)].flatMap(({ keyId: id, revokedAtMs }) =>
        revokedAtMs === null ? [] : [id],
      );
    expect(ended([...life, memberRemoved('BEN@example.com')])).toEqual([OTHER_KEY]);
    expect(ended([...life, memberRemoved(), memberAdded()])).toEqual([OTHER_KEY]);
    expect(ended([...life, roleChanged(BEN, 'owner'), memberRemoved(OWNER)])).toEqual([KEY]);
    expect(entryOf(openAccount([...life, memberRemoved()]).keys, OTHER_KEY)?.revokedAtMs).toBe(NOW);
  });

  it('that were revoked before keep their end', () => {
    const revokedAt = '2026-11-19T00:00:00.000Z';
    const { keys } = openAccount([
      ...life,
      { type: 'ApiKeyRevoked', data: { keyId: OTHER_KEY, revokedAt } },
      memberRemoved(),
    ]);
    expect(entryOf(keys, OTHER_KEY)?.revokedAtMs).toBe(ms(revokedAt));
  });
});

describe('a key that is rotated', () => {
  const rotate: CommandOf<'RotateKey'> = {
    ...{ type: 'RotateKey', keyId: KEY, sha256: 'b7'.repeat(32), last4: 'new1', overlapMs: 24 * 3_600_000, ...BY },
    endsPrevious: false,
  };

  it('has its new secret, and the one before until the overlap is over', () => {
    given(organization, keyIssued()).decides(rotate, keyRotated());
    given(organization, keyIssued()).decides({ ...rotate, overlapMs: 0 }, keyRotated({ previousUntil: AT }));
    expect(entryOf(openAccount([organization, keyIssued(), keyRotated()]).keys, KEY)).toMatchObject({
      ...{ sha256: 'b7'.repeat(32), last4: 'new1', name: 'ci' },
      previous: { sha256: 'a3'.repeat(32), last4: 'wxyz', untilMs: NOW + 24 * 3_600_000 },
    });
  });

  it('ends with all its secrets; one that was promised longer, as before that was looked at, is said to end with it', () => {
    const expiresAt = new Date(NOW + 3_600_000).toISOString();
    const life = [organization, keyIssued({ expiresAt })];
    given(...life).decides(rotate, keyRotated({ previousUntil: expiresAt }));
    given(...life).decides(
      { ...rotate, overlapMs: 60_000 },
      keyRotated({ previousUntil: new Date(NOW + 60_000).toISOString() }),
    );
    const key = entryOf(openAccount([...life, keyRotated()]).keys, KEY);
    expect(key?.previous?.untilMs).toBe(NOW + 24 * 3_600_000);
    expect(key && keyInWords(key, NOW)).toBe(`in use; its secret before until ${expiresAt}`);
    expect(key && previousAt(key, NOW + 3_600_000)).toBeNull();
    given(...life, keyRotated()).refuses(rotate, 'previous_secret_works', new RegExp(` works until ${expiresAt}, and`));
  });

  it('again keeps of its old secrets the newest alone', () => {
    const again = keyRotated({ sha256: 'c'.repeat(64), last4: 'new2' });
    expect(entryOf(openAccount([organization, keyIssued(), keyRotated(), again]).keys, KEY)).toMatchObject({
      ...{ sha256: 'c'.repeat(64), previous: { sha256: 'b7'.repeat(32), last4: 'new1' } },
    });
  });

  it('ends the secret before early where that is said alone, by the clock of whoever asks', () => {
    const life = [organization, keyIssued(), keyRotated()];
    const until = NOW + 24 * 3_600_000;
    const again = { ...rotate, sha256: 'c'.repeat(64), last4: 'new2', nowMs: until - 1 };
    given(...life).refuses(
      again,
      'previous_secret_works',
      /^key key_a: the secret before \(ending wxyz\) works until 2026-11-21T10:00:00\.000Z, and another rotation would end it at once: wait until then, issue another key \(gateway key issue acme\), or say --again \(it ends now\)$/,
    );
    const rotated = (nowMs: number, overlapMs = again.overlapMs) =>
      keyRotated({
        ...{ sha256: again.sha256, last4: again.last4, rotatedAt: new Date(nowMs).toISOString() },
        previousUntil: new Date(nowMs + overlapMs).toISOString(),
      });
    given(...life).decides({ ...again, endsPrevious: true }, rotated(until - 1));
    given(...life).decides({ ...again, overlapMs: 0 }, rotated(until - 1, 0));
    given(...life).decides({ ...again, nowMs: until }, rotated(until));
  });

  it('is one that may be used', () => {
    given(organization).refuses({ ...rotate, keyId: keyId('none') }, 'key_not_found');
    given(organization, keyIssued({ expiresAt: AT })).refuses(rotate, 'key_ended', /issue a new one/);
    given(organization, keyIssued()).refuses(
      { ...rotate, overlapMs: 31 * 86_400_000 },
      'invalid_period',
      /at most 30 days/,
    );
  });
});

describe('forms of before there were products and members', () => {
  const { type: _opened, ...opening } = organization.data as object & { type?: string };
  it.each([
    ['AccountOpened', { ...opening, product: 'gateway' }, 'product', 'images'],
    ['ApiKeyIssued', { keyId: KEY, name: 'ci', member: null }, 'member', BEN],
  ] as const)('%s is what it was, and what they cannot say is not written in them', (type, data, name, other) => {
    const { [name as never]: _left, ...before } = data as Record<string, unknown>;
    expect(upcast(type, 1, before)).toEqual(data);
    expect(downcast(type, 1, data as never)).toEqual(before);
    expect(downcast(type, 1, { ...data, [name]: other } as never)).toBeNull();
  });
});
