import { describe, expect, it } from 'vitest';
import type { AccountEvent, EventData, UsageRecorded } from '../../../contracts/events.ts';
import { type KeyId, leaseId, proxyId } from '../../../contracts/ids.ts';
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
  limitSet,
  memberLimitSet,
  OPENED_AT,
  OTHER_KEY,
  opened,
  usageOf,
  usd,
} from '../../fixtures/ledger/example-account.ts';
import { recordedLife } from '../../fixtures/ledger/recorded-life.ts';

/** What an account, its keys and its leases allow, and when: requests, and the trial, beside it. */
const card: OwnCard = { ...CARD.rates, hasFastLane: true, uses: new Map() };
const NOON = Date.parse('2026-11-06T12:00:00.000Z');
const instant = (minutes: number): string => new Date(NOON + minutes * 60_000).toISOString();

type Timed = readonly [minutes: number, event: AccountEvent];

/** Each recorded so many minutes after noon. */
function faultsOf(life: readonly Timed[], isOfLost: (startedAt: string) => boolean = () => false): string[] {
  const audit = new AccountAudit(ACCOUNT, () => card, { isOfLost });
  const events = recordedLife(life.map(([minutes, event]) => ({ event, atMs: NOON + minutes * 60_000 })));
  for (const { data, metadata, ...event } of events)
    audit.take({ ...event, data: JSON.parse(data), metadata: JSON.parse(metadata) } satisfies StoredEvent);
  audit.end();
  return audit.books.faults.map(describeFault);
}

const begun: readonly Timed[] = [
  [-600, opened],
  [-600, keyIssued()],
  [-600, granted('g1', 1_000)],
];

let requests = 0;

/** With a request that starts so many minutes after noon, and is recorded when it ends, or later. */
function withRequest(
  life: readonly Timed[],
  starts: number,
  options: Partial<UsageRecorded> & { readonly lease?: string; readonly recorded?: number } = {},
): Timed[] {
  const { lease, recorded = starts, ...change } = options;
  const times = { startedAt: instant(starts), finishedAt: instant(starts) };
  const usage = usageOf(++requests, 5, { ...times, ...change });
  const under = lease === undefined ? null : leaseId(lease);
  const decided = given(...life.map(([, event]) => event)).decided({
    type: 'RecordUsage',
    usage,
    card: CARD,
    leaseId: under,
  });
  return [...life, ...decided.map((event): Timed => [recorded, event])];
}

describe('an account that is suspended', () => {
  const suspended: Timed = [0, { type: 'AccountSuspended', data: { reason: 'dispute' } }];
  const reinstated = (minutes: number): Timed => [minutes, { type: 'AccountReinstated', data: { reason: 'settled' } }];
  const TOLD = /^req_\w+: starts while its account is suspended is \S+, should be before 2026-11-06T12:00:00\.000Z/;

  it('begins nothing, but what a proxy without the log does not know better', () => {
    expect(faultsOf(withRequest([...begun, suspended], 25))).toEqual([]);
    expect(faultsOf(withRequest([...begun, suspended], 27))).toEqual([expect.stringMatching(TOLD)]);
    expect(faultsOf(withRequest([...begun, suspended], -1, { recorded: 60 }))).toEqual([]);
  });

  it('has begun nothing where that is recorded once it is so no more', () => {
    const life = [...begun, suspended, reinstated(180)];
    expect(faultsOf(withRequest(life, 159, { recorded: 181 }))).toEqual([expect.stringMatching(TOLD)]);
    expect(faultsOf(withRequest(life, 161, { recorded: 181 }))).toEqual([]);
    expect(faultsOf(withRequest(life, 300))).toEqual([]);
  });

  it('may have been reinstated by what the ledger has lost', () => {
    expect(faultsOf(withRequest([...begun, suspended], 60), () => true)).toEqual([]);
  });
});

