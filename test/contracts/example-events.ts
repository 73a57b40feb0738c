import type { DomainEvent, EventType } from '../../contracts/events.ts';
import { accountId, ledgerId } from '../../contracts/ids.ts';
import { microUsd, picoUsd, rate } from '../../contracts/money.ts';
import { AT, GRANT, KEY, LATER, LEASE, MODEL, PRICED, PROXY, REQUEST, SHA256, UNTIL } from './example-parts.ts';
import { EXCEPTIONS, LATER_FORMS, USAGE } from './example-usage-events.ts';

/** One example of each event, with every optional part filled in at least once across them. */

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

/** From before it was written when the requests of a lease start. */
const LEASED = { expiresAt: LATER, requestsFrom: null, requestsBefore: null };
const FLEET: DomainEvent[] = [
  {
    type: 'CreditsLeased',
    data: { proxy: PROXY, leaseId: LEASE, epoch: 0, keyId: KEY, amount: microUsd(0n), ...LEASED },
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

/** What a proxy says of a lease when a key has got a limit. */
const LIMITS_AND_LEASES: DomainEvent[] = [
  { type: 'LeaseNarrowed', data: { proxy: PROXY, leaseId: LEASE, keyId: KEY, atMost: microUsd(250_000n) } },
];

/** One name, one proxy. */
const CLAIMS: DomainEvent[] = [
  { type: 'ProxyClaimed', data: { proxy: PROXY, epoch: 3, instance: 'a3'.repeat(16), claimedAt: AT } },
  {
    type: 'CreditsLeased',
    data: {
      proxy: PROXY,
      leaseId: LEASE,
      epoch: 3,
      keyId: KEY,
      amount: microUsd(500_000n),
      ...LEASED,
    },
  },
];

/** A lease for requests that start before a grant expires. */
const DIVIDED_LEASES: DomainEvent[] = [
  {
    type: 'CreditsLeased',
    data: {
      proxy: PROXY,
      leaseId: LEASE,
      epoch: 3,
      amount: microUsd(1n),
      expiresAt: LATER,
      requestsFrom: AT,
      requestsBefore: LATER,
    },
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
  ...DIVIDED_LEASES,
  {
    type: 'CatalogPublished',
    data: { version: 5, hash: SHA256, publishedAt: AT, models: [{ ...PRICED, systemRole: true }] },
  },
  {
    type: 'FormsAdopted',
    data: { forms: { FormsAdopted: 1, CreditsDebited: 3 }, without: [PROXY], reason: 'it is gone', actor: 'operator' },
  },
];

/** The example of a type. @throws Error when there is none. */
export function exampleOf<T extends EventType>(type: T): Extract<DomainEvent, { type: T }> {
  const example = EXAMPLE_EVENTS.find((event): event is Extract<DomainEvent, { type: T }> => event.type === type);
  if (example === undefined) throw new Error(`no example of ${type}`);
  return example;
}
