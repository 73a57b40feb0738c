import { expect, it } from 'vitest';
import type { StoredEvent } from '../../../ledger/audit/stored-event.ts';
import { accountBooks } from './account-books.ts';

const [BEFORE, ENDS, AFTER, LATER, LAST] = ['01', '02', '03', '04', '05'].map((day) => `2026-11-${day}T00:00:00.000Z`);

type Written = readonly [type: string, data: object, recordedAt?: string | undefined];
const faultsOf = (...written: readonly Written[]): readonly string[] => {
  const events = [OPENED, ...written].map(([type, data, recordedAt = BEFORE], revision): StoredEvent => {
    return {
      revision,
      position: revision,
      id: `id_${revision}`,
      type,
      data,
      metadata: { recordedAt: recordedAt ?? '' },
    };
  });
  return accountBooks('acct_x', events, new Map()).faults;
};

const OPENED: Written = ['AccountOpened', { accountId: 'acct_x', kind: 'personal', email: 'x@example.com' }];
const granted: Written = [
  'CreditsGranted',
  { grantId: 'g', amount: '100', costBasis: '0', priority: 1, effectiveAt: BEFORE, expiresAt: ENDS },
];
const expired = (change: object = {}, at = AFTER): Written => [
  'CreditsExpired',
  { grantId: 'g', amount: '100', expiredAt: ENDS, ...change },
  at,
];
const back = (change: object = {}, at = AFTER): Written => [
  'CreditsReinstated',
  { grantId: 'g', amount: '100', expiresAt: LATER, reason: 'x', actor: 'x', ...change },
  at,
];
const leased: Written = ['CreditsLeased', { leaseId: 'lease_1', amount: '30', expiresAt: LATER }];
const given = (amount: string): Written => ['LeaseReleased', { leaseId: 'lease_1', amount }];

it('finds nothing wrong with credits that expire, come back, and expire again', () => {
  expect(faultsOf(granted, expired(), back(), expired({ expiredAt: LATER }, LATER))).toEqual([]);
});

it.each<[string, readonly Written[], string]>([
  [
    'of less than the grant holds',
    [granted, expired({ amount: '99' })],
    'g: what expires is 0.000099 USD, should be 0.000100 USD',
  ],
  ['that is written twice', [granted, expired(), expired()], 'g: what expires is 0.000100 USD, should be 0.000000 USD'],
  ['before the end', [granted, expired({}, BEFORE)], 'g: written down as expired before its end'],
  ['that names another end', [granted, expired({ expiredAt: AFTER })], 'g: the end that its expiry names is '],
  ['of what was never granted', [expired()], 'g: expires, and was never granted'],
  ['while a lease runs', [granted, leased, given('29'), expired()], 'g: expires while lease_1 runs'],
])('tells of an expiry %s', (_what, written, fault) => {
  expect(faultsOf(...written)).toEqual([expect.stringContaining(fault)]);
});

it('knows a lease that is over: given back, or ended by the clock', () => {
  expect(faultsOf(granted, leased, given('30'), expired())).toEqual([]);
  expect(faultsOf(granted, leased, expired({}, LATER))).toEqual([]);
});

it.each<[string, readonly Written[], string]>([
  [
    'of more than has expired',
    [granted, expired(), back({ amount: '101' })],
    'g: 0.000101 USD come back, of 0.000100 USD',
  ],
  ['of what has not expired', [granted, back()], 'g: 0.000100 USD come back, of 0.000000 USD'],
  ['of what has come back', [granted, expired(), back(), back()], 'g: 0.000100 USD come back, of 0.000000 USD'],
  ['until an end that has passed', [granted, expired(), back({}, LAST)], 'g: comes back until'],
  ['until an end before its own', [granted, expired(), back({ expiresAt: BEFORE }, BEFORE)], 'g: comes back until'],
  ['of what was never granted', [back()], 'g: comes back, and was never granted'],
])('tells of a return %s', (_what, written, fault) => {
  expect(faultsOf(...written)).toContainEqual(expect.stringContaining(fault));
});

it('tells of a request that began before the end of a grant which expired while it was under way', () => {
  const usage = { requestId: 'a', model: 'opal-x', billable: true, startedAt: BEFORE, finishedAt: ENDS, keyId: 'k' };
  expect(faultsOf(granted, expired(), ['UsageRecorded', usage])).toContain('a: g expired while it was under way');
  expect(faultsOf(granted, expired(), back(), ['UsageRecorded', usage])).not.toContainEqual(
    expect.stringContaining('under way'),
  );
});

it('tells of an event that it does not know, which may move money unseen', () => {
  expect(faultsOf(granted, ['CreditsGivenAway', { amount: '1' }])).toEqual([
    'CreditsGivenAway is no event of an account',
  ]);
});
