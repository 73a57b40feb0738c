import type { EventData } from '../../contracts/events.ts';
import type { LedgerIdentity } from '../../contracts/ledger-identity.ts';
import { monthOfInstant } from '../account/month.ts';
import type { GrantSource } from '../postings/chart-of-accounts.ts';
import type { AccountBooks, TimeBooks } from './account-books.ts';
import type { ModelBook } from './model-books.ts';
import { GRANT_SOURCES, type Movements, netCredits, netDeferred, spentBy } from './movements.ts';
import type { Notes } from './notes.ts';
import type { PaymentsBook } from './payments-book.ts';
import type { SealCoverage } from './seal-coverage.ts';

/** The finished books of a month. Amounts are micro-USD unless they say otherwise. */
export interface Books {
  readonly month: string;
  /** Whose accounts they are about; null is all. */
  readonly product: string | null;
  readonly identity: LedgerIdentity | null;
  /** Of the whole log, and of the month's that books are made of. */
  readonly events: number;
  readonly eventsOfMonth: number;
  /** Of the month's, how many are sealed. */
  readonly sealedOfMonth: number;
  readonly seals: SealCoverage;
  /** What customers had at its beginning and its end; what debits took beyond all grants is negative in it. */
  readonly opening: bigint;
  readonly closing: bigint;
  /** Credits that were paid for and can still be spent: not earned, at its beginning and its end. */
  readonly deferredOpening: bigint;
  readonly deferredClosing: bigint;
  readonly moved: Movements;
  readonly liability: readonly Liability[];
  /** What debits took and no grant covers, over all accounts. */
  readonly owed: bigint;
  readonly models: readonly ModelBook[];
  readonly days: readonly bigint[];
  readonly accounts: readonly AccountOfMonth[];
  /** Their sums by product, by name. */
  readonly products: readonly ProductOfMonth[];
  readonly notes: Notes;
  readonly payments: PaymentsBook;
  /** Comparisons with providers' reports that were recorded in the month, as they came. */
  readonly reconciled: readonly Reconciliation[];
  /** Exceptions that are open at the month's end: those about money, with their amount in pico-USD, and those without one. */
  readonly open: { readonly count: number; readonly amountPicoUsd: bigint; readonly withoutAmount: number };
  readonly checks: readonly Check[];
}

/** Why books of a month can change yet, in a sentence; null where they cannot. @param madeAt when, RFC 3339 */
export const unfinished = (month: string, madeAt: string): string | null =>
  monthOfInstant(madeAt) > month ? null : 'The month is not over: these are its books until now.';

export interface Reconciliation
  extends Pick<EventData<'ProviderReconciled'>, 'provider' | 'by' | 'from' | 'to' | 'counts'> {
  readonly at: string;
  /** Tokens of what was compared. */
  readonly ours: bigint;
  readonly theirs: bigint;
}

/** What is outstanding of one source at one age. */
export interface Liability {
  readonly source: GrantSource;
  readonly age: Age;
  grants: number;
  remaining: bigint;
  /** Of that, over by its grant's end, and not written off yet. */
  ended: bigint;
  deferred: bigint;
}

export const AGES = [
  'not begun',
  '0 to 30 days',
  '31 to 90 days',
  '91 to 180 days',
  '181 to 365 days',
  'over a year',
] as const;
type Age = (typeof AGES)[number];

export interface AccountOfMonth {
  readonly id: string;
  readonly email: string;
  readonly product: string;
  readonly granted: bigint;
  readonly spent: bigint;
  readonly expired: bigint;
  readonly balance: bigint;
}

/** What nobody may take for another product's. */
export interface ProductOfMonth extends Omit<AccountOfMonth, 'id' | 'email'> {
  readonly accounts: number;
}

/** Two ways to one total. */
export interface Check {
  readonly what: string;
  readonly one: bigint;
  readonly other: bigint;
}

export const agree = ({ checks }: Pick<Books, 'checks'>): boolean => checks.every(({ one, other }) => one === other);

type BookParts = Pick<
  Books,
  'month' | 'product' | 'identity' | 'events' | 'eventsOfMonth' | 'moved' | 'reconciled' | 'sealedOfMonth' | 'seals'
> &
  Omit<NonNullable<TimeBooks['month']>, 'models'> & {
    /** Its end, or when they are made, where it is not over. */
    readonly endMs: number;
    readonly models: { readonly all: readonly ModelBook[] };
    readonly before: Movements;
    readonly accounts: readonly AccountBooks[];
  };

