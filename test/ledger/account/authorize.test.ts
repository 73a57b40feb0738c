import { describe, expect, it } from 'vitest';
import { keyId } from '../../../contracts/ids.ts';
import {
  type Action,
  type Actor,
  PERMISSIONS,
  ROLES,
  type Role,
  reachOf,
  SYSTEM,
} from '../../../contracts/permissions.ts';
import { INITIAL_ACCOUNT } from '../../../ledger/account/account-state.ts';
import { type Asked, authorize, authorizeAction, keysFor } from '../../../ledger/account/authorize.ts';
import { decide } from '../../../ledger/account/decide.ts';
import { OPERATOR } from '../../fixtures/ledger/actors.ts';
import { KEY, keyIssued, openAccount } from '../../fixtures/ledger/example-account.ts';
import { BEN, memberAdded, OWNER, organization, roleChanged } from '../../fixtures/ledger/example-organization.ts';

const ACTIONS = Object.keys(PERMISSIONS) as Action[];
const EMAILS: Readonly<Record<Role, string>> = { owner: OWNER, admin: 'adm@example.com', member: 'mem@example.com' };
const keyOf = (role: Role) => keyId(`key_${role}`);
const account = openAccount([
  organization,
  memberAdded(EMAILS.admin, 'admin'),
  memberAdded(EMAILS.member, 'member'),
  ...ROLES.map((role) => keyIssued({ keyId: keyOf(role), member: role === 'owner' ? null : EMAILS[role] })),
]);
const member = (email: string): Actor => ({ type: 'member', email });
/** Of what is the member's own, and of nobody else: what every reach reaches. */
const asked = (type: Action, role: Role): Asked =>
  ({ type, keyId: keyOf(role), member: EMAILS[role], role: 'member', email: EMAILS.member }) as unknown as Asked;

describe.each(ACTIONS)('%s', (action) => {
  it.each([['operator', OPERATOR] as const, ['system', SYSTEM] as const])(
    'is for the %s where the table says so',
    (holder, actor) => {
      expectAllowed(authorize(actor, asked(action, 'owner'), account), holder, reachOf(action, holder) !== null);
    },
  );

  it.each(ROLES)('is for the %s where the table says so', (role) => {
    const actor = member(EMAILS[role].toUpperCase());
    expectAllowed(authorize(actor, asked(action, role), account), role, reachOf(action, role) !== null);
  });

  it('tells nobody else whether there is such an account', () => {
    const toStranger = authorize(member('eve@example.com'), asked(action, 'member'), account);
    expect(toStranger).toEqual(decide({ type: 'SuspendAccount', reason: 'x' }, INITIAL_ACCOUNT));
    expect(authorize(member('eve@example.com'), asked(action, 'member'), INITIAL_ACCOUNT)).toEqual(toStranger);
  });
});

function expectAllowed(refused: unknown, who: string, isAllowed: boolean): void {
  if (isAllowed) expect(refused).toBeNull();
  else expect(refused).toMatchObject({ code: 'not_permitted', message: expect.stringMatching(`^${who} may not `) });
}

it('credits are bought by members for what they are worth, and at another price by operators alone', () => {
  const buy = (price: bigint): Asked => ({ type: 'StartPurchase', amount: 20n, price }) as unknown as Asked;
  expect(authorize(member(OWNER), buy(20n), account)).toBeNull();
  for (const price of [19n, 21n])
    expect(authorize(member(OWNER), buy(price), account)).toMatchObject({ code: 'not_permitted' });
  expect(authorize(OPERATOR, buy(19n), account)).toBeNull();
});

it('a purchase is ended by members where its provider was asked to end it, and otherwise by operators alone', () => {
  const end = (isUnasked: boolean): Asked => ({ type: 'EndPurchase', isUnasked }) as unknown as Asked;
  expect(authorize(member(OWNER), end(false), account)).toBeNull();
  expect(authorize(member(OWNER), end(true), account)).toMatchObject({
    code: 'not_permitted',
    message: expect.stringMatching(/^owner may not end a purchase .*: that is for operator$/),
  });
  expect(authorize(OPERATOR, end(true), account)).toBeNull();
});

it.each(ACTIONS)('%s, before more of it is known, is for whom the table says, and tells nobody else', (action) => {
  for (const role of ROLES)
    expectAllowed(authorizeAction(member(EMAILS[role]), action, account), role, reachOf(action, role) !== null);
  for (const holder of ['operator', 'system'] as const)
    expectAllowed(
      authorizeAction(holder === 'system' ? SYSTEM : OPERATOR, action, account),
      holder,
      reachOf(action, holder) !== null,
    );
  const none = decide({ type: 'SuspendAccount', reason: 'x' }, INITIAL_ACCOUNT);
  for (const state of [account, INITIAL_ACCOUNT])
    expect(authorizeAction(member('eve@example.com'), action, state)).toEqual(none);
});

