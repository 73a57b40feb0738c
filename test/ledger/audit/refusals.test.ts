import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { AccountEvent, EventData, UsageRecorded } from '../../../contracts/events.ts';
import { grantId, leaseId, proxyId } from '../../../contracts/ids.ts';
import type { AccountCommand, CommandOf } from '../../../ledger/account/commands.ts';
import { decide } from '../../../ledger/account/decide.ts';
import { fold, given } from '../../fixtures/ledger/decider-specification.ts';
import {
  ACCOUNT,
  CARD,
  grant,
  granted,
  KEY,
  keyIssued,
  lifeWith,
  limitSet,
  ms,
  OPENED_AT,
  OTHER_KEY,
  opened,
  record,
  requestOf,
  usageOf,
  usd,
} from '../../fixtures/ledger/example-account.ts';
import { type Case, dearer, faultsOf, manyGrants, ofOutcome } from './account-faults.ts';
import { CORRECTION_CASES } from './refused-corrections.ts';
import { LIMIT_CASES, MEMBER_LEASE_CASE } from './refused-limits.ts';
import { KEY_CASES, MEMBER_CASES } from './refused-members.ts';
import { PAYMENT_CASES } from './refused-payments.ts';
import { PLAN_CASES } from './refused-plans.ts';
import { STATEMENT_CASES } from './refused-statements.ts';

const AT = '2026-11-20T10:00:00.000Z';
const NOW = ms(AT);
const ENDED = '2026-11-10T00:00:00.000Z';
const LATER = '2026-12-10T00:00:00.000Z';
const HOUR = 3_600_000;
const SAID = { reason: 'an operator says so', actor: 'operator' };

const begun = [opened, keyIssued(), granted('g1', 1_000)];
const ending = [opened, keyIssued(), granted('g1', 1_000, { expiresAt: ENDED })];
const expired = (amount: number, expiredAt = ENDED): AccountEvent => ({
  type: 'CreditsExpired',
  data: { grantId: grantId('g1'), amount: usd(amount), expiredAt },
});
const expire: CommandOf<'ExpireCredits'> = { type: 'ExpireCredits', lateMs: 2 * HOUR, nowMs: NOW };
const back = (amount: number, expiresAt = LATER): AccountEvent => ({
  type: 'CreditsReinstated',
  data: { grantId: grantId('g1'), amount: usd(amount), expiresAt, ...SAID },
});
const reinstate = (change: Partial<CommandOf<'ReinstateCredits'>> = {}): AccountCommand => ({
  ...{ type: 'ReinstateCredits', grantId: grantId('g1'), amount: null, expiresAtMs: ms(LATER), lateMs: 24 * HOUR },
  ...{ ...SAID, nowMs: NOW },
  ...change,
});

const lease = leaseId('lease_1');
const proxy = proxyId('proxy_1');
const leased = (amount: number, change: Partial<EventData<'CreditsLeased'>> = {}): AccountEvent => ({
  type: 'CreditsLeased',
  data: {
    ...{ proxy, leaseId: lease, epoch: 1, amount: usd(amount), expiresAt: '2026-11-20T12:00:00.000Z' },
    ...{ requestsFrom: AT, requestsBefore: null, ...change },
  },
});
const leaseCredits = (upTo: number, change: Partial<CommandOf<'LeaseCredits'>> = {}): AccountCommand => ({
  ...{ type: 'LeaseCredits', proxy, leaseId: lease, epoch: 1, keyId: null, upTo: usd(upTo), requestsBeforeMs: null },
  ...{ othersAheadMs: 0, expiresAtMs: NOW + 2 * HOUR, nowMs: NOW },
  ...change,
});
const spentUp = lifeWith([opened, keyIssued(), granted('g1', 10)], usageOf(1, 10));

