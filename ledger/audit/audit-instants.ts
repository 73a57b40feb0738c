import type { EventType } from '../../contracts/events.ts';
import { LIMITS } from '../../contracts/limits.ts';
import { CLOCKS_MS, COMMAND_MS, instantMs, uuidMs } from './own-times.ts';
import type { LateData, StoredEvent, UsageData } from './stored-event.ts';

type Told = (what: string, found?: unknown, expected?: unknown) => void;

/** What an event says of when it was made, beside when it was recorded; null where it says nothing, or was not known. */
type Said = (data: never) => string | null;

/** By the command of a request, whose id has the time of the request; or of what is compared, which may be long ago. */
type OtherCommand = 'request' | 'other';

const says = <Name extends string>(name: Name): Said => {
  return (data: Readonly<Partial<Record<Name, string | null>>>) => data[name] ?? null;
};
const NOTHING: Said = () => null;

/** One that has nothing here is not compiled. */
const INSTANT: Readonly<Record<EventType, Said | OtherCommand>> = {
  AccountOpened: says('openedAt'),
  AccountSuspended: NOTHING,
  AccountReinstated: NOTHING,
  // From when on it is in force, which may be later, or when its period has ended.
  PlanChanged: NOTHING,
  RenewalStarted: says('startedAt'),
  PlanEnded: says('at'),
  ApiKeyIssued: NOTHING,
  ApiKeyRotated: says('rotatedAt'),
  ApiKeyRevoked: says('revokedAt'),
  MemberAdded: says('addedAt'),
  MemberRoleChanged: NOTHING,
  MemberRemoved: says('removedAt'),
  StatementClosed: says('closedAt'),
  SpendLimitSet: NOTHING,
  CreditsGranted: NOTHING,
  CreditsExpired: NOTHING,
  CreditsReinstated: NOTHING,
  GrantRevoked: says('revokedAt'),
  GrantRestored: says('restoredAt'),
  // When it was agreed to, or paid, the provider says, and may say late.
  PaymentMethodSaved: NOTHING,
  PaymentSucceeded: NOTHING,
  PaymentMethodRemoved: says('removedAt'),
  PurchaseStarted: says('startedAt'),
  PaymentFailed: says('failedAt'),
  PaymentActionRequired: says('at'),
  PaymentAbandoned: says('at'),
  PaymentRefunded: NOTHING,
  RefundWithdrawn: says('withdrawnAt'),
  PaymentDisputed: NOTHING,
  DisputeClosed: NOTHING,
  AutoReloadConfigured: says('consentedAt'),
  AutoReloadStarted: says('startedAt'),
  AutoReloadSkipped: says('at'),
  AutoReloadPaused: says('at'),
  DebitReversed: says('reversedAt'),
  BalanceAdjusted: says('adjustedAt'),
  CreditsLeased: says('requestsFrom'),
  LeaseReleased: NOTHING,
  LeaseNarrowed: NOTHING,
  ExceptionApproved: NOTHING,
  ExceptionDropped: NOTHING,
  UsageRecorded: 'request',
  LateUsageReported: 'request',
  // Theirs are those of what stands before them, and are compared with them.
  CreditsDebited: 'other',
  SpendThresholdCrossed: 'other',
  CatalogPublished: says('publishedAt'),
  LedgerIdentified: says('identifiedAt'),
  LossAccepted: NOTHING,
  LedgerMoved: says('movedAt'),
  FormsAdopted: NOTHING,
  RelayClaimed: NOTHING,
  RelayCheckpointed: NOTHING,
  RelayReleased: NOTHING,
  ProxyClaimed: says('claimedAt'),
  // Made of what it says, so that the same is recorded once.
  ProviderReconciled: 'other',
  // A seal is never earlier than the one before it, whoever's clock that was by.
  LedgerSealed: NOTHING,
  SealKeyIntroduced: NOTHING,
};

/**
 * An id (UUIDv7) begins with the time at which it was made: that of a command as it is recorded, that of a request as its
 * first bytes come. So nothing is moved in time by what stands beside it alone.
 */
export function auditInstants({ type, data, metadata }: StoredEvent, tell: Told): void {
  const said = INSTANT[type as EventType];
  if (said === 'other' || metadata === undefined) return;
  if (said === 'request') {
    auditStart(type === 'LateUsageReported' ? (data as LateData).usage : (data as UsageData), tell);
    return;
  }
  const { commandId = '', recordedAt } = metadata;
  const recordedMs = instantMs(recordedAt);
  const givenMs = uuidMs(commandId);
  if (!areWithin(recordedMs, givenMs, COMMAND_MS))
    tell(`${type} is recorded at another time than its command was given`, recordedAt, instantOf(givenMs));
  const instant = said(data as never);
  if (instant !== null && !areWithin(instantMs(instant), recordedMs, CLOCKS_MS))
    tell(`${type} is recorded at another time than it says`, instant, recordedAt);
}

function auditStart({ requestId, startedAt }: UsageData, tell: Told): void {
  const madeMs = uuidMs(requestId, 'req_'.length);
  if (!areWithin(instantMs(startedAt), madeMs, LIMITS.requestStartMs))
    tell(`${requestId}: starts at another time than its id was made`, startedAt, instantOf(madeMs));
}

/** Not where either is no time. */
const areWithin = (oneMs: number, otherMs: number, byMs: number): boolean => Math.abs(oneMs - otherMs) <= byMs;

const instantOf = (ms: number): string => (Number.isNaN(ms) ? 'a time' : new Date(ms).toISOString());