const OF_MEMBERS = ['AddMember', 'ChangeMemberRole', 'RemoveMember'] as const;

describe.each(OF_MEMBERS)('%s', (type) => {
  const concerns = (change: object): Asked => ({ ...asked(type, 'member'), ...change }) as Asked;
  const byAdmin = (change: object) => authorize(member(EMAILS.admin), concerns(change), account);

  it('by an admin concerns no owner, and makes none', () => {
    expect(byAdmin({ email: EMAILS.admin, role: 'admin' })).toBeNull();
    for (const change of [{ email: OWNER.toUpperCase() }, { role: 'owner' }])
      expect(byAdmin(change)).toMatchObject({
        code: 'not_permitted',
        message: expect.stringMatching(/^admin may not .* owner/),
      });
  });

  it('by an owner concerns owners, too', () => {
    expect(authorize(member(OWNER), concerns({ email: OWNER, role: 'owner' }), account)).toBeNull();
  });
});

it('a member ends its own membership, whatever the letters of its e-mail, and no other, of which it learns nothing', () => {
  const byMember = (email: string) =>
    authorize(member(EMAILS.member), { ...asked('RemoveMember', 'member'), email } as Asked, account);
  expect(byMember(EMAILS.member.toUpperCase())).toBeNull();
  const others = [OWNER, EMAILS.admin, 'nobody@example.com'].map(byMember);
  expect(others[0]).toMatchObject({
    code: 'not_permitted',
    message: "member may end no membership but the member's own",
  });
  for (const other of others) expect(other).toEqual(others[0]);
});

describe('keys of others', () => {
  it.each(['RevokeKey', 'RotateKey'] as const)('are to a member as keys that there are not: %s', (type) => {
    const by = (email: string, id: string) =>
      authorize(member(email), { ...asked(type, 'member'), keyId: keyId(id) } as Asked, account);
    const ofNone = by(EMAILS.member, 'key_owner_');
    expect(ofNone).toEqual(decide({ type: 'RevokeKey', keyId: keyId('key_owner_'), nowMs: 0 }, account));
    expect(by(EMAILS.member, keyOf('owner'))).toEqual({ ...ofNone, message: 'the account has no key key_owner' });
    expect(by(EMAILS.admin, keyOf('owner'))).toBeNull();
  });

  it('are not issued by a member, and not seen', () => {
    const by = (email: string, whose: string | null) =>
      authorize(member(email), { ...asked('IssueKey', 'member'), member: whose } as Asked, account);
    for (const whose of [null, EMAILS.admin]) expect(by(EMAILS.member, whose)).toMatchObject({ code: 'not_permitted' });
    expect(by(EMAILS.admin, null)).toBeNull();
    const seen = (actor: Actor) => keysFor(actor, account).map(({ keyId: id }) => id);
    expect(seen(member(EMAILS.member.toUpperCase()))).toEqual([keyOf('member')]);
    expect(seen(member('eve@example.com'))).toEqual([]);
    for (const actor of [OPERATOR, member(OWNER), member(EMAILS.admin)]) expect(seen(actor)).toEqual(ROLES.map(keyOf));
  });

  it('are not issued by who was the first owner, and is a member now, for nobody else: they are of the owner that there is', () => {
    const own = openAccount([organization, memberAdded(BEN, 'owner'), roleChanged(OWNER, 'member')]);
    const by = (whose: string | null) =>
      authorize(member(OWNER), { ...asked('IssueKey', 'member'), member: whose } as Asked, own);
    for (const whose of [null, BEN]) expect(by(whose)).toMatchObject({ code: 'not_permitted' });
    expect(by(OWNER)).toBeNull();
  });

  it('are seen in the order in which they were issued', () => {
    const ids = ['key_c', 'key_a', 'key_b'].map(keyId);
    const own = openAccount([organization, ...ids.map((id) => keyIssued({ keyId: id }))]);
    expect(keysFor(OPERATOR, own).map(({ keyId: id }) => id)).toEqual(ids);
  });

  it('of the first owner are those that name nobody', () => {
    const own = openAccount([organization, memberAdded(OWNER.replace('owner', 'x'), 'owner'), keyIssued()]);
    expect(keysFor(member(OWNER), own).map(({ keyId: id }) => id)).toEqual([KEY]);
  });
});
