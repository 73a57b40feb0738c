import fc from 'fast-check';
import { keyId, leaseId, proxyId } from '../../../contracts/ids.ts';
import { microUsd } from '../../../contracts/money.ts';
import type { AccountCommand } from '../../../ledger/account/commands.ts';
import { valuesOf } from '../../../ledger/account/keyed-tree.ts';
import { leaseScope } from '../../../ledger/account/leases.ts';
import { usageOf } from '../../fixtures/ledger/example-account.ts';
import { PRICE_CARD } from '../../fixtures/ledger/random-life.ts';
import { sha256Of } from './people-moves.ts';
import type { RealAccount } from './real-account.ts';
import { move, oneOf } from './step.ts';

const which = fc.nat({ max: 1_000 });
const email = fc.constantFrom('owner@example.com', 'Ada@example.com', 'ada@example.com', 'bob@example.com');

/** What limits of members are about, and leases under them. */
export const memberMoves = [
  move(6, 'limit a member', { email, limit: fc.constantFrom(null, 0, 90, 2_000) }, (of, { nowMs }) => {
    const limit = of.limit === null ? null : microUsd(BigInt(of.limit));
    return [{ type: 'SetSpendLimit', keyId: null, member: of.email, limit, nowMs }];
  }),
  move(2, 'lift all limits', {}, (_, account) => lifting(account)),
  move(
    6,
    'lease for a key',
    { which, proxy: fc.constantFrom(1, 2), upTo: fc.nat({ max: 90 }), lastsMs: fc.nat({ max: 72 * 3_600_000 }) },
    (of, account) => {
      const key = oneOf(account.keysAt(account.nowMs), of.which);
      if (key === undefined) return [];
      const scope = leaseScope(account.open, key);
      return [
        {
          ...{ type: 'LeaseCredits', proxy: proxyId(`proxy_${of.proxy}`), epoch: 1, keyId: scope },
          ...{ leaseId: leaseId(`lease_${of.proxy}_of_${scope ?? 'all'}`), upTo: microUsd(BigInt(of.upTo)) },
          ...{ requestsBeforeMs: null, othersAheadMs: 0 },
          ...{ expiresAtMs: account.nowMs + 1 + of.lastsMs, nowMs: account.nowMs },
        },
      ];
    },
  ),
  move(3, 'narrow a lease', { which, percent: fc.nat({ max: 100 }) }, (of, { open }) => {
    const lease = oneOf(
      Object.values(open.leases).filter(({ beforeLimit }) => Object.keys(beforeLimit).length > 0),
      of.which,
    );
    const [key, most] = oneOf(Object.entries(lease?.beforeLimit ?? {}), of.which) ?? [];
    if (lease === undefined || key === undefined || most === undefined) return [];
    const atMost = microUsd((most * BigInt(of.percent)) / 100n);
    return [{ type: 'NarrowLease', leaseId: lease.leaseId, keyId: keyId(key), atMost }];
  }),
  // No gateway does; a ledger could say so.
  move(
    2,
    'use a key, and then issue it',
    { email: fc.option(email), output: fc.integer({ min: 1, max: 9 }) },
    (of, account) => {
      const { open, nowMs } = account;
      const id = keyId(`key${account.next()}`);
      const at = new Date(nowMs).toISOString();
      const card = { id: PRICE_CARD.id, version: PRICE_CARD.version, hash: PRICE_CARD.hash };
      const more = { keyId: id, startedAt: at, finishedAt: at, rateCard: card };
      return [
        { type: 'RecordUsage', usage: usageOf(account.next() * 16, of.output, more), card: PRICE_CARD },
        {
          ...{ type: 'IssueKey', keyId: id, name: 'ci', sha256: sha256Of(open.accountId, id), last4: 'wxyz' },
          ...{ issuer: 'operator', models: null, member: of.email, monthlyLimit: null, expiresAtMs: null, nowMs },
        },
      ];
    },
  ),
];

/** What has no limit goes on without. */
function* lifting({ open, nowMs }: RealAccount): Generator<AccountCommand> {
  const members = Object.values(open.organization.members).map(({ email }) => ({ keyId: null, member: email }));
  const keys = [...valuesOf(open.keys)].map((key) => ({ keyId: key.keyId }));
  for (const scope of [{ keyId: null }, ...members, ...keys])
    yield { type: 'SetSpendLimit', ...scope, limit: null, nowMs };
}
