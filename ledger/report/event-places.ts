import type { DomainEvent, EventType } from '../../contracts/events.ts';

/**
 * Where each type of event is taken: in the books of the account of its stream, or in those of the month. Null is nowhere, for
 * it moves no money, says not whose an account is, and has no note: it is not even decoded. The README says where each is seen instead.
 */
const PLACES = {
  AccountOpened: 'account',
  ApiKeyIssued: null,
  ApiKeyRotated: null,
  ApiKeyRevoked: null,
  MemberAdded: 'account',
  MemberRoleChanged: 'account',
  MemberRemoved: 'account',
  PlanChanged: null,
  RenewalStarted: 'account',
  PlanEnded: null,
  CreditsGranted: 'account',
  CreditsExpired: 'account',
  CreditsReinstated: 'account',
  GrantRevoked: 'account',
  GrantRestored: 'account',
  DebitReversed: 'account',
  BalanceAdjusted: 'account',
  UsageRecorded: 'account',
  CreditsDebited: 'account',
  LateUsageReported: 'account',
  ExceptionApproved: 'account',
  ExceptionDropped: 'account',
  CreditsLeased: null,
  LeaseReleased: null,
  LeaseNarrowed: null,
  PaymentMethodSaved: null,
  PaymentMethodRemoved: null,
  PurchaseStarted: null,
  PaymentSucceeded: 'account',
  PaymentFailed: 'account',
  PaymentActionRequired: null,
  PaymentAbandoned: 'account',
  PaymentRefunded: 'account',
  RefundWithdrawn: 'account',
  PaymentDisputed: 'account',
  DisputeClosed: 'account',
  AutoReloadConfigured: null,
  AutoReloadStarted: 'account',
  AutoReloadSkipped: 'account',
  AutoReloadPaused: 'account',
  StatementClosed: null,
  SpendLimitSet: null,
  SpendThresholdCrossed: null,
  AccountSuspended: 'account',
  AccountReinstated: 'account',
  CatalogPublished: null,
  RelayClaimed: null,
  RelayCheckpointed: null,
  RelayReleased: null,
  ProxyClaimed: null,
  LedgerIdentified: 'month',
  LossAccepted: 'month',
  LedgerMoved: 'month',
  FormsAdopted: null,
  SealKeyIntroduced: null,
  LedgerSealed: null,
  ProviderReconciled: 'month',
} as const satisfies { readonly [T in EventType]: 'account' | 'month' | null };

type Places = typeof PLACES;
type EventIn<P> = Extract<DomainEvent, { type: { [T in EventType]: Places[T] extends P ? T : never }[EventType] }>;
export type EventOfAccount = EventIn<'account'>;
export type EventOfMonth = EventIn<'month'>;

/** A type that this program does not know is not known to be idle: it is read, and refused. */
export const isIdle = (type: string): boolean => Object.hasOwn(PLACES, type) && PLACES[type as EventType] === null;

export const isOfAccount = (event: DomainEvent): event is EventOfAccount => PLACES[event.type] === 'account';

export const isOfMonth = (event: DomainEvent): event is EventOfMonth => PLACES[event.type] === 'month';