describe('a key that may call some models', () => {
  const ofModels = (models: string[]) =>
    withRequest([...begun.filter(([, { type }]) => type !== 'ApiKeyIssued'), [-600, keyIssued({ models })]], 0);

  it('calls no other', () => {
    expect(faultsOf(ofModels(['opal-fast', 'opal-medium']))).toEqual([]);
    expect(faultsOf(ofModels(['opal-fast', 'opal-large']))).toEqual([
      expect.stringMatching(
        /^req_\w+: is of a model that its key, key_a, may not call is opal-medium, should be opal-fast, opal-large$/,
      ),
    ]);
    expect(faultsOf(ofModels([]))).toEqual([expect.stringMatching(/is opal-medium, should be none$/)]);
  });

  it('nor once it is revoked', () => {
    const revoked: Timed = [5, { type: 'ApiKeyRevoked', data: { keyId: KEY, revokedAt: instant(5) } }];
    const key: Timed = [-600, keyIssued({ models: ['opal-fast'] })];
    expect(faultsOf(withRequest([[-600, opened], key, [-600, granted('g1', 9)], revoked], 0, { recorded: 6 }))).toEqual(
      [expect.stringMatching(/may not call is opal-medium, should be opal-fast$/)],
    );
  });
});

describe('a trial', () => {
  const TERMS = { effectiveAt: OPENED_AT, expiresAt: '2026-12-05T10:00:00.000Z', priority: 0, costBasis: usd(0) };
  const trial = (change: Partial<EventData<'CreditsGranted'>> = {}): AccountEvent =>
    granted('t', 500, { source: 'trial', ...TERMS, ...change });

  it('is given as the account is opened', () => {
    expect(
      faultsOf([
        [0, opened],
        [0, trial()],
      ]),
    ).toEqual([]);
    const later: Timed[] = [
      [0, opened],
      [0, granted('g1', 5)],
      [0, trial()],
    ];
    expect(faultsOf(later)).toEqual(['t: a trial that was not given as the account was opened']);
  });

  it('is given by the very command', () => {
    const audit = new AccountAudit(ACCOUNT, () => card);
    for (const { data, metadata, ...event } of recordedLife([
      { event: opened, atMs: NOON },
      { event: trial(), atMs: NOON },
    ])) {
      const own = JSON.parse(metadata);
      const commandId = event.type === 'CreditsGranted' ? `${own.commandId.slice(0, -1)}9` : own.commandId;
      audit.take({ ...event, data: JSON.parse(data), metadata: { ...own, commandId } });
    }
    expect(audit.books.faults.map(describeFault)).toEqual(['t: a trial that was not given as the account was opened']);
  });

  it.each<[Partial<EventData<'CreditsGranted'>>, string]>([
    [
      { expiresAt: '2028-12-05T10:00:00.000Z' },
      't: when the trial ends is 2028-12-05T10:00:00.000Z, should be 2026-12-05T',
    ],
    [{ expiresAt: null }, 't: when the trial ends is never, should be 2026-12-05T'],
    [{ priority: 100 }, 't: the priority of the trial is 100, should be 0'],
    [{ costBasis: usd(5) }, 't: what was paid for the trial is 0.000005 USD, should be 0.000000 USD'],
    [
      { effectiveAt: '2026-11-06T10:00:00.000Z', expiresAt: '2026-12-06T10:00:00.000Z' },
      't: when the trial begins is 2026-11-06T10:00:00.000Z, should be 2026-11-05T10:00:00.000Z',
    ],
  ])('has the same terms as all others: %o', (change, fault) => {
    expect(
      faultsOf([
        [0, opened],
        [0, trial(change)],
      ]),
    ).toEqual([expect.stringContaining(fault)]);
  });
});

