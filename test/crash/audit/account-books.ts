import type { ModelPrices } from '../crash-catalog.ts';
import { auditApproved, auditDebit } from './audit-debit.ts';
import { noteApproved, noteDropped, noteLate, noteLeftOut, noteUnpriced } from './audit-exceptions.ts';
import { auditUnderWay, takeExpired, takeReinstated } from './audit-expiry.ts';
import { type AccountBooks, balanceOf, emptyBooks } from './own-account.ts';
import { takeFromLease, takeLeased } from './own-leases.ts';
import { ownPrice } from './own-price.ts';
import type {
  ApprovedData,
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
 * usage that it charges, each figure of each debit, and at the end balance = grants - debits.
 */
export function accountBooks(
  accountId: string,
  events: readonly StoredEvent[],
  prices: ReadonlyMap<string, ModelPrices>,
): AccountBooks {
  const books = emptyBooks(accountId);
  const ids = new Set<string>();
  let before: StoredEvent | null = null;
  for (const event of events) {
    if (event.revision !== books.revision + 1)
      books.faults.push(`revision ${event.revision} follows ${books.revision}`);
    if (before !== null && event.position <= before.position)
      books.faults.push(`position ${event.position} follows ${before.position}`);
    if (ids.has(event.id)) books.faults.push(`event id ${event.id} stands twice`);
    ids.add(event.id);
    takeEvent(books, event, before, prices);
    books.revision = event.revision;
    before = event;
  }
  auditUncharged(books, before, prices);
  auditEnd(books);
  return books;
}

function takeEvent(
  books: AccountBooks,
  { type, data, metadata }: StoredEvent,
  before: StoredEvent | null,
  prices: ReadonlyMap<string, ModelPrices>,
): void {
  if (!KNOWN.has(type)) books.faults.push(`the auditor does not know ${type}`);
  if (type !== 'CreditsDebited') auditUncharged(books, before, prices);
  const atMs = metadata === undefined ? null : Date.parse(metadata.recordedAt);
  if (type === 'CreditsGranted') takeGrant(books, data as GrantData);
  if (type === 'CreditsExpired') takeExpired(books, data as ExpiredData, atMs);
  if (type === 'CreditsReinstated') takeReinstated(books, data as ReinstatedData, atMs);
  if (type === 'CreditsLeased') takeLeased(books.leases, data as LeasedData);
  if (type === 'LeaseReleased' || type === 'CreditsDebited') takeFromLease(books.leases, data as ReleasedData);
  if (type === 'UsageRecorded') takeUsage(books, data as UsageData);
  if (type === 'CreditsDebited') takeDebit(books, data as DebitData, before, prices);
  if (type === 'LateUsageReported') takeLate(books, data as LateData, prices);
  if (type === 'ExceptionApproved') takeApproved(books, data as ApprovedData);
  if (type === 'ExceptionDropped') noteDropped(books, (data as ApprovedData).requestId);
}

function takeApproved(books: AccountBooks, approved: ApprovedData): void {
  const cost = noteApproved(books, approved.requestId);
  const ofRequest = ({ requestId }: UsageData): boolean => requestId === approved.requestId;
  const usage = books.late.find(ofRequest) ?? books.usages.find(ofRequest);
  if (cost !== null && usage !== undefined) auditApproved(books, usage, approved, cost);
}

function takeUsage(books: AccountBooks, usage: UsageData): void {
  books.usages.push(usage);
  auditUnderWay(books, usage);
  noteUnpriced(books, usage);
}

function takeDebit(
  books: AccountBooks,
  debit: DebitData,
  before: StoredEvent | null,
  prices: ReadonlyMap<string, ModelPrices>,
): void {
  const usage = before?.type === 'UsageRecorded' ? (before.data as UsageData) : null;
  if (usage === null || usage.requestId !== debit.requestId)
    books.faults.push(`${debit.requestId}: its debit does not stand right after its usage`);
  else auditDebit(books, usage, debit, prices);
  books.debits.push(debit);
  noteLeftOut(books, debit);
}

function takeLate(books: AccountBooks, late: LateData, prices: ReadonlyMap<string, ModelPrices>): void {
  const { requestId, usage } = late;
  const recorded = books.usages.find((one) => one.requestId === requestId);
  if (recorded?.outcome !== 'recovered') books.faults.push(`${requestId}: late, and not recorded as recovered before`);
  const card = prices.get(usage.model);
  const cost = card === undefined || !usage.billable ? 0n : ownPrice(usage, card).cost;
  if (late.cost !== String(cost)) books.faults.push(`${requestId}: late for ${late.cost}, should be ${cost}`);
  books.late.push(usage);
  noteLate(books, usage, cost);
}

/** A usage that no debit follows must be one that is not charged, or costs nothing. */
function auditUncharged(
  books: AccountBooks,
  before: StoredEvent | null,
  prices: ReadonlyMap<string, ModelPrices>,
): void {
  if (before?.type !== 'UsageRecorded') return;
  const usage = before.data as UsageData;
  const card = prices.get(usage.model);
  if (card === undefined) books.faults.push(`${usage.requestId}: model ${usage.model} is in no catalog`);
  else if (usage.billable && ownPrice(usage, card).cost > 0n)
    books.faults.push(`${usage.requestId}: charged for, and without a debit`);
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

function auditEnd(books: AccountBooks): void {
  const { faults, debited, exact, carry, debits, usages, grants, leftOut, uncovered } = books;
  const left = grants.reduce((sum, grant) => sum + grant.remaining, 0n);
  if (left !== balanceOf(books) + uncovered)
    faults.push(`grants hold ${left}, granted less removed and debited is ${balanceOf(books)}, uncovered ${uncovered}`);
  if (exact !== (debited + leftOut) * PICO_PER_MICRO + carry)
    faults.push(`exact cost ${exact} pico-USD, debited ${debited}, left out ${leftOut} micro-USD and carried ${carry}`);
  for (const [name, all] of [
    ['usage', usages],
    ['debit', debits],
  ] as const) {
    const counts = Map.groupBy(all as readonly { requestId: string }[], ({ requestId }) => requestId);
    for (const [requestId, same] of counts)
      if (same.length > 1) faults.push(`${requestId}: ${same.length} ${name} events`);
  }
}
