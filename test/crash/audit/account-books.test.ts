import { describe, expect, it } from 'vitest';
import type { DebitData, StoredEvent, UsageData } from '../../../ledger/audit/stored-event.ts';
import type { ModelPrices } from '../crash-catalog.ts';
import { accountBooks } from './account-books.ts';
import { debitData, grantData, PRICES, stored, usageData, type Written } from './example-books.ts';

/** An account that was written by hand: what the auditor must find right, and what it must not let pass. */
const prices: ReadonlyMap<string, ModelPrices> = new Map([
  [
    'opal-x',
    {
      ...PRICES,
      ...{ input: 3_000_020n, output: 15_000_007n, hasFastLane: true },
      ...{ cacheRead: 300_002n, cacheWrite5m: 3_750_025n, cacheWrite1h: 6_000_040n },
    },
  ],
]);

const tokens = { input: 10, output: 2, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0 };
const usage = (requestId: string, more: Partial<UsageData> = {}): UsageData =>
  usageData(requestId, { tokens, ...more });

/** 10 x 3.00002 + 2 x 15.000007 micro-USD are 60.000214; the second one is in the fast lane and costs twice that. */
const first: DebitData = debitData('a', {
  cost: '60000214',
  carryAfter: '214',
  amount: '60',
  lines: [
    { tokenClass: 'input', tokens: 10, rate: '3000020', cost: '30000200' },
    { tokenClass: 'output', tokens: 2, rate: '15000007', cost: '30000014' },
  ],
  grants: [{ grantId: 'g1', amount: '60' }],
  balanceAfter: '1040',
  monthToDateAfter: '60',
  keyMonthToDateAfter: '60',
});
const second: DebitData = {
  ...first,
  requestId: 'b',
  lane: 'fast',
  cost: '120000428',
  carryBefore: '214',
  carryAfter: '642',
  amount: '120',
  lines: [
    { tokenClass: 'input', tokens: 10, rate: '6000040', cost: '60000400' },
    { tokenClass: 'output', tokens: 2, rate: '30000014', cost: '60000028' },
  ],
  grants: [
    { grantId: 'g1', amount: '40' },
    { grantId: 'g2', amount: '80' },
  ],
  balanceAfter: '920',
  monthToDateAfter: '180',
  keyMonthToDateAfter: '180',
};

const WRITTEN: readonly Written[] = [
  ['CreditsGranted', grantData('g2', '1000', { priority: 2 })],
  ['CreditsGranted', grantData('g1', '100')],
  ['UsageRecorded', usage('a')],
  ['CreditsDebited', first],
  ['UsageRecorded', usage('b', { lane: 'fast' })],
  ['CreditsDebited', second],
  ['UsageRecorded', usage('c', { outcome: 'upstream_interrupted', billable: false })],
];

const faultsOf = (events: readonly StoredEvent[]): readonly string[] => accountBooks('acct_x', events, prices).faults;

const withDebit = (change: Partial<DebitData>): StoredEvent[] =>
  stored(WRITTEN.map(([type, data]) => [type, data === second ? { ...second, ...change } : data]));

it('finds an account right that is right', () => {
  const books = accountBooks('acct_x', stored(WRITTEN), prices);
  expect(books.faults).toEqual([]);
  expect(books).toMatchObject({ granted: 1_100n, debited: 180n, exact: 180_000_642n, carry: 642n, revision: 8 });
});

describe('tells of a debit', () => {
  it.each<[string, Partial<DebitData>]>([
    ['cost', { cost: '120000429' }],
    ['carry before', { carryBefore: '0' }],
    ['carry after', { carryAfter: '428' }],
    ['amount', { amount: '121' }],
    ['lines', { lines: first.lines }],
    ['grants', { grants: [{ grantId: 'g2', amount: '120' }] }],
    ['uncovered', { uncovered: '1' }],
    ['balance after', { balanceAfter: '921' }],
    ['month', { month: '2026-10' }],
    ['key', { keyId: 'key_2' }],
    ['month to date', { monthToDateAfter: '120' }],
    ["key's month to date", { keyMonthToDateAfter: '120' }],
  ])('whose %s is wrong', (what, change) => {
    expect(faultsOf(withDebit(change))).toEqual([expect.stringContaining(`b: ${what} is `)]);
  });

  it('that is missing', () => {
    expect(faultsOf(stored(WRITTEN.filter(([, data]) => data !== second)))).toEqual([
      'b: charged for, and without a debit',
    ]);
  });

  it('that stands twice', () => {
    const twice = WRITTEN.flatMap((one) => (one[1] === second ? [one, one] : [one]));
    expect(faultsOf(stored(twice))).toContain('b: 2 debit events');
  });

  it('for an ending that is not charged', () => {
    const charged: Written = ['CreditsDebited', { ...second, requestId: 'c' }];
    expect(faultsOf(stored([...WRITTEN, charged]))).toContain('c: debited, and its ending is not charged');
  });
});

it('tells of a usage that stands twice', () => {
  const last = WRITTEN.at(-1);
  expect(faultsOf(stored(last === undefined ? WRITTEN : [...WRITTEN, last]))).toEqual(['c: 2 usage events']);
});

it('tells of a revision that is missing, and of an event id that stands twice', () => {
  const events = stored(WRITTEN);
  expect(faultsOf(events.map((event) => (event.revision === 8 ? { ...event, revision: 9 } : event)))).toEqual([
    'revision 9 follows 7',
  ]);
  expect(faultsOf(events.map((event) => (event.revision === 8 ? { ...event, id: 'id_0' } : event)))).toEqual([
    'event id id_0 stands twice',
  ]);
});
