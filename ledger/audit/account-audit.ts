import type { AccountEvent } from '../../contracts/events.ts';
import { takeAdjusted, takeRestored, takeReversed, takeRevoked } from './audit-corrections.ts';
import { auditApproved, auditDebit, compareLines } from './audit-debit.ts';
import { noteApproved, noteDropped, noteLate, noteLeftOut, noteUnpriced } from './audit-exceptions.ts';
import { auditUnderWay, takeExpired, takeReinstated } from './audit-expiry.ts';
import { auditOpen, auditTrial, revokeKey, takeKey, takeOpened, takeSuspension } from './audit-life.ts';
import { auditCrossings, noteCrossings, setLimit, takeCrossed } from './audit-limits.ts';
import { changeRole, removeMember, rotateKey, takeMember } from './audit-members.ts';
import { auditFollowing, takeOutcome, takePaid, takePurchase } from './audit-payments.ts';
import { takePlanChanged, takePlanEnded, takeRenewal } from './audit-plans.ts';
import { takeDispute, takeDisputeClosed, takeRefund, takeWithdrawn } from './audit-refunds.ts';
import {
  takeFailed,
  takeGivenUp,
  takeMethod,
  takePaused,
  takeReload,
  takeReloadSet,
  takeSkipped,
} from './audit-reload.ts';
import { auditRequest, auditUnpriced } from './audit-request.ts';
import { countForStatement, takeStatement } from './audit-statements.ts';
import { auditViews, type SeenFigures } from './audit-views.ts';
import { fitOneDebit, insertGrant, type OwnGrant } from './burn-own.ts';
import { type AccountBooks, compare, compareAmount, emptyBooks, tell } from './own-account.ts';
import { takeFromLease, takeLeased, takeNarrowed, takeReleased } from './own-leases.ts';
import { ownPrice } from './own-price.ts';
import { isBefore } from './own-times.ts';
import type {
  AdjustedData,
  ApprovedData,
  CardOf,
  CrossedData,
  DebitData,
  DisputeClosedData,
  DisputedData,
  DroppedData,
  ExpiredData,
  FailedData,
  GivenUpData,
  GrantData,
  IssuedData,
  LateData,
  LeasedData,
  LimitSetData,
  MemberData,
  MethodRemovedData,
  MethodSavedData,
  NarrowedData,
  OpenedData,
  PaidData,
  PlanChangedData,
  PlanEndedData,
  PurchaseData,
  RefundedData,
  ReinstatedData,
  ReleasedData,
  ReloadSetData,
  ReloadStartedData,
  RemovedData,
  RenewalData,
  RestoredData,
  ReversedData,
  RevokedData,
  RevokedGrantData,
  RotatedData,
  SkippedData,
  StatementData,
  StoredEvent,
  StoredMetadata,
  UnpaidData,
  UsageData,
} from './stored-event.ts';

interface AccountAuditOptions extends Partial<Pick<AccountBooks, 'isOfLost' | 'planOf'>> {
  /** Compared when the books have come to its revision. */
  readonly seen?: SeenFigures | null;
}

/**
 * Goes through an account's events in order with its own arithmetic: revisions without a gap, a debit right after the
 * usage that it charges, each figure of each debit, the balance after it among them. What is wrong is told once:
 * it goes on from what is stated, as whoever folds the events does.
 */
export class AccountAudit {
  readonly books: AccountBooks;
  readonly #cardOf: CardOf;
  #seen: SeenFigures | null;
  /** The usage that the next event may be the debit of. */
  #usage: UsageData | null = null;
  /** What stands beside the event before; null where that is not known. */
  #before: StoredMetadata | null = null;
  /** When the one before was recorded that does not go back in time as those of leases may; '' before there is one. */
  #recordedAt = '';
  #position = Number.NEGATIVE_INFINITY;

  constructor(
    accountId: string,
    cardOf: CardOf,
    { seen = null, isOfLost = () => false, planOf = () => null }: AccountAuditOptions = {},
  ) {
    this.#seen = seen;
    this.books = emptyBooks(accountId, isOfLost, planOf);
    this.#cardOf = cardOf;
  }

