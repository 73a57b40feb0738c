import { LIMITS } from '../../../contracts/limits.ts';
import type { AccountCommand, CommandOf } from '../../../ledger/account/commands.ts';
import { granted, KEY, keyIssued, ms, OTHER_KEY, opened } from '../../fixtures/ledger/example-account.ts';
import {
  BEN,
  keyRotated,
  memberAdded,
  memberRemoved,
  OWNER,
  organization,
  roleChanged,
} from '../../fixtures/ledger/example-organization.ts';
import type { Case } from './account-faults.ts';

/** What the decider refuses of members and of the keys that are theirs, and stands in the stream all the same (refusals.test.ts). */

const NOW = ms('2026-11-20T10:00:00.000Z');
const begun = [organization, keyIssued(), granted('g1', 1_000)];
const withBen = [...begun, memberAdded()];
const BY = { by: 'operator', nowMs: NOW };
const add = { type: 'AddMember', email: BEN, role: 'member', ...BY } as const;
const remove = { type: 'RemoveMember', email: BEN, ...BY } as const;
const role = (email: string, to: CommandOf<'ChangeMemberRole'>['role']): AccountCommand => ({
  ...{ type: 'ChangeMemberRole', email, role: to, by: 'operator' },
});
const rotate = (change: Partial<CommandOf<'RotateKey'>> = {}): AccountCommand => ({
  ...{
    type: 'RotateKey',
    keyId: KEY,
    sha256: 'b7'.repeat(32),
    last4: 'new1',
    overlapMs: 86_400_000,
    endsPrevious: false,
    ...BY,
  },
  ...change,
});
const full = [
  organization,
  ...Array.from({ length: LIMITS.membersMax - 1 }, (_, number) => memberAdded(`m${number}@example.com`)),
];
const revoked = { type: 'ApiKeyRevoked', data: { keyId: KEY, revokedAt: '2026-11-20T10:00:00.000Z' } } as const;
const ending = keyIssued({ expiresAt: '2026-11-20T10:30:00.000Z' });
const issue = (member: string | null): AccountCommand => ({
  ...{ type: 'IssueKey', keyId: OTHER_KEY, name: 'ci', sha256: 'c'.repeat(64), last4: 'wxyz', issuer: 'operator' },
  ...{ expiresAtMs: null, models: null, monthlyLimit: null, member, nowMs: NOW },
});

export const MEMBER_CASES = {
  AddMember: [
    {
      ...{ refused: 'personal_account', life: [opened], command: add, written: [memberAdded()] },
      fault: /^ben@example\.com: a member of a personal account$/,
    },
    {
      ...{ refused: 'nothing', life: withBen, command: add, written: [memberAdded('BEN@example.com')] },
      fault: /^BEN@example\.com: added, and is a member already$/,
    },
    {
      ...{ refused: 'member_exists', life: withBen, command: { ...add, role: 'admin' } },
      ...{ written: [memberAdded(BEN, 'admin')], fault: /^ben@example\.com: added, and is a member already$/ },
    },
    {
      ...{ refused: 'too_many_members', life: full, command: add, written: [memberAdded()] },
      fault: /^ben@example\.com: one more member than there may be$/,
    },
  ],
  ChangeMemberRole: [
    {
      ...{
        refused: 'member_not_found',
        life: begun,
        command: role(BEN, 'admin'),
        written: [roleChanged(BEN, 'admin')],
      },
      fault: /^ben@example\.com: has a new role, and is no member$/,
    },
    {
      ...{ refused: 'nothing', life: withBen, command: role(BEN, 'member'), written: [roleChanged(BEN, 'member')] },
      fault: /^ben@example\.com: the role is changed to what it is already: member$/,
    },
    {
      ...{
        refused: 'last_owner',
        life: withBen,
        command: role(OWNER, 'admin'),
        written: [roleChanged(OWNER, 'admin')],
      },
      fault: /^whether the account has an owner is false, should be true$/,
    },
  ],
  RemoveMember: [
    {
      ...{ refused: 'member_not_found', life: begun, command: remove, written: [memberRemoved()] },
      fault: /^ben@example\.com: removed, and is no member$/,
    },
    {
      ...{ refused: 'last_owner', life: withBen, command: { ...remove, email: OWNER.toUpperCase() } },
      ...{ written: [memberRemoved(OWNER)], fault: /^whether the account has an owner is false, should be true$/ },
    },
  ],
  RotateKey: [
    {
      ...{ refused: 'key_not_found', life: begun, command: rotate({ keyId: OTHER_KEY }) },
      ...{ written: [keyRotated({ keyId: OTHER_KEY })], fault: /^key_b: rotated, and was never issued$/ },
    },
    {
      ...{ refused: 'key_already_revoked', life: [...begun, revoked], command: rotate() },
      ...{ written: [keyRotated()], fault: /^key_a: rotated, and is revoked$/ },
    },
    {
      ...{ refused: 'key_already_revoked', life: [...withBen, roleChanged(BEN, 'owner'), memberRemoved(OWNER)] },
      ...{ command: rotate(), written: [keyRotated()], fault: /^key_a: rotated, and is revoked$/ },
    },
    {
      ...{ refused: 'invalid_period', life: begun, command: rotate({ overlapMs: LIMITS.keyOverlapMsMax + 1 }) },
      written: [keyRotated({ previousUntil: '2026-12-20T10:00:00.001Z' })],
      fault: /^key_a: its secret before goes on too long/,
    },
    {
      ...{ refused: 'invalid_period', life: begun, command: rotate({ overlapMs: -1 }) },
      written: [keyRotated({ previousUntil: '2026-11-20T09:59:59.999Z' })],
      fault: /^key_a: its secret before ends before the rotation/,
    },
    {
      ...{ refused: 'key_ended', life: [organization, ending], command: rotate({ nowMs: NOW + 3_600_000 }) },
      written: [keyRotated({ rotatedAt: '2026-11-20T11:00:00.000Z' })],
      fault: /^key_a: had ended when it was rotated: 2026-11-20T10:30:00\.000Z$/,
    },
  ],
} as const satisfies Record<string, readonly Case[]>;

export const KEY_CASES: readonly Case[] = [
  {
    ...{ refused: 'member_not_found', life: begun, command: issue(BEN) },
    written: [keyIssued({ keyId: OTHER_KEY, member: BEN })],
    fault: /^key_b: of ben@example\.com, who is no member$/,
  },
  {
    refused: 'member_not_found',
    life: [...withBen, roleChanged(BEN, 'owner'), memberRemoved(OWNER)],
    command: issue(OWNER),
    written: [keyIssued({ keyId: OTHER_KEY })],
    fault: /^key_b: of owner@example\.com, who is no member$/,
  },
];
