import type { AccountEvent, EventData } from '../../contracts/events.ts';
import type { KeyId } from '../../contracts/ids.ts';
import { type MicroUsd, microUsd } from '../../contracts/money.ts';
import {
  type AccountState,
  type ApiKey,
  INITIAL_SPEND,
  NO_CARRY,
  NO_LEASES,
  NOTHING,
  type OpenAccount,
} from './account-state.ts';
import { NO_BILLING } from './billing-state.ts';
import {
  grantOfAdjustment,
  withAdjustment,
  withDebitReversed,
  withGrantRestored,
  withGrantRevoked,
  withLessBalance,
} from './corrections.ts';
import { evolveExceptions } from './exceptions.ts';
import { NO_EXCEPTIONS } from './exceptions-state.ts';
import { withExpired, withGrant, withoutShares, withReinstated } from './grants.ts';
import { keptAmount, keptBalance } from './kept-amount.ts';
import { entryOf, withEntry } from './keyed-tree.ts';
import { withLease, withLeaseNarrowed, withLeaseReduced, withLimitSet } from './leases.ts';
import { openedOrganization, withMember, withoutMember, withRole } from './members.ts';
import { withPayments } from './payments.ts';
import { withPlan } from './plans.ts';
import { assertAgrees } from './said-amounts.ts';
import { sumOf } from './shares-room.ts';
import { evolveSpend } from './spend.ts';

/** Folds one event into an account's state, which stays as it is. Pure. @throws Error when the event cannot follow, which means a broken stream. */
export function evolve(state: AccountState, event: AccountEvent): OpenAccount {
  if (event.type === 'AccountOpened') {
    if (state.type === 'open') throw new Error(`account ${state.accountId} is opened twice`);
    return opened(event.data);
  }
  if (state.type === 'unopened') throw new Error(`${event.type} on an account that was never opened`);
  const spend = evolveSpend(state, event);
  const exceptions = evolveExceptions(state.exceptions, event);
  const next = evolveOpen(state, event);
  if (spend === state.spend && exceptions === state.exceptions) return next;
  if (next === state) return { ...state, spend, exceptions };
  // Made for this event, and nobody has it yet: it need not be copied once more.
  next.spend = spend;
  next.exceptions = exceptions;
  return next;
}

const opened = (data: EventData<'AccountOpened'>): OpenAccount => ({
  type: 'open',
  accountId: data.accountId,
  kind: data.kind,
  email: data.email,
  organization: openedOrganization(data),
  plan: 'trial',
  openedAtMs: Date.parse(data.openedAt),
  suspended: null,
  keys: null,
  keysIssued: 0,
  grants: [],
  carry: NO_CARRY,
  uncovered: NOTHING,
  balance: NOTHING,
  spend: INITIAL_SPEND,
  billing: NO_BILLING,
  leases: NO_LEASES,
  exceptions: NO_EXCEPTIONS,
});

function evolveOpen(state: OpenAccount, event: Exclude<AccountEvent, { type: 'AccountOpened' }>): OpenAccount {
  switch (event.type) {
    case 'ApiKeyIssued':
      return withIssued(state, event.data);
    case 'ApiKeyRotated':
      return withKey(state, event.data.keyId, (key) => rotated(key, event.data));
    case 'ApiKeyRevoked':
      return withKey(state, event.data.keyId, (key) => ({ ...key, revokedAtMs: Date.parse(event.data.revokedAt) }));
    case 'MemberAdded':
      return { ...state, organization: withMember(state, event.data) };
    case 'MemberRoleChanged':
      return { ...state, organization: withRole(state, event.data) };
    case 'MemberRemoved':
      return { ...state, ...withoutMember(state, event.data) };
    case 'PlanChanged':
    case 'PlanEnded':
      return withPlan(state, event);
    case 'CreditsGranted':
      return granted(state, event.data);
    case 'CreditsExpired':
      return { ...state, grants: withExpired(state.grants, event.data), balance: lessBy(state, event.data) };
    case 'CreditsReinstated':
      return reinstated(state, event.data);
    case 'CreditsLeased':
      return { ...state, leases: withLease(state.leases, event.data) };
    case 'LeaseReleased':
      return { ...state, leases: withLeaseReduced(state.leases, event.data) };
    case 'LeaseNarrowed':
      return { ...state, leases: withLeaseNarrowed(state.leases, event.data) };
    case 'SpendLimitSet':
      return { ...state, leases: withLimitSet(state, event.data) };
    case 'CreditsDebited':
      return debited(state, event.data, withLeaseReduced(state.leases, event.data));
    case 'ExceptionApproved':
      return debited(state, event.data, state.leases);
    case 'GrantRevoked':
      return withGrantRevoked(state, event.data);
    case 'GrantRestored':
      return withGrantRestored(state, event.data);
    case 'DebitReversed':
      return withDebitReversed(state, event.data);
    case 'BalanceAdjusted':
      return adjusted(state, event.data);
    case 'AccountSuspended':
      return { ...state, suspended: event.data.reason };
    case 'AccountReinstated':
      return { ...state, suspended: null };
    case 'UsageRecorded':
    case 'LateUsageReported':
    case 'ExceptionDropped':
    case 'SpendThresholdCrossed':
      return state;
    case 'StatementClosed':
      return { ...state, billing: { ...state.billing, statement: closedStatement(event.data) } };
    case 'RenewalStarted':
    case 'PaymentMethodSaved':
    case 'PaymentSucceeded':
    case 'PaymentFailed':
    case 'PaymentAbandoned':
      return withPlan({ ...state, billing: withPayments(state.billing, event) }, event);
    case 'PaymentMethodRemoved':
    case 'PurchaseStarted':
    case 'PaymentActionRequired':
    case 'PaymentRefunded':
    case 'RefundWithdrawn':
    case 'PaymentDisputed':
    case 'DisputeClosed':
    case 'AutoReloadConfigured':
    case 'AutoReloadStarted':
    case 'AutoReloadSkipped':
    case 'AutoReloadPaused':
      return { ...state, billing: withPayments(state.billing, event) };
    default:
      return event satisfies never;
  }
}