const recovered = lifeWith(begun, usageOf(1, 0, { outcome: 'recovered', source: 'estimated', billable: false }));
const reportLate = (change: Partial<CommandOf<'ReportLateUsage'>> = {}): AccountCommand => ({
  ...{ type: 'ReportLateUsage', usage: usageOf(1, 7), card: CARD },
  ...change,
});
const late = given(...recovered).decided(reportLate());
const capped = lifeWith(begun, usageOf(1, 10, { hold: usd(4) }));
const end = (type: 'ApproveException' | 'DropException', change: object = {}): AccountCommand => ({
  ...{ type, requestId: requestOf(1), ...SAID },
  ...change,
});
const approved = given(...capped).decided(end('ApproveException'));
const dropped = given(...capped).decided(end('DropException'));
const withReason = (events: readonly AccountEvent[], reason: string): AccountEvent[] =>
  events.map((event) => ({ ...event, data: { ...event.data, reason } }) as AccountEvent);

const revoked: AccountEvent = { type: 'ApiKeyRevoked', data: { keyId: KEY, revokedAt: AT } };
const narrow = { type: 'NarrowLease', leaseId: lease, keyId: KEY, atMost: usd(1) } as const;
const { type: _narrow, ...narrowed } = narrow;

const many = manyGrants();

