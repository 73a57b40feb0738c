import { describe, expect, it } from 'vitest';
import type { AccountEvent, UsageRecorded } from '../../../contracts/events.ts';
import { grantId, leaseId, proxyId } from '../../../contracts/ids.ts';
import { AccountAudit } from '../../../ledger/audit/account-audit.ts';
import { describeFault } from '../../../ledger/audit/fault.ts';
import type { OwnCard, StoredEvent } from '../../../ledger/audit/stored-event.ts';
import { given } from '../../fixtures/ledger/decider-specification.ts';
import {
  ACCOUNT,
  CARD,
  granted,
  KEY,
  keyIssued,
  lifeWith,
  ms,
  OPENED_AT,
  OTHER_KEY,
  opened,
  usageOf,
  usd,
} from '../../fixtures/ledger/example-account.ts';
import { recordedLife } from '../../fixtures/ledger/recorded-life.ts';

/** What a request's record says beside its price, whether by itself or beside what the account's stream says. */
const AT = '2026-11-20T10:00:00.000Z';
const MINUTE = 60_000;
const WEB_SEARCH = 10_000_000_000n;
const card: OwnCard = { ...CARD.rates, hasFastLane: true, uses: new Map([['web_search_requests', WEB_SEARCH]]) };

interface Options {
  readonly isOfLost?: (startedAt: string) => boolean;
  /** What is changed in the stream as it is stored. */
  readonly change?: (event: StoredEvent) => StoredEvent;
}

function faultsOf(events: readonly AccountEvent[], { change = (event) => event, ...options }: Options = {}): string[] {
  const audit = new AccountAudit(ACCOUNT, () => card, options);
  for (const { data, metadata, ...event } of recordedLife(events.map((one) => ({ event: one, atMs: ms(AT) }))))
    audit.take(change({ ...event, data: JSON.parse(data), metadata: JSON.parse(metadata) }));
  audit.end();
  return audit.books.faults.map(describeFault);
}

const begun = [opened, keyIssued(), granted('g1', 1_000)];
/** Recorded as it is said to be, with the debit that a decider would write. */
const life = (change: Partial<UsageRecorded>, before: readonly AccountEvent[] = begun): AccountEvent[] =>
  lifeWith(before, usageOf(1, 5, change));
const later = (instant: string, byMs: number): string => new Date(ms(instant) + byMs).toISOString();

describe('whether a request is charged for follows from how it has ended', () => {
  it.each(['completed', 'client_disconnected', 'upstream_interrupted'] as const)('%s may be', (outcome) => {
    expect(faultsOf(life({ outcome }))).toEqual([]);
  });

  it.each(['upstream_interrupted', 'upstream_refused', 'recovered'] as const)('%s may be free', (outcome) => {
    expect(faultsOf(life({ outcome, billable: false }))).toEqual([]);
  });

  it.each([
    ['completed', false],
    ['client_disconnected', false],
    ['upstream_refused', true],
    ['recovered', true],
  ] as const)('%s is never otherwise than it has to be', (outcome, billable) => {
    expect(faultsOf(life({ outcome, billable }))).toEqual([
      expect.stringMatching(
        `: whether it is charged for, having ended as ${outcome}, is ${billable}, should be ${!billable}$`,
      ),
    ]);
  });

  it('also where usage comes late', () => {
    const recovered = life({ outcome: 'recovered', source: 'estimated', billable: false });
    const command = { type: 'ReportLateUsage', usage: usageOf(1, 7), card: CARD } as const;
    const reported = given(...recovered).decided(command);
    expect(faultsOf([...recovered, ...reported])).toEqual([]);
    const refused = { ...usageOf(1, 7), outcome: 'upstream_refused' } as const;
    const events = given(...recovered).decided({ ...command, usage: refused });
    expect(faultsOf([...recovered, ...events])).toEqual([
      expect.stringMatching(/: whether it is charged for, having ended as upstream_refused, is true, should be false$/),
    ]);
  });
});