  take(event: StoredEvent): void {
    // What is missing of a usage before is told of its own place.
    if (event.type !== 'CreditsDebited') this.#auditUncharged();
    if (event.type !== 'SpendThresholdCrossed') auditCrossings(this.books);
    auditFollowing(this.books, event);
    this.#follow(event);
    this.#takeEvent(event);
    countForStatement(this.books, event);
    if (this.#seen?.revision === event.revision) {
      auditViews(this.books, this.#seen);
      this.#seen = null;
    }
  }

  /** One of which nothing is known but where it stands; that is told already. */
  skip(event: Pick<StoredEvent, 'revision' | 'position'>): void {
    this.#usage = null;
    this.#before = null;
    this.books.due = [];
    this.books.limitSet = null;
    this.books.following = null;
    this.#follow(event);
  }

  /** When there are no more. */
  end(): void {
    this.#auditUncharged();
    auditCrossings(this.books);
    auditFollowing(this.books, null);
  }

  #follow({ revision, position }: Pick<StoredEvent, 'revision' | 'position'>): void {
    const { books } = this;
    const before = books.revision;
    books.revision = revision;
    if (revision !== before + 1) tell(books, `revision ${revision} follows ${before}`);
    if (position <= this.#position) tell(books, `position ${position} follows ${this.#position}`);
    this.#position = position;
  }

  #takeEvent(event: StoredEvent): void {
    const { type, metadata = null } = event;
    if (type === 'CreditsDebited' || type === 'SpendThresholdCrossed')
      auditSameCommand(this.books, event, this.#before);
    else this.#auditOrder(event);
    auditActor(this.books, event);
    this.#before = metadata;
    if (type !== 'AccountOpened') auditOpen(this.books, type);
    // Another event could take money unseen.
    if (Object.hasOwn(AccountAudit.#CHECKS, type)) AccountAudit.#CHECKS[type as AccountEvent['type']](this, event);
    else tell(this.books, `${type} is no event of an account`);
  }

  /** What moves leases is in no month's books, and is recorded as of when it was begun, which may be long before. */
  #auditOrder({ type, metadata }: StoredEvent): void {
    if (metadata === undefined) return;
    const [before, { recordedAt }] = [this.#recordedAt, metadata];
    if (recordedAt < before && OF_LEASES.has(type)) return;
    this.#recordedAt = recordedAt;
    if (isBefore(recordedAt, before))
      tell(this.books, `${type} is recorded before what it follows`, recordedAt, `${before} or later`);
  }

  /** What is to be looked at in an event of each type: one that has nothing here is not compiled. */
  static readonly #CHECKS: Readonly<Record<AccountEvent['type'], (audit: AccountAudit, event: StoredEvent) => void>> = {
    AccountOpened: ({ books }, event) => takeOpened(books, event.data as OpenedData, event),
    AccountSuspended: ({ books }, event) => takeSuspension(books, true, event),
    AccountReinstated: ({ books }, event) => takeSuspension(books, false, event),
    PlanChanged: ({ books }, event) => takePlanChanged(books, event.data as PlanChangedData, event),
    RenewalStarted: ({ books }, event) => takeRenewal(books, event.data as RenewalData, event),
    PlanEnded: ({ books }, event) => takePlanEnded(books, event.data as PlanEndedData, event),
    ApiKeyIssued: ({ books }, event) => takeKey(books, event.data as IssuedData, event),
    ApiKeyRotated: ({ books }, { data }) => rotateKey(books, data as RotatedData),
    MemberAdded: ({ books }, { data }) => takeMember(books, data as MemberData),
    MemberRoleChanged: ({ books }, { data }) => changeRole(books, data as MemberData),
    MemberRemoved: ({ books }, { data }) => removeMember(books, data as RemovedData),
    ApiKeyRevoked: ({ books }, { data }) => revokeKey(books, data as RevokedData),
    SpendLimitSet: ({ books }, event) => setLimit(books, event.data as LimitSetData, event),
    SpendThresholdCrossed: ({ books }, { data }) => takeCrossed(books, data as CrossedData),
    CreditsGranted: ({ books }, event) => takeGrant(books, event.data as GrantData, event),
    PaymentMethodSaved: ({ books }, { data }) => takeMethod(books, data as MethodSavedData),
    PaymentMethodRemoved: ({ books }, { data }) => {
      books.method = null;
      books.methodRemovedAt = (data as MethodRemovedData).removedAt;
    },
    PurchaseStarted: ({ books }, { data }) => takePurchase(books, data as PurchaseData),
    PaymentSucceeded: ({ books }, event) => takePaid(books, event.data as PaidData, event),
    PaymentFailed: ({ books }, event) => takeFailed(books, event.data as FailedData, event),
    PaymentRefunded: ({ books }, event) => takeRefund(books, event.data as RefundedData, event),
    RefundWithdrawn: ({ books }, event) => takeWithdrawn(books, event.data as RefundedData, event),
    PaymentDisputed: ({ books }, event) => takeDispute(books, event.data as DisputedData, event),
    DisputeClosed: ({ books }, event) => takeDisputeClosed(books, event.data as DisputeClosedData, event),
    AutoReloadConfigured: ({ books }, event) => takeReloadSet(books, event.data as ReloadSetData, event),
    AutoReloadStarted: ({ books }, { data }) => takeReload(books, data as ReloadStartedData),
    AutoReloadSkipped: ({ books }, { data }) => takeSkipped(books, data as SkippedData),
    AutoReloadPaused: ({ books }) => takePaused(books),
    PaymentActionRequired: ({ books }, { data }) => takeOutcome(books, data as UnpaidData, { isOver: false }),
    PaymentAbandoned: ({ books }, event) => takeGivenUp(books, event.data as GivenUpData, event),
    CreditsExpired: ({ books }, event) => takeExpired(books, event.data as ExpiredData, recordedMs(event)),
    CreditsReinstated: ({ books }, event) => takeReinstated(books, event.data as ReinstatedData, recordedMs(event)),
    GrantRevoked: ({ books }, { data }) => takeRevoked(books, data as RevokedGrantData),
    GrantRestored: ({ books }, { data }) => takeRestored(books, data as RestoredData),
    DebitReversed: ({ books }, { data }) => takeReversed(books, data as ReversedData),
    BalanceAdjusted: ({ books }, event) =>
      takeAdjusted(books, event.data as AdjustedData, (grant) => takeGrant(books, grant, event)),
    CreditsLeased: ({ books }, event) => takeLeased(books, event.data as LeasedData, recordedMs(event)),
    LeaseReleased: ({ books }, { data }) => takeReleased(books, data as ReleasedData),
    LeaseNarrowed: ({ books }, { data }) => takeNarrowed(books, data as NarrowedData),
    StatementClosed: ({ books }, event) => takeStatement(books, event.data as StatementData, event),
    UsageRecorded: (audit, event) => audit.#takeUsage(event.data as UsageData, event),
    CreditsDebited: (audit, { data }) => audit.#takeDebit(data as DebitData),
    LateUsageReported: (audit, event) => audit.#takeLate(event.data as LateData, event),
    ExceptionApproved: ({ books }, { data }) => takeApproved(books, data as ApprovedData),
    ExceptionDropped: ({ books }, { data }) => noteDropped(books, data as DroppedData),
  };

  #takeUsage(usage: UsageData, event: StoredEvent): void {
    this.#usage = usage;
    if (usage.outcome === 'recovered') this.books.recovered.add(usage.requestId);
    auditRequest(this.books, usage, event);
    auditUnpriced(this.books, usage, this.#cardOf);
    auditUnderWay(this.books, usage);
    noteUnpriced(this.books, usage);
  }

  #takeDebit(debit: DebitData): void {
    const usage = this.#usage;
    this.#usage = null;
    takeFromLease(this.books, debit, usage);
    if (usage === null || usage.requestId !== debit.requestId) {
      tell(this.books, `${debit.requestId}: its debit does not stand right after its usage`);
      return;
    }
    const card = this.#cardOf(usage);
    if (typeof card === 'string') tell(this.books, `${usage.requestId}: ${card}`);
    else auditDebit(this.books, usage, debit, ownPrice(usage, card));
    noteLeftOut(this.books, debit, usage);
    noteCrossings(this.books, debit);
  }

  #takeLate({ requestId, usage, cost: stated, lines, uses }: LateData, event: StoredEvent): void {
    const { books } = this;
    auditRequest(books, usage, event);
    auditUnpriced(books, usage, this.#cardOf);
    compare(books, `${requestId}: the request whose usage came late`, usage.requestId, requestId);
    if (usage.outcome === 'recovered') tell(books, `${requestId}: late, and says that nothing was seen`);
    if (!books.recovered.has(requestId)) tell(books, `${requestId}: late, and not recorded as recovered before`);
    const card = this.#cardOf(usage);
    if (typeof card === 'string') tell(books, `${requestId}: ${card}`);
    else {
      const price = ownPrice(usage, card);
      compareAmount(books, `${requestId}: late cost`, stated, usage.billable ? price.cost : 0n, 'pico-USD');
      compareLines(books, requestId, { lines, uses }, price);
    }
    // What is approved later is by what stands here.
    noteLate(books, usage, BigInt(stated));
  }

  /** A usage that no debit follows must be one that is not charged, or costs nothing. */
  #auditUncharged(): void {
    const usage = this.#usage;
    this.#usage = null;
    if (usage === null) return;
    const card = this.#cardOf(usage);
    if (typeof card === 'string') tell(this.books, `${usage.requestId}: ${card}`);
    else if (usage.billable && ownPrice(usage, card).cost > 0n)
      tell(this.books, `${usage.requestId}: charged for, and without a debit`);
  }
}

