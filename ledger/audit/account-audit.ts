import { auditApproved, auditDebit, compareLines } from './audit-debit.ts';
import { noteApproved, noteDropped, noteLate, noteLeftOut, noteUnpriced } from './audit-exceptions.ts';
import { auditUnderWay, takeExpired, takeReinstated } from './audit-expiry.ts';
import { auditLife } from './audit-life.ts';
import { auditCrossings, noteCrossings, takeCrossed } from './audit-thresholds.ts';
import { auditViews, type SeenFigures } from './audit-views.ts';
import { burnsBefore, fitOneDebit } from './burn-own.ts';
import { type AccountBooks, balanceOf, compare, compareAmount, emptyBooks, tell } from './own-account.ts';
import { takeFromLease, takeLeased, takeNarrowed, takeReleased } from './own-leases.ts';
import { ownPrice } from './own-price.ts';
import type {
  ApprovedData,
  CardOf,
  CrossedData,
  DebitData,
  DroppedData,
  ExpiredData,
  GrantData,
  LateData,
  LeasedData,
  NarrowedData,
  ReinstatedData,
  ReleasedData,
  StoredEvent,
  UsageData,
} from './stored-event.ts';

const PICO_PER_MICRO = 1_000_000n;

/**
 * Goes through an account's events in order with its own arithmetic: revisions without a gap, a debit right after the
 * usage that it charges, each figure of each debit, and at the end balance = grants - debits. What is wrong is told once:
 * it goes on from what is stated, as whoever folds the events does.
 */
export class AccountAudit {
  readonly books: AccountBooks;
  readonly #cardOf: CardOf;
  /** Compared when the books have come to its revision. */
  #seen: SeenFigures | null;
  /** The usage that the next event may be the debit of. */
  #usage: UsageData | null = null;
  #position = Number.NEGATIVE_INFINITY;
  #isRight = true;

  constructor(accountId: string, cardOf: CardOf, seen: SeenFigures | null = null) {
    this.#seen = seen;
    this.books = emptyBooks(accountId);
    this.#cardOf = cardOf;
  }

  take(event: StoredEvent): void {
    // What is missing of a usage before is told of its own place.
    if (event.type !== 'CreditsDebited') this.#auditUncharged();
    if (event.type !== 'SpendThresholdCrossed') auditCrossings(this.books);
    this.#follow(event);
    this.#takeEvent(event);
    if (this.#seen?.revision === event.revision) {
      auditViews(this.books, this.#seen);
      this.#seen = null;
    }
    if (this.books.faults.length > 0) this.#isRight = false;
  }

  /** One of which nothing is known but where it stands; that is told already. */
  skip(event: Pick<StoredEvent, 'revision' | 'position'>): void {
    this.#usage = null;
    this.books.due = [];
    this.#isRight = false;
    this.#follow(event);
  }

  /** When there are no more. */
  end(): void {
    this.#auditUncharged();
    auditCrossings(this.books);
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

  #takeEvent(event: StoredEvent): void {
    const { type, data } = event;
    const { books } = this;
    auditLife(books, event);
    if (type === 'UsageRecorded') this.#takeUsage(data as UsageData);
    else if (type === 'CreditsDebited') this.#takeDebit(data as DebitData);
    else if (type === 'CreditsGranted') takeGrant(books, data as GrantData);
    else if (type === 'CreditsLeased') takeLeased(books, data as LeasedData, recordedMs(event));
    else if (type === 'LeaseReleased') takeReleased(books, data as ReleasedData);
    else if (type === 'LeaseNarrowed') takeNarrowed(books, data as NarrowedData);
    else if (type === 'SpendThresholdCrossed') takeCrossed(books, data as CrossedData);
    else if (type === 'CreditsExpired') takeExpired(books, data as ExpiredData, recordedMs(event));
    else if (type === 'CreditsReinstated') takeReinstated(books, data as ReinstatedData, recordedMs(event));
    else if (type === 'LateUsageReported') this.#takeLate(data as LateData);
    else if (type === 'ExceptionApproved') takeApproved(books, data as ApprovedData);
    else if (type === 'ExceptionDropped') noteDropped(books, data as DroppedData);
  }

  #takeUsage(usage: UsageData): void {
    this.#usage = usage;
    if (usage.outcome === 'recovered') this.books.recovered.add(usage.requestId);
    auditUnderWay(this.books, usage);
    noteUnpriced(this.books, usage);
  }

  #takeDebit(debit: DebitData): void {
    takeFromLease(this.books, debit);
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
    noteCrossings(this.books, debit);
  }

  #takeLate({ requestId, usage, cost: stated, lines, uses }: LateData): void {
    const { books } = this;
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

/** Null where it is not known. */
const recordedMs = ({ metadata }: StoredEvent): number | null =>
  metadata === undefined ? null : Date.parse(metadata.recordedAt);

function takeApproved(books: AccountBooks, approved: ApprovedData): void {
  const exception = noteApproved(books, approved);
  if (exception !== null) auditApproved(books, exception, approved);
  noteCrossings(books, approved);
}

/** It fills what was left uncovered first; the rest can be spent. */
function takeGrant(books: AccountBooks, grant: GrantData): void {
  const amount = BigInt(grant.amount);
  if (amount === 0n) tell(books, `${grant.grantId}: nothing is granted`);
  if (grant.expiresAt !== null && grant.expiresAt <= grant.effectiveAt)
    tell(books, `${grant.grantId}: ends before it begins`, grant.expiresAt, `after ${grant.effectiveAt}`);
  if (books.grants.some(({ grantId }) => grantId === grant.grantId)) tell(books, `${grant.grantId}: granted twice`);
  const owed = books.uncovered;
  const filled = amount < owed ? amount : owed;
  books.uncovered -= filled;
  books.granted += amount;
  books.grants.push({
    grantId: grant.grantId,
    idBytes: Buffer.byteLength(JSON.stringify(grant.grantId)),
    amount,
    remaining: amount - filled,
    expired: 0n,
    expiredAtMs: null,
    priority: grant.priority,
    isFree: grant.costBasis === '0',
    effectiveAtMs: Date.parse(grant.effectiveAt),
    expiresAtMs: grant.expiresAt === null ? null : Date.parse(grant.expiresAt),
  });
  // Where something is owed, a grant is the way out.
  if (owed === 0n && !fitOneDebit(books.grants)) tell(books, `${grant.grantId}: one more than a debit could name`);
  books.grants.sort(burnsBefore);
}

/** Whatever each event says, all of them together have to come to the same. */
function auditEnd(books: AccountBooks): void {
  const { debited, exact, carry, grants, leftOut, uncovered } = books;
  const left = grants.reduce((sum, grant) => sum + grant.remaining, 0n);
  compareAmount(books, 'what grants hold', left, balanceOf(books) + uncovered);
  compareAmount(books, 'what all debits cost', exact, (debited + leftOut) * PICO_PER_MICRO + carry, 'pico-USD');
}