describe('the key is one of the account', () => {
  const startedAt = '2026-11-06T12:00:00.000Z';
  const revokedAt = (instant: string): AccountEvent => ({
    type: 'ApiKeyRevoked',
    data: { keyId: KEY, revokedAt: instant },
  });

  it('that was issued', () => {
    expect(faultsOf(life({ keyId: OTHER_KEY }))).toEqual([
      expect.stringMatching(/: its key, key_b, was never issued$/),
    ]);
  });

  it('but for what may rest on what the ledger has lost', () => {
    expect(faultsOf(life({ keyId: OTHER_KEY }), { isOfLost: (at) => at === startedAt })).toEqual([]);
  });

  it.each([
    ['revoked', [...begun, revokedAt(later(startedAt, -27 * MINUTE))]],
    ['at its end', [opened, keyIssued({ expiresAt: later(startedAt, -27 * MINUTE) }), granted('g1', 1_000)]],
    [
      'at its end, and revoked since',
      [
        ...[opened, keyIssued({ expiresAt: later(startedAt, -27 * MINUTE) }), granted('g1', 1_000)],
        revokedAt(later(startedAt, MINUTE)),
      ],
    ],
  ] as const)('that was not long %s when the request began', (_how, before) => {
    const without = (fault: string): boolean => !fault.includes('had ended when it was issued');
    expect(faultsOf(life({ startedAt }, before)).filter(without)).toEqual([
      expect.stringMatching(
        /: starts long after its key, key_a, has ended is 2026-11-06T12:00:00\.000Z, should be before /,
      ),
    ]);
  });

  it('and one that a proxy without the log cannot know to have ended is right', () => {
    expect(faultsOf(life({ startedAt }, [...begun, revokedAt(later(startedAt, -25 * MINUTE))]))).toEqual([]);
  });
});

describe('times follow one another, as far as clocks agree', () => {
  it('an end is not long before its start', () => {
    const startedAt = later(usageOf(1, 5).finishedAt, 21 * MINUTE);
    expect(faultsOf(life({ startedAt }))).toEqual([expect.stringMatching(/: ends before it starts is /)]);
    expect(faultsOf(life({ startedAt: later(usageOf(1, 5).finishedAt, 19 * MINUTE) }))).toEqual([]);
  });

  it('a record is not long before the end', () => {
    expect(faultsOf(life({ finishedAt: later(AT, 21 * MINUTE) }))).toEqual([
      expect.stringMatching(/: is recorded before its end is 2026-11-20T10:00:00\.000Z, should be \S+ or later$/),
    ]);
    expect(faultsOf(life({ finishedAt: later(AT, 19 * MINUTE) }))).toEqual([]);
  });

  const recordedAt =
    (type: string, byMs: number) =>
    (event: StoredEvent): StoredEvent =>
      event.type === type ? { ...event, metadata: { ...event.metadata, recordedAt: later(AT, byMs) } } : event;

  it('an event is not recorded long before the one before it', () => {
    expect(faultsOf(begun, { change: recordedAt('CreditsGranted', -21 * MINUTE) })).toEqual([
      'CreditsGranted is recorded before what it follows is 2026-11-20T09:39:00.000Z, should be 2026-11-20T10:00:00.000Z or later',
    ]);
    expect(faultsOf(begun, { change: recordedAt('CreditsGranted', -19 * MINUTE) })).toEqual([]);
    expect(faultsOf(begun, { change: recordedAt('ApiKeyIssued', 21 * MINUTE) })).toEqual([
      expect.stringMatching(/^CreditsGranted is recorded before what it follows is /),
    ]);
  });

  it('but what a proxy gives back of a lease, which it may have begun to long before', () => {
    const proxy = proxyId('proxy_1');
    const lease = { proxy, leaseId: leaseId('lease_1'), amount: usd(5) };
    const events: AccountEvent[] = [
      ...begun,
      {
        type: 'CreditsLeased',
        data: { ...lease, epoch: 1, expiresAt: '2026-11-20T12:00:00.000Z', requestsFrom: AT, requestsBefore: null },
      },
      { type: 'LeaseReleased', data: lease },
      granted('g2', 5),
    ];
    expect(faultsOf(events, { change: recordedAt('LeaseReleased', -300 * MINUTE) })).toEqual([]);
  });
});