const OF_LEASES: ReadonlySet<string> = new Set(['CreditsLeased', 'LeaseReleased', 'LeaseNarrowed']);

/** A debit, and what it crosses, is written with what stands before it. */
function auditSameCommand(books: AccountBooks, { type, metadata }: StoredEvent, before: StoredMetadata | null): void {
  if (metadata === undefined || before === null) return;
  const { recordedAt, commandId, actor } = metadata;
  if (commandId !== before.commandId) tell(books, `the command of ${type}`, commandId, before.commandId);
  if (actor !== before.actor) tell(books, `who caused ${type}`, actor, before.actor);
  if (recordedAt !== before.recordedAt) tell(books, `when ${type} was recorded`, recordedAt, before.recordedAt);
}

/** Who has corrected something stands in the event, too. */
function auditActor(books: AccountBooks, { type, data, metadata }: StoredEvent): void {
  if (CORRECTIONS.has(type) && metadata?.actor !== undefined)
    compare(books, `who caused ${type}`, metadata.actor, (data as { readonly actor: string }).actor);
}

const CORRECTIONS: ReadonlySet<string> = new Set([
  'GrantRevoked',
  'GrantRestored',
  'DebitReversed',
  'BalanceAdjusted',
] satisfies AccountEvent['type'][]);

