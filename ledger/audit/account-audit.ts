import { auditApproved, auditDebit } from './audit-debit.ts';
import { noteApproved, noteDropped, noteLate, noteLeftOut, noteUnpriced } from './audit-exceptions.ts';
import { auditUnderWay, takeExpired, takeReinstated } from './audit-expiry.ts';
import { type AccountBooks, balanceOf, compare, emptyBooks, tell } from './own-account.ts';
import { takeFromLease, takeLeased } from './own-leases.ts';
import { ownPrice } from './own-price.ts';
import type {
  ApprovedData,
  CardOf,
  DebitData,
  ExpiredData,
  GrantData,
  LateData,
  LeasedData,
  ReinstatedData,
  ReleasedData,
  StoredEvent,
  UsageData,
} from './stored-event.ts';

const PICO_PER_MICRO = 1_000_000n;

/** What moves money, and what is known to move none: another event could take some unseen. */
const KNOWN: ReadonlySet<string> = new Set([
  ...['AccountOpened', 'AccountSuspended', 'AccountReinstated', 'ApiKeyIssued', 'ApiKeyRevoked'],
  ...['PlanChanged', 'SpendLimitSet', 'SpendThresholdCrossed'],
  ...['CreditsGranted', 'CreditsExpired', 'CreditsReinstated'],
  ...['CreditsLeased', 'LeaseReleased', 'LeaseNarrowed', 'UsageRecorded', 'CreditsDebited'],
  ...['LateUsageReported', 'ExceptionApproved', 'ExceptionDropped'],
]);

/**
 * Goes through an account's events in order with its own arithmetic: revisions without a gap, a debit right after the
 * usage that it charges, each figure of each debit, and at the end balance = grants - debits. What is wrong is told once:
 * it goes on from what is stated, as whoever folds the events does.
 */
export class AccountAudit {
  readonly books: AccountBooks;
  readonly #cardOf: CardOf;
  /** The usage that the next event may be the debit of. */
  #usage: UsageData | null = null;
  #position = Number.NEGATIVE_INFINITY;
  #isRight = true;

  constructor(accountId: string, cardOf: CardOf) {
    this.books = emptyBooks(accountId);
    this.#cardOf = cardOf;
  }

  take(event: StoredEvent): void {
    // What is missing of a usage before is told of its own place.
    if (event.type !== 'CreditsDebited') this.#auditUncharged();
    this.#follow(event);
    this.#takeEvent(event);
    if (this.books.faults.length > 0) this.#isRight = false;
  }

  /** One of which nothing is known but where it stands; that is told already. */
  skip(event: Pick<StoredEvent, 'revision' | 'position'>): void {
    this.#usage = null;
    this.#isRight = false;
    this.#follow(event);
  }

  /** When there are no more. */
  end(): void {
    this.#auditUncharged();
    if (this.#isRight && this.books.faults.length === 0) auditEnd(this.books);
  }

  #follow({ revision, position }: Pick<StoredEvent, 'revision' | 'position'>): void {
    const { books } = this;
    const before = books.revision;
    books.revision = revision;
    if (revision !== before + 1) tell(books, `revision ${revision} follows ${before}`);
    if (position <= this.#position) tell(books, `position ${position} follows ${this.#position}`);
    this.#position = position;
  }

  #takeEvent({ type, data, metadata }: StoredEvent): void {
    const { books } = this;
    if (!KNOWN.has(type)) tell(books, `the auditor does not know ${type}`);
    const atMs = metadata === undefined ? null : Date.parse(metadata.recordedAt);
    if (type === 'UsageRecorded') this.#takeUsage(data as UsageData);
    if (type === 'CreditsDebited') this.#takeDebit(data as DebitData);
    if (type === 'LeaseReleased' || type === 'CreditsDebited') takeFromLease(books.leases, data as ReleasedData);
    if (type === 'CreditsGranted') takeGrant(books, data as GrantData);
    if (type === 'CreditsExpired') takeExpired(books, data as ExpiredData, atMs);
    if (type === 'CreditsReinstated') takeReinstated(books, data as ReinstatedData, atMs);
    if (type === 'CreditsLeased') takeLeased(books.leases, data as LeasedData);
    if (type === 'LateUsageReported') this.#takeLate(data as LateData);
    if (type === 'ExceptionApproved') takeApproved(books, data as ApprovedData);
    if (type === 'ExceptionDropped') noteDropped(books, (data as ApprovedData).requestId);
  }

  #takeUsage(usage: UsageData): void {
    this.#usage = usage;
    if (usage.outcome === 'recovered') this.books.recovered.add(usage.requestId);
    auditUnderWay(this.books, usage);
    noteUnpriced(this.books, usage);
  }

  #takeDebit(debit: DebitData): void {
    const usage = this.#usage;
    this.#usage = null;
    if (usage === null || usage.requestId !== debit.requestId) {
      tell(this.books, `${debit.requestId}: its debit does not stand right after its usage`);
      return;
    }
    const card = this.#cardOf(usage);
    if (typeof card === 'string') tell(this.books, `${usage.requestId}: ${card}`);
    else auditDebit(this.books, usage, debit, ownPrice(usage, card));
    noteLeftOut(this.books, debit, usage);
  }

  #takeLate({ requestId, usage, cost: stated }: LateData): void {
    const { books } = this;
    if (!books.recovered.has(requestId)) tell(books, `${requestId}: late, and not recorded as recovered before`);
    const card = this.#cardOf(usage);
    const cost = typeof card === 'string' || !usage.billable ? 0n : ownPrice(usage, card).cost;
    if (typeof card === 'string') tell(books, `${requestId}: ${card}`);
    else compare(books, `${requestId}: late cost`, stated, cost);
    noteLate(books, usage, cost);
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

function takeApproved(books: AccountBooks, approved: ApprovedData): void {
  const exception = noteApproved(books, approved.requestId);
  if (exception !== null) auditApproved(books, exception, approved);
}

/** It fills what was left uncovered first; the rest can be spent. */
function takeGrant(books: AccountBooks, grant: GrantData): void {
  const amount = BigInt(grant.amount);
  const filled = amount < books.uncovered ? amount : books.uncovered;
  books.uncovered -= filled;
  books.granted += amount;
  books.grants.push({
    grantId: grant.grantId,
    amount,
    remaining: amount - filled,
    expired: 0n,
    expiredAtMs: null,
    priority: grant.priority,
    isFree: grant.costBasis === '0',
    effectiveAtMs: Date.parse(grant.effectiveAt),
    expiresAtMs: grant.expiresAt === null ? null : Date.parse(grant.expiresAt),
  });
}

/** Whatever each event says, all of them together have to come to the same. */
function auditEnd(books: AccountBooks): void {
  const { debited, exact, carry, grants, leftOut, uncovered } = books;
  const left = grants.reduce((sum, grant) => sum + grant.remaining, 0n);
  compare(books, 'what grants hold', left, balanceOf(books) + uncovered);
  compare(books, 'what all debits cost', exact, (debited + leftOut) * PICO_PER_MICRO + carry);
}