describe('what one command has written has its mark', () => {
  const events = lifeWith([opened, keyIssued({ monthlyLimit: usd(10) }), granted('g1', 1_000)], usageOf(1, 5));
  const marked = (type: string, mark: object) => (event: StoredEvent) =>
    event.type === type ? { ...event, metadata: { recordedAt: '', ...event.metadata, ...mark } } : event;

  it.each([
    ['CreditsDebited', { recordedAt: '2026-10-20T10:00:00.000Z' }, /^when CreditsDebited was recorded is 2026-10-20/],
    ['CreditsDebited', { recordedAt: '2026-12-20T10:00:00.000Z' }, /^when CreditsDebited was recorded is 2026-12-20/],
    ['CreditsDebited', { actor: 'operator' }, /^who caused CreditsDebited is operator, should be key_a$/],
    ['CreditsDebited', { commandId: 'another' }, /^the command of CreditsDebited is another, should be 019a5b3c-/],
    [
      'SpendThresholdCrossed',
      { recordedAt: '2026-10-20T10:00:00.000Z' },
      /^when SpendThresholdCrossed was recorded is /,
    ],
    ['SpendThresholdCrossed', { actor: 'operator' }, /^who caused SpendThresholdCrossed is /],
    [
      'UsageRecorded',
      { commandId: '019a5b3c-0000-7000-8000-000000000002' },
      /: recorded by the command of something else: /,
    ],
    [
      'UsageRecorded',
      { commandId: '019a5b3c-0000-7000-8000-800000000001' },
      /: recorded by the command of something else: /,
    ],
    ['UsageRecorded', { commandId: '019a5b3c-0000-7000-8000' }, /: recorded by the command of something else: /],
  ])('%s, %o', (type, mark, fault) => {
    expect(faultsOf(events)).toEqual([]);
    expect(faultsOf(events, { change: marked(type, mark) })).toContainEqual(expect.stringMatching(fault));
  });

  it('and what comes late has one of its own', () => {
    const recovered = life({ outcome: 'recovered', source: 'estimated', billable: false });
    const late = given(...recovered).decided({ type: 'ReportLateUsage', usage: usageOf(1, 7), card: CARD });
    const change = marked('LateUsageReported', { commandId: '019a5b3c-0000-7000-8000-000000000001' });
    expect(faultsOf([...recovered, ...late])).toEqual([]);
    expect(faultsOf([...recovered, ...late], { change })).toEqual([
      expect.stringMatching(/: recorded by the command of something else: /),
    ]);
  });
});

describe('what has no price is listed, and nothing else', () => {
  const uses = { code_runs: 3, web_fetch_requests: 1 };

  it.each<[string, Partial<UsageRecorded>]>([
    ['as it is', { uses, unpriced: ['server_tool_use.code_runs: 3'] }],
    ['nothing, where nothing is charged', { uses, unpriced: [], outcome: 'upstream_refused', billable: false }],
    ['what could not be read, too', { unpriced: ['service_tier: batch', 'usage.input_tokens: "9" cannot be read'] }],
  ])('%s', (_what, change) => {
    expect(faultsOf(life(change))).toEqual([]);
  });

  it.each<[string, Partial<UsageRecorded>, string]>([
    ['left out', { uses }, 'none, should be server_tool_use.code_runs: 3'],
    [
      'of another count',
      { uses, unpriced: ['server_tool_use.code_runs: 2'] },
      'server_tool_use.code_runs: 2, should be server_tool_use.code_runs: 3',
    ],
    ['not used', { unpriced: ['server_tool_use.code_runs: 3'] }, 'server_tool_use.code_runs: 3, should be none'],
    ['a tier that has one', { unpriced: ['service_tier: priority'] }, 'service_tier: priority, should be none'],
  ])('is told where it is %s', (_what, change, fault) => {
    expect(faultsOf(life(change))).toEqual([expect.stringMatching(`: what has no price is ${fault}$`)]);
  });

  it('also where usage comes late', () => {
    const recovered = life({ outcome: 'recovered', source: 'estimated', billable: false });
    const late = given(...recovered).decided({ type: 'ReportLateUsage', usage: usageOf(1, 7, { uses }), card: CARD });
    expect(faultsOf([...recovered, ...late])).toEqual([
      expect.stringMatching(/: what has no price is none, should be /),
    ]);
  });
});

describe('a debit under a lease', () => {
  const lease = leaseId('lease_1');
  const events = begun.concat(
    given(...begun).decided({ type: 'RecordUsage', usage: usageOf(1, 5), card: CARD, leaseId: lease }),
  );

  it('that never was is told', () => {
    expect(faultsOf(events)).toEqual([expect.stringMatching(/: its lease, lease_1, never was$/)]);
  });

  it('that the ledger may have lost is right', () => {
    expect(faultsOf(events, { isOfLost: () => true })).toEqual([]);
  });
});

describe('credits that expired while a request was under way', () => {
  const expiresAt = '2026-11-07T00:00:00.000Z';
  const expired: AccountEvent[] = [
    ...[opened, keyIssued(), granted('g1', 1_000, { expiresAt, effectiveAt: OPENED_AT })],
    { type: 'CreditsExpired', data: { grantId: grantId('g1'), amount: usd(1_000), expiredAt: expiresAt } },
  ];
  const usage = { startedAt: '2026-11-06T23:00:00.000Z', finishedAt: '2026-11-20T09:00:00.000Z' };

  it('are told where they would have paid for it', () => {
    expect(faultsOf(life({ ...usage, hold: usd(5) }, expired))).toContainEqual(
      expect.stringMatching(/: g1 expired while it was under way$/),
    );
  });

  it('are not where its machine stood still until then: it holds nothing, and is left out', () => {
    expect(faultsOf(life({ ...usage, hold: usd(0) }, expired))).toEqual([]);
  });
});