/** Null where it is not known. */
const recordedMs = ({ metadata }: StoredEvent): number | null =>
  metadata === undefined ? null : Date.parse(metadata.recordedAt);

function takeApproved(books: AccountBooks, approved: ApprovedData): void {
  const exception = noteApproved(books, approved);
  if (exception !== null) auditApproved(books, exception, approved);
  noteCrossings(books, approved);
}

/** It fills what was left uncovered first; the rest can be spent. */
function takeGrant(books: AccountBooks, grant: GrantData, event: StoredEvent): void {
  auditTrial(books, grant, event);
  const isOfPayment = books.following !== null;
  books.following = null;
  const amount = BigInt(grant.amount);
  if (amount === 0n) tell(books, `${grant.grantId}: nothing is granted`);
  if (grant.expiresAt !== null && grant.expiresAt <= grant.effectiveAt)
    tell(books, `${grant.grantId}: ends before it begins`, grant.expiresAt, `after ${grant.effectiveAt}`);
  if (books.grantOf.has(grant.grantId)) tell(books, `${grant.grantId}: granted twice`);
  const owed = books.uncovered;
  const filled = amount < owed ? amount : owed;
  books.uncovered -= filled;
  books.granted += amount;
  const own: OwnGrant = {
    grantId: grant.grantId,
    idBytes: Buffer.byteLength(JSON.stringify(grant.grantId)),
    amount,
    remaining: amount - filled,
    expired: 0n,
    held: 0n,
    expiredAtMs: null,
    priority: grant.priority,
    isFree: grant.costBasis === '0',
    effectiveAtMs: Date.parse(grant.effectiveAt),
    expiresAtMs: grant.expiresAt === null ? null : Date.parse(grant.expiresAt),
  };
  if (!books.grantOf.has(grant.grantId)) books.grantOf.set(grant.grantId, own);
  insertGrant(books.grants, own);
  // Where something is owed, a grant is the way out; and what was paid is granted in any case.
  if (owed === 0n && !isOfPayment && !fitOneDebit(books.grants))
    tell(books, `${grant.grantId}: one more than a debit could name`);
}