function adjusted(state: OpenAccount, data: EventData<'BalanceAdjusted'>): OpenAccount {
  const isUp = data.direction === 'up';
  const next = isUp ? granted(state, grantOfAdjustment(data)) : withLessBalance(state, data);
  const parts = isUp ? data.amount : sumOf(data.shares) + data.uncovered;
  assertAgrees(data, { parts, balance: next.balance });
  return { ...next, billing: withAdjustment(state.billing, data) };
}

const closedStatement = ({
  month,
  closing,
  firstRevision,
  lastRevision,
}: EventData<'StatementClosed'>): OpenAccount['billing']['statement'] => ({
  month,
  closing,
  firstRevision,
  lastRevision,
});

const lessBy = ({ balance }: OpenAccount, { amount }: { readonly amount: MicroUsd }): MicroUsd =>
  keptBalance(balance - amount);

function withIssued(state: OpenAccount, data: EventData<'ApiKeyIssued'>): OpenAccount {
  if (entryOf(state.keys, data.keyId) !== undefined) throw new Error(`key ${data.keyId} is issued twice`);
  const key: ApiKey = {
    keyId: data.keyId,
    number: state.keysIssued,
    name: data.name,
    sha256: data.sha256,
    last4: data.last4,
    member: data.member,
    previous: null,
    issuer: data.issuer,
    expiresAtMs: data.expiresAt === null ? null : Date.parse(data.expiresAt),
    models: data.models,
    revokedAtMs: null,
  };
  return { ...state, keys: withEntry(state.keys, key.keyId, key), keysIssued: state.keysIssued + 1 };
}

const rotated = (key: ApiKey, { sha256, last4, previousUntil }: EventData<'ApiKeyRotated'>): ApiKey => ({
  ...key,
  sha256,
  last4,
  previous: { sha256: key.sha256, last4: key.last4, untilMs: Date.parse(previousUntil) },
});

function withKey(state: OpenAccount, keyId: KeyId, change: (key: ApiKey) => ApiKey): OpenAccount {
  const key = entryOf(state.keys, keyId);
  if (key === undefined) throw new Error(`account ${state.accountId} has no key ${keyId}`);
  return { ...state, keys: withEntry(state.keys, keyId, change(key)) };
}

type Debit = Pick<
  EventData<'CreditsDebited'>,
  'grants' | 'carryBefore' | 'carryAfter' | 'uncovered' | 'amount' | 'balanceAfter'
>;

const debited = (state: OpenAccount, debit: Debit, leases: OpenAccount['leases']): OpenAccount => ({
  ...state,
  leases,
  grants: withoutShares(state.grants, debit.grants),
  ...amountsAfter(state, debit),
});

/** What a debit leaves beside the grants. @throws RangeError; Error where it does not agree with what it follows */
export function amountsAfter(state: OpenAccount, debit: Debit): Pick<OpenAccount, 'carry' | 'uncovered' | 'balance'> {
  const { grants, carryBefore, carryAfter: carry } = debit;
  const uncovered = keptAmount(state.uncovered + debit.uncovered);
  const balance = lessBy(state, debit);
  if (carryBefore !== state.carry)
    throw new Error(`it takes along ${carryBefore} pico-USD, and ${state.carry} are carried`);
  assertAgrees(debit, { parts: sumOf(grants) + debit.uncovered, balance });
  return { carry, uncovered, balance };
}

/** A new grant first fills what earlier debits left uncovered; the rest can be spent. */
function granted(state: OpenAccount, data: EventData<'CreditsGranted'>): OpenAccount {
  if (state.grants.some(({ grantId }) => grantId === data.grantId)) throw new Error(`${data.grantId} is granted twice`);
  const filled = filledBy(data.amount, state);
  const grant = {
    grantId: data.grantId,
    source: data.source,
    amount: data.amount,
    remaining: microUsd(data.amount - filled),
    expired: NOTHING,
    costBasis: data.costBasis,
    priority: data.priority,
    effectiveAtMs: Date.parse(data.effectiveAt),
    expiresAtMs: data.expiresAt === null ? null : Date.parse(data.expiresAt),
  };
  return {
    ...state,
    grants: withGrant(state.grants, grant),
    uncovered: microUsd(state.uncovered - filled),
    balance: keptBalance(state.balance + data.amount),
  };
}

/** What was never to expire: it fills what was debited beyond the grants while it was missing, as a grant does. */
function reinstated(state: OpenAccount, data: EventData<'CreditsReinstated'>): OpenAccount {
  const filled = filledBy(data.amount, state);
  return {
    ...state,
    grants: withReinstated(state.grants, { ...data, expiresAtMs: Date.parse(data.expiresAt), filled }),
    uncovered: microUsd(state.uncovered - filled),
    balance: keptBalance(state.balance + data.amount),
  };
}

const filledBy = (amount: MicroUsd, { uncovered }: OpenAccount): MicroUsd => (amount < uncovered ? amount : uncovered);
