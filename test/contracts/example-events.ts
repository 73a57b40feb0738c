import type { CatalogModel } from '../../contracts/catalog.ts';
import type { DomainEvent, EventType } from '../../contracts/events.ts';
import { accountId, grantId, keyId, leaseId, ledgerId, proxyId, requestId } from '../../contracts/ids.ts';
import { microUsd, picoUsd, rate } from '../../contracts/money.ts';
import { rateCard } from '../../contracts/rate-card.ts';

/** One example of each event, with every optional part filled in at least once across them. */

const REQUEST = requestId('req_019a5b3c00007000800000000000000a');
const KEY = keyId('key_0123456789abcdef');
const GRANT = grantId('grant-1');
const PROXY = proxyId('proxy-1');
const LEASE = leaseId('lease-1');
const SHA256 = 'a3'.repeat(32);
const AT = '2026-11-05T10:20:30.456Z';
const UNTIL = '2026-11-05T10:21:00.000Z';
const LATER = '2026-12-05T10:20:30.456Z';
const CARD = rateCard(
  'opal-medium',
  2,
  {
    input: rate(3_000_000n),
    output: rate(15_000_000n),
    cacheRead: rate(300_000n),
    cacheWrite5m: rate(3_750_000n),
    cacheWrite1h: rate(6_000_000n),
  },
  2,
);
const MODEL: CatalogModel = {
  id: 'opal-medium',
  displayName: 'Opal Medium',
  family: 'opal',
  label: 'Opal Medium',
  group: 'Opal',
  note: 'Größe: medium',
  contextWindow: 1_000_000,
  caching: 'explicit',
  showcase: true,
  status: 'deprecated',
  retiresAt: '2027-03-31T00:00:00.000Z',
  replacement: 'opal-large',
  lanes: ['standard', 'fast'],
  free: false,
  upstreams: [{ provider: 'mock', model: 'opal-medium' }],
  rateCard: CARD,
  betas: { shipped: true, listed: [] },
};
/** With prices a use, and with betas that change the window, or the price. */
const PRICED: CatalogModel = {
  ...MODEL,
  status: 'active',
  retiresAt: null,
  replacement: null,
  rateCard: rateCard('opal-medium', 3, CARD.rates, 2, { web_search_requests: rate(10_000_000_000n) }),
  betas: {
    shipped: false,
    listed: [
      { name: 'interleaved-thinking-2025-05-14', contextWindow: null, rateCard: null },
      {
        name: 'context-1m-2025-08-07',
        contextWindow: 1_000_000,
        rateCard: rateCard(
          'opal-medium+context-1m-2025-08-07',
          1,
          {
            input: rate(6_000_000n),
            output: rate(22_500_000n),
            cacheRead: rate(600_000n),
            cacheWrite5m: rate(7_500_000n),
            cacheWrite1h: rate(12_000_000n),
          },
          2,
          { web_search_requests: rate(10_000_000_000n) },
        ),
      },
    ],
  },
};
const payment = { attemptId: 'attempt-1', providerId: 'pay_1', amount: microUsd(20_000_000n) };

const ACCOUNT: DomainEvent[] = [
  {
    type: 'AccountOpened',
    data: { accountId: accountId('acme'), kind: 'organization', email: 'owner@example.com', openedAt: AT },
  },
  { type: 'MemberAdded', data: { email: 'dev@example.com', role: 'member' } },
  { type: 'MemberRoleChanged', data: { email: 'dev@example.com', role: 'admin' } },
  { type: 'MemberRemoved', data: { email: 'dev@example.com' } },
  {
    type: 'ApiKeyIssued',
    data: {
      keyId: KEY,
      name: 'ci',
      sha256: SHA256,
      last4: 'wxyz',
      issuer: 'owner@example.com',
      expiresAt: LATER,
      models: ['opal-medium', 'svc-mock'],
      monthlyLimit: microUsd(10_000_000n),
    },
  },
  { type: 'ApiKeyRevoked', data: { keyId: KEY, revokedAt: AT } },
  { type: 'PlanChanged', data: { plan: 'team' } },
  {
    type: 'CreditsGranted',
    data: {
      grantId: GRANT,
      source: 'trial',
      amount: microUsd(5_000_000n),
      costBasis: microUsd(0n),
      priority: 0,
      effectiveAt: AT,
      expiresAt: LATER,
    },
  },
  { type: 'CreditsExpired', data: { grantId: GRANT, amount: microUsd(1_234n), expiredAt: LATER } },
  { type: 'GrantRevoked', data: { grantId: GRANT, amount: microUsd(1n), cause: 'dispute' } },
];