const CASES = {
  OpenAccount: [
    {
      ...{ refused: 'account_exists', life: [opened], written: [opened], fault: /^the account is opened twice$/ },
      command: {
        ...{ type: 'OpenAccount', accountId: ACCOUNT, kind: 'personal', email: 'owner@example.com' },
        ...{ trial: usd(0), trialGrantId: grantId('t'), nowMs: NOW },
      },
    },
  ],
  GrantCredits: [
    {
      ...{ refused: 'account_not_found', life: [], command: grant('g2', 5), written: [granted('g2', 5)] },
      fault: /^CreditsGranted on an account that was never opened$/,
    },
    {
      ...{ refused: 'invalid_amount', life: begun, command: grant('g2', 0), written: [granted('g2', 0)] },
      fault: /^g2: nothing is granted$/,
    },
    {
      ...{ refused: 'invalid_period', life: begun, command: { ...grant('g2', 5), expiresAtMs: ms(OPENED_AT) } },
      ...{ written: [granted('g2', 5, { expiresAt: OPENED_AT })], fault: /^g2: ends before it begins is / },
    },
    {
      ...{ refused: 'grant_exists', life: begun, command: grant('g1', 5), written: [granted('g1', 5)] },
      fault: /^g1: granted twice$/,
    },
    {
      ...{ refused: 'too_many_grants', life: many.life, command: grant(many.more, 5) },
      ...{ written: [granted(many.more, 5)], fault: /: one more than a debit could name$/ },
    },
  ],
  IssueKey: [
    ...KEY_CASES,
    {
      ...{ refused: 'key_exists', life: begun, command: issue({}), written: [keyIssued()] },
      fault: /^key_a: issued twice$/,
    },
    {
      ...{ refused: 'invalid_period', life: begun, command: issue({ keyId: OTHER_KEY, expiresAtMs: ms(ENDED) }) },
      ...{
        written: [keyIssued({ keyId: OTHER_KEY, expiresAt: ENDED })],
        fault: /^key_b: had ended when it was issued/,
      },
    },
  ],
  RevokeKey: [
    {
      ...{ refused: 'key_not_found', life: [opened], command: { type: 'RevokeKey', keyId: KEY, nowMs: NOW } },
      ...{ written: [revoked], fault: /^key_a: revoked, and was never issued$/ },
    },
    {
      ...{ refused: 'key_already_revoked', life: [...begun, revoked] },
      command: { type: 'RevokeKey', keyId: KEY, nowMs: NOW },
      ...{ written: [revoked], fault: /^key_a: revoked twice$/ },
    },
  ],
  SetSpendLimit: [
    {
      ...{ refused: 'key_not_found', life: begun, command: limit(OTHER_KEY, 5), written: [limitSet(5, OTHER_KEY)] },
      fault: /^key_b: has a limit, and was never issued$/,
    },
    {
      ...{ refused: 'nothing', life: [...begun, limitSet(5)], command: limit(null, 5), written: [limitSet(5)] },
      fault: /^account: its limit is set to what it is already: 0\.000005 USD$/,
    },
    {
      ...{ refused: 'nothing', life: begun, command: limit(KEY, null), written: [limitSet(null, KEY)] },
      fault: /^key_a: its limit is set to what it is already/,
    },
    ...LIMIT_CASES,
  ],
  RecordUsage: [
    {
      ...{ refused: 'throws', life: begun, command: record(usageOf(1, 7), { ...CARD, hash: 'b7'.repeat(32) }) },
      written: dearer(given(...begun).decided(record(usageOf(1, 7)))),
      fault: /: lines is output 7 x 0\.000002000000 USD .* should be output 7 x 0\.000001000000 USD/,
    },
  ],
  ReportLateUsage: [
    {
      ...{ refused: 'throws', life: recovered, command: reportLate({ card: { ...CARD, hash: 'b7'.repeat(32) } }) },
      ...{ written: dearer(late), fault: /: lines is output 7 x 0\.000002000000 USD / },
    },
    {
      ...{ refused: 'nothing', life: recovered },
      command: reportLate({ usage: usageOf(1, 7, { outcome: 'recovered' }) }),
      written: late.map((event) => ofOutcome(event, 'recovered')),
      fault: /: late, and says that nothing was seen$/,
    },
    {
      ...{ refused: 'nothing', life: [...recovered, ...late], command: reportLate(), written: late },
      fault: /: reported late twice$/,
    },
    {
      ...{ refused: 'nothing', life: [...recovered, ...late, ...lateDropped()], command: reportLate(), written: late },
      fault: /: reported late, and was dropped before$/,
    },
  ],
  ApproveException: [
    {
      ...{ refused: 'reason_missing', life: capped, command: end('ApproveException', { reason: ' ' }) },
      ...{ written: withReason(approved, ' '), fault: /: approved without a reason$/ },
    },
    {
      ...{ refused: 'exception_not_found', life: lifeWith(begun, usageOf(1, 4)), command: end('ApproveException') },
      ...{ written: approved, fault: /: approved, and no exception is open$/ },
    },
    {
      ...{ refused: 'exception_ended', life: [...capped, ...approved], command: end('ApproveException') },
      ...{ written: approved, fault: /: approved, and no exception is open$/ },
    },
  ],
  DropException: [
    {
      ...{ refused: 'exception_ended', life: [...capped, ...approved], command: end('DropException') },
      ...{ written: dropped, fault: /: dropped, and no exception is open$/ },
    },
    {
      refused: 'exception_not_found',
      // Of those without any money only so many are kept.
      life: lifeWith(begun, ...Array.from({ length: 1_001 }, (_, index) => unpriced(index + 2)), unpriced(1)),
      ...{ command: end('DropException'), fault: /: dropped, and no exception is open$/ },
      written: given(...lifeWith(begun, unpriced(1))).decided(end('DropException')),
    },
  ],
  EndExceptions: [
    {
      ...{ refused: 'nothing', life: begun, written: dropped, fault: /: dropped, and no exception is open$/ },
      command: { type: 'EndExceptions', ending: 'DropException', requestIds: [requestOf(1)], ...SAID },
    },
  ],
  LeaseCredits: [
    MEMBER_LEASE_CASE,
    {
      ...{ refused: 'nothing', life: spentUp, command: leaseCredits(5), written: [leased(5)] },
      fault: /^lease_1: what is leased beside what is free is 0\.000005 USD, should be 0\.000000 USD$/,
    },
    {
      ...{ refused: 'nothing', life: begun, command: leaseCredits(0), written: [leased(0)] },
      fault: /^lease_1: is renewed, and is not there$/,
    },
    {
      ...{ refused: 'nothing', life: [...begun, leased(5)] },
      command: leaseCredits(5, { leaseId: leaseId('lease_2'), requestsBeforeMs: NOW }),
      written: [leased(5, { leaseId: leaseId('lease_2'), requestsBefore: AT })],
      fault: /^lease_2: is for requests before \S+, and there is one for those from then on$/,
    },
    {
      ...{ refused: 'nothing', life: [...begun, limitSet(0)], command: leaseCredits(5), written: [leased(5)] },
      fault: /^lease_1: what is leased beside the account's limit is /,
    },
    {
      ...{ refused: 'nothing', life: [...begun, limitSet(0, KEY)], command: leaseCredits(5, { keyId: KEY }) },
      ...{ written: [leased(5, { keyId: KEY })], fault: /^lease_1: what is leased beside the limit of key_a is / },
    },
  ],
  ReleaseLease: [
    {
      ...{ refused: 'nothing', life: begun, command: { type: 'ReleaseLease', leaseId: lease, amount: usd(5) } },
      written: [{ type: 'LeaseReleased', data: { proxy, leaseId: lease, amount: usd(5) } }],
      fault: /^lease_1: is given back, and is not there: 0\.000005 USD$/,
    },
  ],
  NarrowLease: [
    {
      ...{ refused: 'nothing', life: [...begun, leased(5)], command: narrow },
      written: [{ type: 'LeaseNarrowed', data: { proxy, ...narrowed } }],
      fault: /^lease_1: is narrowed for key_a to 0\.000001 USD, from 0\.000000 USD$/,
    },
  ],
  ExpireCredits: [
    {
      ...{ refused: 'nothing', life: [opened, granted('g1', 1_000, { expiresAt: LATER })], command: expire },
      ...{ written: [expired(1_000, LATER)], fault: /^g1: written down as expired before its end$/ },
    },
    {
      ...{ refused: 'nothing', life: begun, command: expire },
      ...{ written: [expired(1_000)], fault: /^g1: the end that its expiry names is / },
    },
    {
      ...{
        refused: 'nothing',
        life: [...ending, granted('g2', 5), leased(5, { requestsFrom: '2026-11-09T23:00:00.000Z' })],
      },
      ...{ command: expire, written: [expired(1_000)], fault: /^g1: expires while lease_1 runs$/ },
    },
    {
      ...{ refused: 'nothing', life: [...ending, expired(1_000)], command: expire },
      ...{ written: [expired(1_000)], fault: /^g1: what expires is 0\.001000 USD, should be 0\.000000 USD$/ },
    },
  ],
  ReinstateCredits: [
    {
      ...{ refused: 'grant_not_found', life: [opened], command: reinstate() },
      ...{ written: [back(5)], fault: /^g1: comes back, and was never granted$/ },
    },
    {
      ...{ refused: 'nothing_expired', life: [opened, granted('g1', 5, { expiresAt: LATER })], command: reinstate() },
      ...{ written: [back(5)], fault: /^g1: 0\.000005 USD come back, of 0\.000000 USD that have expired$/ },
    },
    {
      ...{ refused: 'not_written_off', life: ending, command: reinstate() },
      ...{ written: [back(5)], fault: /^g1: 0\.000005 USD come back, of 0\.000000 USD that have expired$/ },
    },
    {
      ...{ refused: 'invalid_amount', life: [...ending, expired(1_000)], command: reinstate({ amount: usd(0) }) },
      ...{ written: [back(0)], fault: /^g1: 0\.000000 USD come back, of 0\.001000 USD that have expired$/ },
    },
    {
      ...{ refused: 'invalid_amount', life: [...ending, expired(1_000)], command: reinstate({ amount: usd(1_001) }) },
      ...{ written: [back(1_001)], fault: /^g1: 0\.001001 USD come back, of 0\.001000 USD that have expired$/ },
    },
    {
      ...{ refused: 'invalid_period', life: [...ending, expired(1_000)] },
      command: reinstate({ expiresAtMs: ms(ENDED) - 1 }),
      written: [back(5, '2026-11-09T23:59:59.999Z')],
      fault: /^g1: comes back until 2026-11-09T23:59:59\.999Z, which is no end for it$/,
    },
    {
      ...{ refused: 'invalid_period', life: [...ending, expired(1_000)], command: reinstate({ expiresAtMs: NOW }) },
      ...{ written: [back(5, AT)], fault: /^g1: comes back until \S+, which is no end for it$/ },
    },
  ],
  ...CORRECTION_CASES,
  ...MEMBER_CASES,
  ...PAYMENT_CASES,
  ...PLAN_CASES,
  ...STATEMENT_CASES,
} satisfies Record<AccountCommand['type'], readonly Case[]>;

