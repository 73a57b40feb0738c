import { expect, it } from 'vitest';
import type { AccountEvent } from '../../../contracts/events.ts';
import { keyId } from '../../../contracts/ids.ts';
import { granted, KEY, keyIssued, lifeWith, memberLimitSet, usageOf } from '../../fixtures/ledger/example-account.ts';
import { BEN, memberAdded, organization } from '../../fixtures/ledger/example-organization.ts';
import { faultsOf } from './account-faults.ts';

const OWNERS_KEY = keyId('key_owner');
const begun = [
  ...[organization, memberAdded(), granted('g1', 1_000), keyIssued({ member: BEN })],
  ...[keyIssued({ keyId: OWNERS_KEY, sha256: 'c5'.repeat(32) }), memberLimitSet(100, BEN)],
];
const isCrossing = ({ type }: AccountEvent): boolean => type === 'SpendThresholdCrossed';

it("a member's limit is crossed by the member's own keys alone, and each crossing has to be told", () => {
  const others = lifeWith(begun, usageOf(1, 90, { keyId: OWNERS_KEY }));
  expect(others.filter(isCrossing)).toEqual([]);
  expect(faultsOf(others)).toEqual([]);
  const own = lifeWith(others, usageOf(2, 60, { keyId: KEY }));
  expect(faultsOf(own)).toEqual([]);
  expect(faultsOf(own.filter((event) => !isCrossing(event)))).toEqual([
    expect.stringMatching(
      /a threshold is crossed, and nothing tells of it: 50% of 0\.000100 USD by 0\.000060 USD in 2026-11, member ben@/,
    ),
  ]);
  const another = own.map((event) =>
    isCrossing(event) ? ({ ...event, data: { ...event.data, member: 'owner@example.com' } } as AccountEvent) : event,
  );
  expect(faultsOf(another)).toEqual([
    expect.stringMatching(/the threshold that is crossed is .* member owner@example\.com, should be .* member ben@/),
  ]);
});
