import type { ModelPrices } from '../crash-catalog.ts';
import { auditDebit } from './audit-debit.ts';
import { ownPrice } from './own-price.ts';
import type { DebitData, GrantData, StoredEvent, UsageData } from './stored-event.ts';

export interface OwnGrant {
  readonly grantId: string;
  readonly amount: bigint;
  remaining: bigint;
  readonly priority: number;
  readonly isFree: boolean;
  readonly effectiveAtMs: number;
  readonly expiresAtMs: number | null;
}

export interface OwnMonth {
  account: bigint;
  readonly keys: Map<string, bigint>;
}

/** An account as the auditor counts it, beside what it found wrong. */
export interface AccountBooks {
  readonly accountId: string;
  readonly faults: string[];
  readonly grants: OwnGrant[];
  readonly months: Map<string, OwnMonth>;
  readonly usages: UsageData[];
  readonly debits: DebitData[];
  revision: number;
  granted: bigint;
  debited: bigint;
  /** Pico-USD, exact: what all debits together should be, to the last part of a micro-USD. */
  exact: bigint;
  carry: bigint;
}

const PICO_PER_MICRO = 1_000_000n;

/**
 * Goes through an account's events in order with its own arithmetic: revisions without a gap, a debit right after the
 * usage that it charges, each figure of each debit, and at the end balance = grants - debits.
 */
export function accountBooks(
  accountId: string,
  events: readonly StoredEvent[],
  prices: ReadonlyMap<string, ModelPrices>,
): AccountBooks {
  const books: AccountBooks = {
    accountId,
    faults: [],
    grants: [],
    months: new Map(),
    usages: [],
    debits: [],
    revision: -1,
    granted: 0n,
    debited: 0n,
    exact: 0n,
    carry: 0n,
  };
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
  event: StoredEvent,
  before: StoredEvent | null,
  prices: ReadonlyMap<string, ModelPrices>,
): void {
  if (event.type !== 'CreditsDebited') auditUncharged(books, before, prices);
  if (event.type === 'CreditsGranted') takeGrant(books, event.data as GrantData);
  if (event.type === 'UsageRecorded') books.usages.push(event.data as UsageData);
  if (event.type !== 'CreditsDebited') return;
  const debit = event.data as DebitData;
  const usage = before?.type === 'UsageRecorded' ? (before.data as UsageData) : null;
  if (usage === null || usage.requestId !== debit.requestId)
    books.faults.push(`${debit.requestId}: its debit does not stand right after its usage`);
  else auditDebit(books, usage, debit, prices);
  books.debits.push(debit);
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
  else if (usage.billable && ownPrice(usage.tokens, usage.lane, card).cost > 0n)
    books.faults.push(`${usage.requestId}: charged for, and without a debit`);
}

function takeGrant(books: AccountBooks, grant: GrantData): void {
  const amount = BigInt(grant.amount);
  books.granted += amount;
  books.grants.push({
    grantId: grant.grantId,
    amount,
    remaining: amount,
    priority: grant.priority,
    isFree: grant.costBasis === '0',
    effectiveAtMs: Date.parse(grant.effectiveAt),
    expiresAtMs: grant.expiresAt === null ? null : Date.parse(grant.expiresAt),
  });
}

function auditEnd({ faults, granted, debited, exact, carry, debits, usages, grants }: AccountBooks): void {
  const left = grants.reduce((sum, grant) => sum + grant.remaining, 0n);
  if (left !== granted - debited) faults.push(`grants hold ${left}, granted less debited is ${granted - debited}`);
  if (exact !== debited * PICO_PER_MICRO + carry)
    faults.push(`exact cost ${exact} pico-USD, debited ${debited} micro-USD and carried ${carry}`);
  for (const [name, all] of [
    ['usage', usages],
    ['debit', debits],
  ] as const) {
    const counts = Map.groupBy(all as readonly { requestId: string }[], ({ requestId }) => requestId);
    for (const [requestId, same] of counts)
      if (same.length > 1) faults.push(`${requestId}: ${same.length} ${name} events`);
  }
}
