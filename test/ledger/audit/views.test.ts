import { expect, it } from 'vitest';
import type { OpenAccount } from '../../../ledger/account/account-state.ts';
import { entriesOf } from '../../../ledger/account/keyed-tree.ts';
import { AccountAudit } from '../../../ledger/audit/account-audit.ts';
import type { SeenFigures } from '../../../ledger/audit/audit-views.ts';
import { describeFault } from '../../../ledger/audit/fault.ts';
import { fold } from '../../fixtures/ledger/decider-specification.ts';
import {
  ACCOUNT,
  CARD,
  granted,
  KEY,
  keyIssued,
  lifeWith,
  limitSet,
  memberLimitSet,
  OTHER_KEY,
  opened,
  usageOf,
  usd,
} from '../../fixtures/ledger/example-account.ts';
import { recordedLife } from '../../fixtures/ledger/recorded-life.ts';

const LIFE = lifeWith(
  [
    ...[opened, keyIssued(), keyIssued({ keyId: OTHER_KEY, sha256: 'b4'.repeat(32) }), granted('g1', 1_000)],
    ...[limitSet(9_000), limitSet(8_000, KEY), limitSet(5_000, OTHER_KEY, { mode: 'soft' })],
    memberLimitSet(20_000, 'owner@example.com', { thresholdsPercent: [60] }),
  ],
  usageOf(1, 900, { tokens: { input: 1, output: 900, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 1 } }),
  usageOf(2, 300, { hold: usd(250) }),
);
const { balance, carry, uncovered, grants, spend, exceptions } = fold(LIFE) as OpenAccount;
const monthOf = (by: bigint) =>
  Object.fromEntries(
    Object.entries(spend.months).map(([month, { account, keys }]) => [
      month,
      {
        account: String(account + by),
        keys: Object.fromEntries([...entriesOf(keys)].map(([id, of]) => [id, String(of)])),
      },
    ]),
  );
const PICO = 1_000_000n;
const OTHERS = {
  members: { 'owner@example.com': '20000' },
  soft: { [OTHER_KEY]: '5000' },
  thresholds: { 'member:owner@example.com': [60] },
};
const OTHERS_TOLD = 'key_b soft 0.005000 USD, member owner@example.com 0.020000 USD at 60%';
const SEEN: SeenFigures = {
  ...{ revision: LIFE.length - 1, balance: String(balance), carry: String(carry), uncovered: String(uncovered) },
  grants: grants.map(({ grantId, remaining }) => ({ grantId, remaining: String(remaining) })),
  months: monthOf(0n),
  ...{
    leases: [],
    accountLimit: '9000',
    keyLimits: { [KEY]: '8000' },
    otherLimits: OTHERS,
    keys: [KEY, OTHER_KEY].map((keyId) => ({ keyId, isRevoked: false })),
  },
  isSuspended: false,
  openExceptions: { count: exceptions.openCount, unlisted: 0, amount: String(exceptions.openAmount) },
  billed: String((1_000n - balance) * PICO + carry),
};

function faultsOf(seen: SeenFigures): string[] {
  const card = { ...CARD.rates, hasFastLane: true, uses: new Map() };
  const audit = new AccountAudit(ACCOUNT, () => card, { seen });
  for (const { data, metadata, ...event } of recordedLife(
    LIFE.map((event) => ({ event, atMs: Date.UTC(2026, 10, 20) })),
  ))
    audit.take({ ...event, data: JSON.parse(data), metadata: JSON.parse(metadata) });
  audit.end();
  return audit.books.faults.map(describeFault);
}

it('agrees with views that are as the events make them', () => {
  expect([uncovered > 0n, carry > 0n, exceptions.openCount, exceptions.openAmount]).toEqual([true, true, 1, 50n]);
  expect(faultsOf(SEEN)).toEqual([]);
});

it.each<[Partial<SeenFigures>, string]>([
  [{ balance: '7' }, "the views' balance is 0.000007 USD, should be -"],
  [{ carry: '7' }, "the views' carry is 0.000000000007 USD, should be 0.000000"],
  [{ uncovered: '7' }, 'what the views have as uncovered is 0.000007 USD, should be 0.000'],
  [{ grants: [{ grantId: 'g1', remaining: '7' }] }, "the views' grants is g1 0.000007 USD, should be g1 0.000000 USD"],
  [{ months: monthOf(1n) }, "the views' months is 2026-11 0.00"],
  [
    { leases: [{ leaseId: 'lease_1', amount: '7', expiresAtMs: 0 }] },
    "the views' leases is lease_1 0.000007 USD until 0, should be ",
  ],
  [
    { accountLimit: null },
    `the views' limits is key_a 0.008000 USD, ${OTHERS_TOLD}, should be account 0.009000 USD, key_a 0.008000 USD, ${OTHERS_TOLD}`,
  ],
  [{ keyLimits: {} }, `the views' limits is account 0.009000 USD, ${OTHERS_TOLD}, should be account`],
  [{ otherLimits: null }, `0.008000 USD, should be account 0.009000 USD, key_a 0.008000 USD, ${OTHERS_TOLD}`],
  [
    { otherLimits: { ...OTHERS, soft: {} } },
    'key_a 0.008000 USD, member owner@example.com 0.020000 USD at 60%, should',
  ],
  [{ otherLimits: { ...OTHERS, thresholds: {} } }, 'member owner@example.com 0.020000 USD, should be account'],
  [{ keys: [{ keyId: KEY, isRevoked: true }] }, "the views' keys is key_a revoked, should be key_a"],
  [{ isSuspended: true }, 'whether it is suspended, as the views have it, is true, should be false'],
  [{ openExceptions: { count: 1, unlisted: 0, amount: '7' } }, "the views' open exceptions is 1 of 0.000007 USD"],
  [{ billed: '7' }, 'what the views have billed is 0.000000000007 USD, should be 0.001'],
])('tells of views that have otherwise: %o', (change, fault) => {
  expect(faultsOf({ ...SEEN, ...change })).toEqual([expect.stringContaining(fault)]);
});