describe('a lease', () => {
  const leased = (minutes: number, change: Partial<EventData<'CreditsLeased'>> = {}): Timed => [
    minutes,
    {
      type: 'CreditsLeased',
      data: {
        ...{ proxy: proxyId('proxy_1'), leaseId: leaseId('lease_1'), epoch: 1, amount: usd(20) },
        ...{ expiresAt: instant(minutes + 90), requestsFrom: instant(minutes), requestsBefore: null, ...change },
      },
    },
  ];
  const ofKey = (keyId: KeyId) => ({ keyId, leaseId: leaseId('lease_1') });
  const limited: Timed = [-600, limitSet(900, KEY)];
  const under = (life: readonly Timed[], starts: number, change: Partial<UsageRecorded> = {}) =>
    faultsOf(withRequest(life, starts, { lease: 'lease_1', recorded: Math.max(starts, 0), ...change }));

  it('is for a key that there is, always the same', () => {
    const known = [...begun, limited, leased(0, ofKey(KEY))];
    expect(faultsOf(known)).toEqual([]);
    expect(faultsOf([...begun, leased(0, ofKey(OTHER_KEY))])).toEqual([
      'lease_1: is for key_b, which was never issued',
    ]);
    expect(faultsOf([...begun, leased(0, ofKey(OTHER_KEY))], () => true)).toEqual([]);
    expect(faultsOf([...known, leased(1)])).toEqual(['lease_1: its key is none, should be key_a']);
  });

  it('is of one proxy, whoever makes it larger, narrows it or gives it back, and ends after it begins', () => {
    const other = { proxy: proxyId('proxy_2'), leaseId: leaseId('lease_1') };
    const begins: Timed[] = [...begun, leased(0), [1, limitSet(900, KEY)]];
    const OTHERS = 'lease_1: its proxy is proxy_2, should be proxy_1';
    expect(faultsOf([...begins, leased(1, other)])).toEqual([OTHERS]);
    expect(faultsOf([...begins, [1, { type: 'LeaseReleased', data: { ...other, amount: usd(1) } }]])).toEqual([OTHERS]);
    const returned = (amount: number): Timed => [
      1,
      { type: 'LeaseReleased', data: { ...other, proxy: proxyId('proxy_1'), amount: usd(amount) } },
    ];
    expect(faultsOf([...begins, returned(1)])).toEqual([]);
    expect(faultsOf([...begins, returned(0)])).toEqual([
      'lease_1: 0.000000 USD are given back, and it has 0.000020 USD',
    ]);
    const narrowed = (atMost: number): Timed => [
      2,
      { type: 'LeaseNarrowed', data: { ...other, keyId: KEY, atMost: usd(atMost) } },
    ];
    expect(faultsOf([...begins, narrowed(3)])).toEqual([OTHERS]);
    expect(faultsOf([...begins, narrowed(20)])).toEqual([
      OTHERS,
      'lease_1: is narrowed for key_a to 0.000020 USD, from 0.000020 USD',
    ]);
    expect(faultsOf([...begins, narrowed(0), narrowed(0)])).toEqual([
      OTHERS,
      OTHERS,
      'lease_1: is narrowed for key_a to 0.000000 USD, from 0.000000 USD',
    ]);
    const ended = [...begun, leased(0, { expiresAt: instant(10) })];
    expect(faultsOf([...ended, leased(9, { amount: usd(0) })])).toEqual([]);
    expect(faultsOf([...ended, leased(10, { amount: usd(0) })])).toEqual(['lease_1: is renewed, and is not there']);
    expect(faultsOf([...begun, leased(0, { expiresAt: instant(0) })])).toEqual([
      'lease_1: has ended when it is leased: 2026-11-06T12:00:00.000Z',
    ]);
  });

  it('pays for its key alone', () => {
    const life: Timed[] = [...begun, [-600, keyIssued({ keyId: OTHER_KEY })], limited, leased(0, ofKey(KEY))];
    expect(under(life, 1)).toEqual([]);
    expect(under(life, 1, { keyId: OTHER_KEY })).toEqual([
      expect.stringMatching(/^req_\w+: whose key its lease, lease_1, is for is key_b, should be key_a$/),
    ]);
    expect(faultsOf(withRequest(life, 1, { lease: 'lease_1', keyId: OTHER_KEY }), () => true)).toEqual([]);
  });

  it('for keys without a limit pays for none that has one for long', () => {
    const TOLD = /^req_\w+: its lease, lease_1, is for keys without a limit, and key_a has one: 2026-11-06T12:05/;
    const since5: Timed[] = [...begun, leased(0), [5, limitSet(900, KEY)]];
    expect(under(since5, 30)).toEqual([]);
    expect(under(since5, 32)).toEqual([expect.stringMatching(TOLD)]);
    expect(under([...since5, [10, limitSet(800, KEY)]], 32)).toEqual([expect.stringMatching(TOLD)]);
    expect(under([...since5, [31, limitSet(null, KEY)]], 32)).toEqual([]);
    const issued: Timed = [-600, keyIssued({ keyId: OTHER_KEY, monthlyLimit: usd(900) })];
    expect(under([...begun, issued, leased(0)], 1, { keyId: OTHER_KEY })).toEqual([
      expect.stringMatching(/is for keys without a limit, and key_b has one: 2026-11-06T02:00/),
    ]);
    // A limit of its member binds a key as its own does, as long as either does.
    const ofMember: Timed[] = [...begun, leased(0), [5, memberLimitSet(900, 'OWNER@example.com')]];
    expect(under(ofMember, 32)).toEqual([expect.stringMatching(TOLD)]);
    expect(under([...ofMember, [31, memberLimitSet(null, 'OWNER@example.com')]], 32)).toEqual([]);
    const both: Timed[] = [...ofMember, [6, limitSet(900, KEY)], [31, memberLimitSet(null, 'OWNER@example.com')]];
    expect(under(both, 32)).toEqual([expect.stringMatching(TOLD)]);
    const soft: Timed[] = [...begun, leased(0), [5, memberLimitSet(900, 'OWNER@example.com', { mode: 'soft' })]];
    expect(under(soft, 32)).toEqual([]);
  });

  it('is for requests of its time', () => {
    const TOLD = /^req_\w+: its lease, lease_1, is for others is \S+, should be from 2026-11-06T12:00/;
    const life = [...begun, leased(0)];
    expect([-19, 0, 60, 109].flatMap((starts) => under(life, starts))).toEqual([]);
    for (const starts of [-21, 111]) expect(under(life, starts)).toEqual([expect.stringMatching(TOLD)]);
    expect(under([...life, leased(60)], 111)).toEqual([]);
    const before = [...begun, leased(0, { requestsBefore: instant(10) })];
    expect(under(before, 29)).toEqual([]);
    expect(under(before, 31)).toEqual([expect.stringMatching(TOLD)]);
  });

  it('that goes on is beside no request without one', () => {
    const without = (starts: number, then: readonly Timed[], change: Partial<UsageRecorded> = {}) =>
      faultsOf([...withRequest([...begun, leased(0)], starts, change), ...then]);
    const told = expect.stringMatching(/^req_\w+: is paid for without a lease, and lease_1 was there, and goes on$/);
    expect(without(21, [leased(22)])).toEqual([told]);
    expect(without(89, [leased(200)])).toEqual([told]);
    const other = leased(1, { leaseId: leaseId('lease_2'), expiresAt: instant(30) });
    expect(faultsOf([...withRequest([...begun, leased(0), other], 60), leased(61)])).toEqual([told]);
    for (const right of [
      without(20, [leased(60)]),
      without(91, [leased(200)]),
      without(60, []),
      without(60, [leased(61)], { hold: usd(0) }),
      // Another process's, which may have begun after a time without leases.
      without(60, [leased(61, { epoch: 2 })]),
      without(60, [leased(61, { epoch: 2 }), leased(62, { epoch: 2 })]),
      without(60, [leased(61, { leaseId: leaseId('lease_2') })]),
    ])
      expect(right).toEqual([]);
    expect(faultsOf([...withRequest([...begun, leased(0, { epoch: 0 })], 60), leased(61, { epoch: 0 })])).toEqual([]);
    const lost = [...withRequest([...begun, leased(0)], 60), leased(61)];
    expect(faultsOf(lost, () => true)).toEqual([]);
  });

  it('is beside no request without one that starts before others under it', () => {
    const then = (starts: number, first = 30, ...leases: readonly Timed[]) => {
      const two = withRequest(withRequest([...begun, leased(0)], first), first + 1).concat(leases);
      return faultsOf(withRequest(two, starts, { lease: 'lease_1', recorded: starts }));
    };
    expect(then(52)).toEqual([
      expect.stringMatching(/: is paid for without a lease \(as 1 more\), and lease_1 was there/),
    ]);
    expect(then(50)).toEqual([]);
    expect(then(52, 19)).toEqual([]);
    expect(then(90, 30, leased(61, { epoch: 2 }))).toEqual([]);
  });
});
