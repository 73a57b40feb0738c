import type { AccountEvent } from '../../../contracts/events.ts';
import { leaseId, proxyId } from '../../../contracts/ids.ts';
import type { CommandOf } from '../../../ledger/account/commands.ts';
import {
  granted,
  KEY,
  keyIssued,
  limitSet,
  memberLimitSet,
  ms,
  OTHER_KEY,
  usd,
} from '../../fixtures/ledger/example-account.ts';
import { BEN, memberAdded, organization } from '../../fixtures/ledger/example-organization.ts';
import type { Case } from './account-faults.ts';

/** What the decider refuses of limits of members, of soft ones and of thresholds, and stands in the stream all the same (refusals.test.ts). */

const begun = [organization, keyIssued(), granted('g1', 1_000), memberAdded()];
const limit = (change: Partial<CommandOf<'SetSpendLimit'>>): CommandOf<'SetSpendLimit'> => ({
  ...{ type: 'SetSpendLimit', keyId: null, limit: usd(5), nowMs: ms('2026-11-20T10:00:00.000Z') },
  ...change,
});

const NOW = ms('2026-11-20T10:00:00.000Z');
const proxy = proxyId('proxy_1');
const leased = (id: string, keyId: typeof KEY, amount: number): AccountEvent => ({
  type: 'CreditsLeased',
  data: {
    ...{ proxy, leaseId: leaseId(id), epoch: 1, keyId, amount: usd(amount), requestsBefore: null },
    ...{ expiresAt: '2026-11-20T12:00:00.000Z', requestsFrom: '2026-11-20T10:00:00.000Z' },
  },
});
const bens = [
  ...[organization, memberAdded(), granted('g1', 1_000), keyIssued({ member: BEN })],
  keyIssued({ keyId: OTHER_KEY, sha256: 'b4'.repeat(32), member: BEN }),
  ...[memberLimitSet(5, BEN), leased('lease_b', OTHER_KEY, 5)],
];

export const MEMBER_LEASE_CASE: Case = {
  ...{ refused: 'nothing', life: bens },
  command: {
    ...{ type: 'LeaseCredits', proxy, leaseId: leaseId('lease_a'), epoch: 1, keyId: KEY, upTo: usd(1) },
    ...{ requestsBeforeMs: null, othersAheadMs: 0, expiresAtMs: NOW + 7_200_000, nowMs: NOW },
  },
  written: [leased('lease_a', KEY, 1)],
  fault: /^lease_a: what is leased beside the limit of ben@example\.com is 0\.000006 USD, should be 0\.000005 USD$/,
};

export const LIMIT_CASES: readonly Case[] = [
  {
    ...{ refused: 'ambiguous_scope', life: begun, command: limit({ keyId: KEY, member: BEN }) },
    ...{ written: [limitSet(5, KEY, { member: BEN })], fault: /^key_a: its limit is ben@example\.com's, too$/ },
  },
  {
    ...{ refused: 'member_not_found', life: begun, command: limit({ member: 'eve@example.com' }) },
    ...{ written: [memberLimitSet(5, 'eve@example.com')], fault: /^eve@example\.com: has a limit, and is no member$/ },
  },
  {
    ...{ refused: 'nothing', life: [...begun, memberLimitSet(5, BEN)], command: limit({ member: 'BEN@example.com' }) },
    ...{ written: [memberLimitSet(5, 'BEN@example.com')], fault: /^member ben@example\.com: its limit is set to what/ },
  },
  {
    ...{ refused: 'nothing', life: [...begun, limitSet(5, null, { mode: 'soft' })], command: limit({ mode: 'soft' }) },
    ...{ written: [limitSet(5, null, { mode: 'soft' })], fault: /^account: its limit is set to what it is already/ },
  },
  ...[[60, 60], [90, 60], Array.from({ length: 11 }, (_, at) => at + 1)].map(
    (thresholdsPercent): Case => ({
      ...{ refused: 'invalid_thresholds', life: begun, command: limit({ thresholdsPercent }) },
      ...{ written: [limitSet(5, null, { thresholdsPercent })], fault: /^account: its limit is told at/ },
    }),
  ),
];