const USAGE: DomainEvent[] = [
  {
    type: 'UsageRecorded',
    data: {
      requestId: REQUEST,
      keyId: KEY,
      model: 'opal-medium',
      upstream: { provider: 'mock', model: 'opal-medium', requestId: null },
      tokens: { input: 1000, output: 7, cacheRead: 30_000, cacheWrite5m: 1, cacheWrite1h: 0 },
      lane: 'fast',
      outcome: 'completed',
      source: 'reported',
      billable: true,
      startedAt: AT,
      finishedAt: '2026-11-05T10:20:31.000Z',
      rateCard: { id: CARD.id, version: CARD.version, hash: CARD.hash },
      hold: null,
      uses: {},
      unpriced: [],
    },
  },
  {
    type: 'CreditsDebited',
    data: {
      requestId: REQUEST,
      keyId: KEY,
      model: 'opal-medium',
      lane: 'fast',
      cost: picoUsd(24_217_500_000n),
      carryBefore: picoUsd(999_999n),
      carryAfter: picoUsd(499_999n),
      amount: microUsd(24_218n),
      leftOut: microUsd(0n),
      uses: [],
      lines: [
        { tokenClass: 'input', tokens: 1000, rate: rate(6_000_000n), cost: picoUsd(6_000_000_000n) },
        { tokenClass: 'output', tokens: 7, rate: rate(30_000_000n), cost: picoUsd(210_000_000n) },
        { tokenClass: 'cacheRead', tokens: 30_000, rate: rate(600_000n), cost: picoUsd(18_000_000_000n) },
        { tokenClass: 'cacheWrite5m', tokens: 1, rate: rate(7_500_000n), cost: picoUsd(7_500_000n) },
      ],
      grants: [{ grantId: GRANT, amount: microUsd(24_000n) }],
      uncovered: microUsd(218n),
      balanceAfter: microUsd(-218n),
      month: '2026-11',
      monthToDateAfter: microUsd(9_007_199_254_740_993n),
      keyMonthToDateAfter: microUsd(24_218n),
    },
  },
  {
    type: 'DebitReversed',
    data: {
      requestId: REQUEST,
      keyId: KEY,
      amount: microUsd(24_218n),
      grants: [{ grantId: GRANT, amount: microUsd(24_000n) }],
      uncovered: microUsd(218n),
      month: '2026-11',
      reason: 'upstream reported twice',
      actor: 'operator',
    },
  },
  {
    type: 'CreditsLeased',
    data: { proxy: PROXY, leaseId: LEASE, epoch: 0, amount: microUsd(500_000n), expiresAt: LATER },
  },
  { type: 'LeaseReleased', data: { proxy: PROXY, leaseId: LEASE, amount: microUsd(0n) } },
  { type: 'SpendLimitSet', data: { scope: 'key', keyId: KEY, limit: microUsd(0n) } },
  {
    type: 'SpendThresholdCrossed',
    data: {
      scope: 'account',
      keyId: null,
      month: '2026-11',
      thresholdPercent: 80,
      limit: microUsd(10_000_000n),
      spent: microUsd(8_000_001n),
    },
  },
];

const MONEY: DomainEvent[] = [
  {
    type: 'AutoReloadConfigured',
    data: { enabled: true, threshold: microUsd(5_000_000n), target: microUsd(20_000_000n), monthlyCap: null },
  },
  { type: 'AutoReloadStarted', data: { attemptId: 'attempt-1', amount: microUsd(15_000_000n) } },
  { type: 'AutoReloadSkipped', data: { reason: 'monthly cap' } },
  { type: 'AutoReloadPaused', data: { reason: 'three declines' } },
  { type: 'PaymentSucceeded', data: payment },
  {
    type: 'PaymentFailed',
    data: { attemptId: 'attempt-2', providerId: null, amount: microUsd(1n), declineCode: 'insufficient_funds' },
  },
  { type: 'PaymentActionRequired', data: payment },
  { type: 'PaymentRefunded', data: payment },
  { type: 'PaymentDisputed', data: payment },
  { type: 'AccountSuspended', data: { reason: 'payment disputed' } },
  { type: 'AccountReinstated', data: { reason: 'dispute won' } },
  {
    type: 'StatementClosed',
    data: {
      month: '2026-11',
      firstRevision: 0,
      lastRevision: 41,
      opening: microUsd(-5n),
      granted: microUsd(5_000_000n),
      debited: microUsd(24_218n),
      reversed: microUsd(0n),
      expired: microUsd(1_234n),
      closing: microUsd(4_974_543n),
    },
  },
  { type: 'CatalogPublished', data: { version: 3, hash: SHA256, publishedAt: AT, models: [MODEL] } },
  {
    type: 'LedgerSealed',
    data: {
      firstPosition: 0,
      lastPosition: 99,
      count: 100,
      merkleRoot: SHA256,
      previousSeal: null,
      signature: 'c2lnbmF0dXJl',
    },
  },
];

