import type { AccountEvent, EventData } from '../../contracts/events.ts';
import type { StatementFigure } from '../../contracts/statement-events.ts';
import { monthOfInstant } from '../account/month.ts';

/** What an event is in its account's statement. */
export interface StatementEntry {
  readonly figure: StatementFigure;
  /** Micro-USD, in the direction of the figure. */
  readonly amount: bigint;
  /** The month (UTC) of its own fact. */
  readonly month: string;
}

interface Counts<T extends AccountEvent['type']> {
  readonly figure: StatementFigure | ((data: EventData<T>) => StatementFigure);
  /** The instant of the fact, or its month; null is when it was written down. */
  readonly fact: (data: EventData<T>) => string | null;
}
/** Moves no balance. */
const NONE = null;
/** Neither, and is shown in the month in which it was written down, or where that was closed, the one after it; usage that was reported late in its request's. */
const NOTED = 'noted';
/** The same, to who may see payments alone; one that is made where its credits are. */
const PAID = 'noted of payments';
type Uncounted = typeof NONE | typeof NOTED | typeof PAID;

/** Whoever adds a type of event says here which figure it is of, and of which instant, or that it is of none. */
const STATEMENT_ENTRIES = {
  CreditsGranted: { figure: 'granted', fact: ({ effectiveAt }) => effectiveAt },
  CreditsReinstated: { figure: 'reinstated', fact: () => null },
  CreditsExpired: { figure: 'expired', fact: ({ expiredAt }) => expiredAt },
  CreditsDebited: { figure: 'debited', fact: ({ month }) => month },
  ExceptionApproved: { figure: 'debited', fact: ({ month }) => month },
  GrantRevoked: { figure: 'revoked', fact: ({ revokedAt }) => revokedAt },
  GrantRestored: { figure: 'restored', fact: ({ restoredAt }) => restoredAt },
  DebitReversed: { figure: 'reversed', fact: ({ reversedAt }) => reversedAt },
  BalanceAdjusted: {
    figure: ({ direction }) => (direction === 'up' ? 'adjustedUp' : 'adjustedDown'),
    fact: ({ adjustedAt }) => adjustedAt,
  },
  AccountOpened: NONE,
  ApiKeyIssued: NONE,
  ApiKeyRotated: NONE,
  ApiKeyRevoked: NONE,
  MemberAdded: NONE,
  MemberRoleChanged: NONE,
  MemberRemoved: NONE,
  PlanChanged: NOTED,
  RenewalStarted: PAID,
  PlanEnded: NOTED,
  UsageRecorded: NONE,
  LateUsageReported: NOTED,
  ExceptionDropped: NOTED,
  CreditsLeased: NONE,
  LeaseReleased: NONE,
  LeaseNarrowed: NONE,
  PaymentMethodSaved: NONE,
  PaymentMethodRemoved: NONE,
  PurchaseStarted: PAID,
  PaymentSucceeded: PAID,
  PaymentFailed: PAID,
  PaymentActionRequired: NONE,
  PaymentAbandoned: PAID,
  PaymentRefunded: PAID,
  RefundWithdrawn: PAID,
  PaymentDisputed: PAID,
  DisputeClosed: PAID,
  AutoReloadConfigured: NONE,
  AutoReloadStarted: PAID,
  AutoReloadSkipped: NONE,
  AutoReloadPaused: PAID,
  SpendLimitSet: NONE,
  SpendThresholdCrossed: NONE,
  AccountSuspended: NOTED,
  AccountReinstated: NOTED,
  StatementClosed: NONE,
} as const satisfies { readonly [T in AccountEvent['type']]: Counts<T> | Uncounted };

/** Whether an event of the type need be read for a statement. One that this program does not know is read, and refused. */
export const isInStatements = (type: string): boolean =>
  type === 'StatementClosed' || (placeOf(type) !== NONE && !isNoted(type));

/** Whether events of the type are shown beside what moves the balance. */
export const isNoted = (type: string): boolean => placeOf(type) === NOTED || isOfPayments(type);

/** Whether they tell of payments, and nothing else. */
export const isOfPayments = (type: string): boolean => placeOf(type) === PAID;

const placeOf = (type: string): unknown =>
  Object.hasOwn(STATEMENT_ENTRIES, type) ? STATEMENT_ENTRIES[type as AccountEvent['type']] : undefined;

/** Null for what moves no balance. No fact is of a later month than the one in which it was written down. */
export function statementEntryOf({ type, data }: AccountEvent, recordedAt: string): StatementEntry | null {
  // The table says for each type which data its functions take.
  const counts = STATEMENT_ENTRIES[type] as Counts<'BalanceAdjusted'> | Uncounted;
  if (counts === NONE || counts === NOTED || counts === PAID) return null;
  const of = data as EventData<'BalanceAdjusted'>;
  const figure = typeof counts.figure === 'function' ? counts.figure(of) : counts.figure;
  const recorded = monthOfInstant(recordedAt);
  const fact = monthOfInstant(counts.fact(of) ?? recordedAt);
  return { figure, amount: of.amount, month: fact < recorded ? fact : recorded };
}