export function booksOf(parts: BookParts): Books {
  const { month, before, moved, accounts, models, days, notes, payments, disagreeing } = parts;
  const liability = liabilityOf(accounts, parts.endMs);
  const owed = sumOf(accounts, ({ owed }) => owed);
  const opening = netCredits(before);
  const deferredOpening = netDeferred(before);
  const sums = {
    opening,
    closing: opening + netCredits(moved),
    deferredOpening,
    deferredClosing: deferredOpening + netDeferred(moved),
  };
  const spent = spentBy(moved);
  return {
    ...{
      month,
      product: parts.product,
      identity: parts.identity,
      events: parts.events,
      eventsOfMonth: parts.eventsOfMonth,
      reconciled: parts.reconciled,
    },
    ...{ sealedOfMonth: parts.sealedOfMonth, seals: parts.seals },
    ...{ ...sums, moved, liability, owed, models: models.all, days, notes, payments },
    accounts: accounts.map(({ id, email, product, granted, spent, expired, balance }) => ({
      ...{ id, email, product, granted, spent, expired, balance },
    })),
    products: productsOf(accounts),
    open: openOf(accounts),
    checks: [
      {
        what: 'closing balance: by the movements, and by what is left of each grant less what is owed',
        one: sums.closing,
        other: sumOf(liability, ({ remaining }) => remaining) - owed,
      },
      {
        what: 'closing balance: by the movements, and by the accounts one by one',
        one: sums.closing,
        other: sumOf(accounts, ({ balance }) => balance),
      },
      {
        what: 'paid for and not earned: by the movements, and by what is left of each grant',
        one: sums.deferredClosing,
        other: sumOf(liability, (line) => line.deferred),
      },
      { what: 'spent: by the debits, and by model', one: spent, other: sumOf(models.all, (model) => model.spent) },
      {
        what: 'spent: by the debits, and by what was paid for, given and owed',
        one: spent,
        other: sumOf(models.all, ({ fromPaid, fromGiven, owed }) => fromPaid + fromGiven + owed),
      },
      { what: 'spent: by the debits, and by day', one: spent, other: sumOf(days, (day) => day) },
      {
        what: 'earned by usage: in all, and by model',
        one: moved.fromPaid + moved.owed,
        other: sumOf(models.all, ({ earned }) => earned),
      },
      {
        what: 'debits whose balance is not what the events before them add up to',
        one: 0n,
        other: BigInt(disagreeing),
      },
    ],
  };
}

export const sumOf = <T>(all: readonly T[], amount: (one: T) => bigint): bigint =>
  all.reduce((sum, one) => sum + amount(one), 0n);

function productsOf(accounts: readonly AccountBooks[]): ProductOfMonth[] {
  const byName = Map.groupBy(accounts, ({ product }) => product);
  const sums = [...byName].map(([product, of]) => ({
    ...{
      product,
      accounts: of.length,
      granted: sumOf(of, ({ granted }) => granted),
      spent: sumOf(of, ({ spent }) => spent),
    },
    ...{ expired: sumOf(of, ({ expired }) => expired), balance: sumOf(of, ({ balance }) => balance) },
  }));
  return sums.sort((one, other) => (one.product < other.product ? -1 : 1));
}

/** The first instant after it, as `Date` has it. */
export function endOfMonth(month: string): number {
  const [year = 0, number = 0] = month.split('-').map(Number);
  return Date.UTC(year, number, 1);
}

const DAY_MS = 86_400_000;
/** The last day that each age still has. */
const LAST_DAYS = [30, 90, 180, 365] as const;

function ageOf(effectiveAtMs: number, endMs: number): Age {
  if (effectiveAtMs >= endMs) return 'not begun';
  const days = Math.floor((endMs - effectiveAtMs) / DAY_MS);
  const index = LAST_DAYS.findIndex((last) => days <= last);
  return AGES[index === -1 ? AGES.length - 1 : index + 1] ?? 'over a year';
}

function liabilityOf(accounts: readonly AccountBooks[], endMs: number): Liability[] {
  const lines = GRANT_SOURCES.flatMap((source) =>
    AGES.map((age): Liability => ({ source, age, grants: 0, remaining: 0n, ended: 0n, deferred: 0n })),
  );
  const lineOf = new Map(lines.map((line) => [`${line.source} ${line.age}`, line]));
  for (const { grants } of accounts)
    for (const grant of grants.values()) {
      const line = lineOf.get(`${grant.source} ${ageOf(grant.effectiveAtMs, endMs)}`);
      const remaining = grant.paid + grant.free;
      // By times that go back over the month's end a grant may hold nothing, and more of what was paid for than of what was given.
      if (line === undefined || (grant.paid === 0n && grant.free === 0n)) continue;
      line.grants += 1;
      line.remaining += remaining;
      line.deferred += grant.paid;
      if (grant.expiresAtMs !== null && grant.expiresAtMs <= endMs) line.ended += remaining;
    }
  return lines.filter(({ grants }) => grants > 0);
}

function openOf(accounts: readonly AccountBooks[]): Books['open'] {
  const costs = accounts.flatMap(({ openExceptions }) => openExceptions?.costs ?? []);
  const withoutAmount = accounts.reduce((sum, { openExceptions }) => sum + (openExceptions?.withoutCost ?? 0), 0);
  return { count: costs.length, amountPicoUsd: sumOf(costs, (cost) => cost), withoutAmount };
}