const cases: readonly Case[] = Object.values(CASES).flat();

describe('finds what the decider would not have written', () => {
  it.each(cases.map((one) => [one.command.type, one.refused, one.fault.source, one] as const))(
    '%s, %s: %s',
    (_command, _refused, _fault, { refused, life, command, written, fault }) => {
      if (refused === 'throws') expect(() => decide(command, fold(life))).toThrow();
      else if (refused === 'nothing') expect(decide(command, fold(life))).toEqual([]);
      else expect(decide(command, fold(life))).toMatchObject({ type: 'refused', code: refused });
      expect(faultsOf(life)).toEqual([]);
      expect(faultsOf([...life, ...written])).toContainEqual(expect.stringMatching(fault));
    },
  );
});

it('has a case for every place in which the decider refuses', () => {
  const folder = new URL('../../../ledger/account/', import.meta.url);
  // Who may is asked before anything is decided, and nothing of it is written down.
  const names = readdirSync(folder).filter((name) => name !== 'authorize.ts');
  const sources = names.map((name) => readFileSync(new URL(name, folder), 'utf8'));
  const inSources = sources.flatMap((text) =>
    [...text.matchAll(/commandRefused\(\s*'(\w+)'/g)].map(([, code]) => code),
  );
  expect(inSources.length).toBeGreaterThan(20);
  // Who may is asked before anything is decided, and stands in no event; accounts of before may have more keys than are issued now,
  // rotations that ended a secret early, what was taken by hand for a refund of what was paid here, attempts with a method that was declined for good, and grants by
  // hand under the id of a payment's, or given back as with its money. Nor does when a provider was asked.
  const ofBefore = ['too_many_keys', 'previous_secret_works', 'paid_here', 'payment_method_declined'];
  const reserved = ['grant_id_reserved', 'restoration_id_reserved'];
  const untold = new Set(['not_permitted', 'told_meanwhile', ...ofBefore, ...reserved]);
  const decided = inSources.filter((code) => code !== undefined && !untold.has(code));
  for (const [code, places] of Map.groupBy(decided, (one) => one))
    expect(cases.filter(({ refused }) => refused === code).length, code).toBeGreaterThanOrEqual(places.length);
});

function issue(change: Partial<CommandOf<'IssueKey'>>): AccountCommand {
  const { expiresAt: _none, ...data } = keyIssued().data as EventData<'ApiKeyIssued'>;
  return { type: 'IssueKey', ...data, expiresAtMs: null, nowMs: NOW, ...change };
}

function limit(key: EventData<'SpendLimitSet'>['keyId'], amount: number | null): AccountCommand {
  return { type: 'SetSpendLimit', keyId: key, limit: amount === null ? null : usd(amount), nowMs: NOW };
}

function unpriced(number: number): UsageRecorded {
  return usageOf(number, 0, { unpriced: ['code_runs: 1'] });
}

function lateDropped(): AccountEvent[] {
  return given(...recovered, ...late).decided(end('DropException'));
}
