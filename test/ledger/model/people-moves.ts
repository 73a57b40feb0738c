import fc from 'fast-check';
import { keyId, leaseId, proxyId } from '../../../contracts/ids.ts';
import { microUsd } from '../../../contracts/money.ts';
import type { CommandOf } from '../../../ledger/account/commands.ts';
import { valuesOf } from '../../../ledger/account/keyed-tree.ts';
import { nextExpiry } from '../../../ledger/account/leases.ts';
import type { RealAccount } from './real-account.ts';
import { move, oneOf } from './step.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const which = fc.nat({ max: 1_000 });
const isNew = fc.constantFrom(true, true, true, false);
const role = fc.constantFrom('owner', 'admin', 'member' as const);
const email = fc.constantFrom('owner@example.com', 'Ada@example.com', 'ada@example.com', 'bob@example.com');
const amount = fc.nat({ max: 900 });
const overlapMs = fc.constantFrom(0, DAY_MS, DAY_MS, 31 * DAY_MS);

/** Who may spend, and how much of it. */
export const peopleMoves = [
  move(2, 'add a member', { email, role }, ({ email, role }, { nowMs }) => [
    { type: 'AddMember', email, role, by: 'operator', nowMs },
  ]),
  move(2, 'change a role', { email, role }, ({ email, role }) => [
    { type: 'ChangeMemberRole', email, role, by: 'operator' },
  ]),
  move(2, 'remove a member', { email }, ({ email }, { nowMs }) => [
    { type: 'RemoveMember', email, by: 'operator', nowMs },
  ]),
  move(
    2,
    'issue a key',
    {
      which,
      isNew,
      email: fc.option(email),
      limit: fc.option(amount),
      lastsMs: fc.option(fc.nat({ max: 9 * DAY_MS })),
      models: fc.option(fc.constantFrom(['opal-medium'], ['opal-medium', 'svc-mock'])),
    },
    (of, account) => {
      const id = keyId(of.isNew ? `key${account.next()}` : `key${of.which % 8}`);
      return [
        {
          ...{
            type: 'IssueKey',
            keyId: id,
            name: 'ci',
            sha256: sha256Of(account.open.accountId, id),
            last4: 'wxyz',
            issuer: 'operator',
          },
          ...{
            models: of.models,
            member: of.email,
            monthlyLimit: of.limit === null ? null : microUsd(BigInt(of.limit)),
          },
          ...{ expiresAtMs: of.lastsMs === null ? null : account.nowMs + of.lastsMs, nowMs: account.nowMs },
        },
      ];
    },
  ),
  move(1, 'rotate a key', { which, overlapMs, again: fc.array(fc.boolean(), { maxLength: 1 }) }, (of, account) => {
    const id = oneOf([...valuesOf(account.open.keys)], of.which)?.keyId ?? keyId('unknown');
    return [false, ...of.again].map((endsPrevious) => {
      const secret = { sha256: sha256Of(account.open.accountId, `${id}${account.next()}`), last4: 'abcd' };
      const rotating = { type: 'RotateKey', keyId: id, ...secret, overlapMs: of.overlapMs, endsPrevious } as const;
      return { ...rotating, by: 'operator', nowMs: account.nowMs };
    });
  }),
  move(1, 'revoke a key', { which }, (of, account) => {
    const id = oneOf([...valuesOf(account.open.keys)], of.which)?.keyId ?? keyId('unknown');
    return [{ type: 'RevokeKey', keyId: id, nowMs: account.nowMs }];
  }),
  move(
    2,
    'limit',
    {
      ...{ which, limit: fc.constantFrom(null, 100, 100, 500), member: fc.option(email, { freq: 2 }) },
      mode: fc.constantFrom('hard', 'hard', 'soft'),
      percents: fc.constantFrom([50, 80, 100], [50, 80, 100], [1, 60, 99], [60, 60]),
    },
    (of, account) => {
      const keys = [null, ...[...valuesOf(account.open.keys)].map((key) => key.keyId), keyId('unknown')];
      const scope = of.member === null ? { keyId: oneOf(keys, of.which) ?? null } : { keyId: null, member: of.member };
      const limit = of.limit === null ? null : microUsd(BigInt(of.limit));
      const terms = { mode: of.mode, thresholdsPercent: of.percents };
      return [{ type: 'SetSpendLimit', ...scope, limit, ...terms, nowMs: account.nowMs }];
    },
  ),
];

/** Two proxies on one log, which lease what they admit by. */
export const leaseMoves = [
  move(
    4,
    'lease',
    { proxy: fc.constantFrom(1, 2), upTo: fc.nat({ max: 400 }), lastsMs: fc.nat({ max: 2 * HOUR_MS }) },
    ({ proxy, upTo, lastsMs }, account) => [lease(account, { proxy, upTo: BigInt(upTo), lastsMs })],
  ),
  move(2, 'give a lease back', { which, percent: fc.integer({ min: 1, max: 100 }) }, (of, account) => {
    const lease = oneOf(Object.values(account.open.leases), of.which);
    if (lease === undefined) return [];
    return [
      {
        type: 'ReleaseLease',
        leaseId: lease.leaseId,
        amount: microUsd((lease.amount * BigInt(of.percent)) / 100n + 1n),
      },
    ];
  }),
];

/** What a plan lets an account owe is leased, too. */
export const leaseAllMoves = [
  move(1, 'lease all that there is', { lastsMs: fc.nat({ max: HOUR_MS }) }, ({ lastsMs }, account) => [
    lease(account, { proxy: 1, upTo: 10n ** 12n, lastsMs }),
  ]),
];

function lease(
  { open, nowMs }: RealAccount,
  { proxy, upTo, lastsMs }: { readonly proxy: number; readonly upTo: bigint; readonly lastsMs: number },
): CommandOf<'LeaseCredits'> {
  const requestsBeforeMs = nextExpiry(open, nowMs);
  return {
    // Another proxy's, and other requests', have leases of their own.
    ...{ type: 'LeaseCredits', leaseId: leaseId(`lease_${proxy}_${requestsBeforeMs ?? 'all'}`), epoch: 1, keyId: null },
    ...{ proxy: proxyId(`proxy_${proxy}`), upTo: microUsd(upTo), requestsBeforeMs, othersAheadMs: 0 },
    ...{ expiresAtMs: nowMs + 1 + lastsMs, nowMs },
  };
}

/** No two keys have the same secret. */
export const sha256Of = (accountId: string, id: string): string =>
  Buffer.from(`${accountId} ${id}`).toString('hex').padEnd(64, '0').slice(0, 64);