const FLEET: DomainEvent[] = [
  {
    type: 'CreditsLeased',
    data: { proxy: PROXY, leaseId: LEASE, epoch: 0, keyId: KEY, amount: microUsd(0n), expiresAt: LATER },
  },
  {
    type: 'CreditsDebited',
    data: {
      requestId: REQUEST,
      keyId: KEY,
      model: 'opal-medium',
      lane: 'standard',
      cost: picoUsd(3_000_000n),
      carryBefore: picoUsd(0n),
      carryAfter: picoUsd(0n),
      amount: microUsd(3n),
      leftOut: microUsd(0n),
      uses: [],
      lines: [{ tokenClass: 'input', tokens: 1, rate: rate(3_000_000n), cost: picoUsd(3_000_000n) }],
      grants: [{ grantId: GRANT, amount: microUsd(3n) }],
      uncovered: microUsd(0n),
      balanceAfter: microUsd(7n),
      month: '2026-11',
      monthToDateAfter: microUsd(3n),
      keyMonthToDateAfter: microUsd(3n),
      leaseId: LEASE,
    },
  },
  { type: 'RelayClaimed', data: { relay: 'relay-1', epoch: 1, until: UNTIL } },
  { type: 'RelayCheckpointed', data: { relay: 'relay-1', epoch: 1, position: 0, until: UNTIL } },
  { type: 'RelayReleased', data: { relay: 'relay-1', epoch: 1 } },
];

const LEDGER_ID = ledgerId('ledger_019a5b3c00007000800000000000000a');
const LEDGER: DomainEvent[] = [
  { type: 'LedgerIdentified', data: { ledgerId: LEDGER_ID, generation: 1, identifiedAt: AT } },
  {
    type: 'LossAccepted',
    data: {
      ledgerId: LEDGER_ID,
      generation: 2,
      lost: [
        {
          ...{ stream: 'account-acme', sharedAtLeast: -1, sharedAtMost: -1 },
          ...{ known: 41, knownBy: ['views.db', 'the journal'] },
        },
      ],
      lostLeftOut: 0,
      untold: null,
      requests: [{ requestId: REQUEST, accountId: accountId('acme'), cause: 'the ledger has no such account' }],
      requestsLeftOut: 0,
      reason: 'the disk is gone, the backup is of yesterday',
      actor: 'operator',
    },
  },
  {
    type: 'LossAccepted',
    data: {
      ledgerId: LEDGER_ID,
      generation: 3,
      lost: [{ stream: 'account-acme', sharedAtLeast: 12, sharedAtMost: 30, known: 41, knownBy: ['ledger-id'] }],
      lostLeftOut: 0,
      untold: 2,
      requests: [],
      requestsLeftOut: 0,
      reason: 'put back, and gone on with',
      actor: 'operator',
    },
  },
];

/** Forms that came after the first, with what they have added. */
const LATER_FORMS: DomainEvent[] = [
  {
    type: 'UsageRecorded',
    data: {
      requestId: REQUEST,
      keyId: KEY,
      model: 'opal-medium',
      upstream: { provider: 'mock', model: 'opal-medium', requestId: null },
      tokens: { input: 1, output: 0, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0 },
      lane: 'standard',
      outcome: 'completed',
      source: 'reported',
      billable: true,
      startedAt: AT,
      finishedAt: '2026-11-05T10:20:31.000Z',
      rateCard: { id: CARD.id, version: CARD.version, hash: CARD.hash },
      hold: microUsd(20_000n),
      uses: { web_search_requests: 2 },
      unpriced: ['service_tier: batch'],
    },
  },
  {
    type: 'CreditsDebited',
    data: {
      requestId: REQUEST,
      keyId: KEY,
      model: 'opal-medium',
      lane: 'standard',
      cost: picoUsd(20_003_000_000n),
      carryBefore: picoUsd(0n),
      carryAfter: picoUsd(0n),
      amount: microUsd(20_000n),
      leftOut: microUsd(3n),
      lines: [{ tokenClass: 'input', tokens: 1, rate: rate(3_000_000n), cost: picoUsd(3_000_000n) }],
      uses: [{ use: 'web_search_requests', count: 2, rate: rate(10_000_000_000n), cost: picoUsd(20_000_000_000n) }],
      grants: [{ grantId: GRANT, amount: microUsd(20_000n) }],
      uncovered: microUsd(0n),
      balanceAfter: microUsd(7n),
      month: '2026-11',
      monthToDateAfter: microUsd(20_000n),
      keyMonthToDateAfter: microUsd(20_000n),
    },
  },
];

/** What becomes of usage that could not be debited as it came. */
const EXCEPTIONS: DomainEvent[] = [
  {
    type: 'LateUsageReported',
    data: {
      requestId: REQUEST,
      usage: {
        requestId: REQUEST,
        keyId: KEY,
        model: 'opal-medium',
        upstream: { provider: 'mock', model: 'opal-medium', requestId: 'up_1' },
        tokens: { input: 1, output: 0, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0 },
        uses: { web_search_requests: 2 },
        unpriced: ['service_tier: batch'],
        lane: 'standard',
        outcome: 'completed',
        source: 'reported',
        billable: true,
        startedAt: AT,
        finishedAt: '2026-11-05T10:20:31.000Z',
        rateCard: { id: CARD.id, version: CARD.version, hash: CARD.hash },
        hold: microUsd(20_000n),
      },
      cost: picoUsd(20_003_000_000n),
      lines: [{ tokenClass: 'input', tokens: 1, rate: rate(3_000_000n), cost: picoUsd(3_000_000n) }],
      uses: [{ use: 'web_search_requests', count: 2, rate: rate(10_000_000_000n), cost: picoUsd(20_000_000_000n) }],
    },
  },
  {
    type: 'ExceptionApproved',
    data: {
      requestId: REQUEST,
      keyId: KEY,
      model: 'opal-medium',
      lane: 'standard',
      cost: picoUsd(20_003_000_001n),
      amount: microUsd(20_004n),
      carryBefore: picoUsd(999_999n),
      carryAfter: picoUsd(0n),
      grants: [{ grantId: GRANT, amount: microUsd(4n) }],
      uncovered: microUsd(20_000n),
      balanceAfter: microUsd(-20_000n),
      month: '2026-11',
      monthToDateAfter: microUsd(20_004n),
      keyMonthToDateAfter: microUsd(20_004n),
      reason: 'the provider confirms it',
      actor: 'operator',
    },
  },
  {
    type: 'ExceptionDropped',
    data: { requestId: REQUEST, amount: microUsd(15_000_000_003_000_000n), reason: 'cannot be', actor: 'operator' },
  },
  {
    type: 'CreditsReinstated',
    data: { grantId: GRANT, amount: microUsd(1_233n), expiresAt: LATER, reason: 'clock was wrong', actor: 'operator' },
  },
];

/** What a proxy says of a lease when a key has got a limit. */
const LIMITS_AND_LEASES: DomainEvent[] = [
  { type: 'LeaseNarrowed', data: { proxy: PROXY, leaseId: LEASE, keyId: KEY, atMost: microUsd(250_000n) } },
];

/** One name, one proxy. */
const CLAIMS: DomainEvent[] = [
  { type: 'ProxyClaimed', data: { proxy: PROXY, epoch: 3, instance: 'a3'.repeat(16), claimedAt: AT } },
  {
    type: 'CreditsLeased',
    data: { proxy: PROXY, leaseId: LEASE, epoch: 3, keyId: KEY, amount: microUsd(500_000n), expiresAt: LATER },
  },
];

export const EXAMPLE_EVENTS: readonly DomainEvent[] = [
  ...ACCOUNT,
  ...USAGE,
  ...MONEY,
  ...FLEET,
  ...LATER_FORMS,
  ...EXCEPTIONS,
  { type: 'CatalogPublished', data: { version: 4, hash: SHA256, publishedAt: AT, models: [PRICED] } },
  ...LIMITS_AND_LEASES,
  ...CLAIMS,
  ...LEDGER,
];

/** The example of a type. @throws Error when there is none. */
export function exampleOf<T extends EventType>(type: T): Extract<DomainEvent, { type: T }> {
  const example = EXAMPLE_EVENTS.find((event): event is Extract<DomainEvent, { type: T }> => event.type === type);
  if (example === undefined) throw new Error(`no example of ${type}`);
  return example;
}
