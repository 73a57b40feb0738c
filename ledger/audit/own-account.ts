import { DEFAULT_PRODUCT } from '../../contracts/event-fields.ts';
import type { OwnGrant, OwnShare } from './burn-own.ts';
import type { Fault, Unit } from './fault.ts';
import type { OwnPaidPeriod, OwnPlanState, PlanOf } from './own-plan.ts';
import type { CrossedData, ReversedData, UsageData } from './stored-event.ts';

/** What a proxy has set aside and has neither given back nor debited; its end is exclusive. */
export interface OwnLease {
  readonly proxy: string;
  /** When the first of its requests may start; null where that is not known. */
  readonly requestsFromMs: number | null;
  left: bigint;
  untilMs: number;
  /** Of the key that it is for; null for all that have no limit. */
  readonly keyId: string | null;
  /** Until when its requests start; null where that is not known, or never. */
  requestsBeforeMs: number | null;
  /** What keys that got a limit later may still take of it. */
  readonly beforeLimit: Map<string, bigint>;
}

/** Which requests a lease is for, whatever it still has; each null where it is not known, or there is no such bound. */
export interface OwnLeaseTerms {
  readonly keyId: string | null;
  readonly from: string | null;
  readonly before: string | null;
  /** All of them have ended by then. */
  readonly until: string;
  readonly epoch: number;
  /** Whether one process alone has had it. */
  readonly isOfOne: boolean;
}

/** The first request that was paid for without a lease while there was one, and how many more. */
interface OwnUnleased extends Pick<UsageData, 'requestId' | 'startedAt'> {
  readonly more: number;
}

export type OwnLeases = Map<string, OwnLease>;

export interface OwnKey {
  isRevoked: boolean;
  /** When it was revoked, or by itself had ended before; null where it goes on. */
  endsAt: string | null;
  /** What it may call; null is everything. */
  readonly models: readonly string[] | null;
  /** Since when a hard limit binds it, its own or its member's; null where none does, or that is not known. */
  limitedSince: string | null;
  /** Whose it is; null is the first owner. */
  readonly member: string | null;
  /** Of its newest secret. */
  sha256: string;
}

/** What an account is beside its money, as far as it says which events can follow. */
export interface OwnLife {
  isOpen: boolean;
  /** Null where that is not known. */
  opening: OwnOpening | null;
  /** Personal or organization; '' where it was never opened. */
  kind: string;
  firstOwner: string;
  /** Their roles by their e-mails, in small letters. */
  readonly members: Map<string, string>;
  isSuspended: boolean;
  /** The newest; null where there was none, or it is not known when. */
  suspension: OwnSuspension | null;
  /** Those that were issued. */
  readonly keys: Map<string, OwnKey>;
}

interface OwnOpening {
  readonly openedAt: string;
  readonly commandId: string | undefined;
}

interface OwnSuspension {
  readonly from: string;
  /** Null while it is suspended. */
  readonly until: string | null;
}

export interface OwnLimitSet {
  readonly keyId: string | null;
  readonly member: string | null;
  /** Null where it is not known. */
  readonly recordedAt: string | null;
}

/** A monthly limit, and at which percents of it is told; one that is not hard only tells. */
export interface OwnLimit {
  readonly amount: bigint;
  readonly isHard: boolean;
  readonly percents: readonly number[];
}

export interface OwnMonth {
  account: bigint;
  readonly keys: Map<string, bigint>;
}

/** Why a request is an exception, by what the auditor has read; amounts in pico-USD. */
export interface OwnException {
  readonly requestId: string;
  /** As it was recorded, or as it came late: by what an approval debits. */
  usage: UsageData;
  leftOut: bigint;
  late: bigint | null;
  /** Null while nobody has ended it. */
  ended: 'approved' | 'dropped' | null;
}

/** What an account was before something came back to it. */
export interface OwnStanding {
  readonly owed: bigint;
  /** In burn order: each grant's end, and how much can come back to it. */
  readonly grants: readonly {
    readonly grantId: string;
    readonly expiresAtMs: number | null;
    readonly place: bigint;
    /** Less what was revoked of it and had been spent: nothing comes back in its place but by a restoration. */
    readonly placeLeft: bigint;
  }[];
}

/** A reversal, before which it stood so. */
export interface PendingReversal {
  readonly revision: number;
  readonly data: ReversedData;
  readonly before: OwnStanding;
}

/** Credit that was taken back, as far as it has not come back. */
export interface OwnRevocation {
  readonly grantId: string;
  readonly cause: string;
  readonly amount: bigint;
  uncovered: bigint;
  taken: bigint;
  /** Back by an operator, and not with the money. */
  given: bigint;
  /** What others have paid at once of what was uncovered, in the order in which they did. */
  readonly paidBy: readonly OwnShare[];
}

/** A payment that was begun, as far as what follows it has to fit. */
export interface OwnAttempt {
  readonly kind: string;
  readonly provider: string;
  readonly credits: bigint;
  readonly price: bigint;
  /** By which payment; null where it was not. */
  paidBy: string | null;
  /** Under which what was paid is granted; '' where it was not. */
  grantId: string;
  /** What of a plan it pays for; null where it is credit alone. */
  readonly period: OwnPaidPeriod | null;
  /** Of the claim of a reload; null of what is not of its monthly cap. */
  readonly month: string | null;
  readonly startedAt: string;
  /** The one that was saved as it was begun, where it is of its provider; '' where none was. Of what is said to be another's decline, that. */
  method: string;
  /** It is. */
  isAnothers: boolean;
  /** Its provider has said no. */
  isDeclined: boolean;
  /** In money; 0 of those that were withdrawn. */
  readonly refunds: Map<string, bigint>;
  /** Refunds and disputes, with how each ended, a refund where it was withdrawn. */
  readonly returned: Map<string, string>;
  /** What disputes are about, in money. */
  readonly disputed: Map<string, bigint>;
}

/** What an event says has to follow it. */
export interface OwnFollowing {
  readonly type: string;
  readonly fields: Readonly<Record<string, string>>;
  readonly commandId: string | undefined;
  readonly name: string;
  /** The end of the period whose credits they are: what is granted from then on is as bought. */
  readonly until?: string;
  /** When that was paid: its credits begin then. */
  readonly madeAt?: string;
  /** What is amiss where it does not; null is nothing. */
  readonly told: string | null;
  /** What has to follow it. */
  readonly then?: OwnFollowing | null;
  /** What programs of before wrote in its place; null is nothing. */
  readonly before?: OwnFollowing | null;
}

export interface OwnReload {
  /** Null is off. */
  readonly consentedAt: string | null;
  readonly threshold: bigint;
  readonly target: bigint;
  readonly cap: bigint;
  /** Failures, one after another. */
  declines: number;
  /** Attempts that were given up, and whose provider had said nothing. */
  unanswered: number;
  isPaused: boolean;
  /** None may be begun before; '' is any time. */
  retryAt: string;
  skipped: string | null;
}

/** What statements have closed, and what they have still to count. */
interface OwnStatements {
  /** The month of the newest; '' before there is one. */
  closedUpTo: string;
  closing: bigint;
  /** The account's. */
  product: string;
  /** By month: its first revision, and what it adds up to by figure. */
  readonly open: Map<string, { readonly from: number; readonly sums: Map<string, bigint> }>;
}

/** An account as the auditor counts it. It keeps nothing for each request, but for those that are exceptions. */
export interface AccountBooks {
  readonly accountId: string;
  /** Whether what began at an instant may rest on what the ledger has lost since: then not all that it names is there. */
  readonly isOfLost: (startedAt: string) => boolean;
  readonly planOf: PlanOf;
  /** Those that nobody has taken yet. */
  faults: Omit<Fault, 'stream'>[];
  /** In burn order. */
  readonly grants: OwnGrant[];
  /** By their ids. */
  readonly grantOf: Map<string, OwnGrant>;
  readonly revocations: Map<string, OwnRevocation>;
  /** By grant: what of revocations has not come back. */
  readonly revoked: Map<string, bigint>;
  readonly restorations: Set<string>;
  readonly adjustments: Set<string>;
  /** What is to be compared with the debits that they name, which may be long before. */
  readonly reversals: PendingReversal[];
  readonly leases: OwnLeases;
  /** Of all leases that there ever were: a proxy's have the same ones for ever. */
  readonly leaseTerms: Map<string, OwnLeaseTerms>;
  /** Until when there are leases at the most; '' before there is one. */
  leasedUntil: string;
  /** By lease: told once that is seen to go on. */
  readonly unleased: Map<string, OwnUnleased>;
  readonly life: OwnLife;
  /** By whose they are: `account`, `member` and an e-mail, or a key. */
  readonly limits: Map<string, OwnLimit>;
  /** Thresholds that were told of, and those that the events that come have to tell of. */
  readonly crossed: Set<string>;
  due: CrossedData[];
  /** Where the event before is one: what it has behind it already may be told now. */
  limitSet: OwnLimitSet | null;
  readonly months: Map<string, OwnMonth>;
  readonly attempts: Map<string, OwnAttempt>;
  /** Of those that are open. */
  readonly openAttempts: Set<string>;
  /** By the payment that has paid them. */
  readonly paid: Map<string, OwnAttempt>;
  /** Refunds and disputes of all payments. */
  readonly returned: Set<string>;
  /** By the month of their claims: the price of reloads that are open, or were paid. */
  readonly reloaded: Map<string, bigint>;
  /** Whether a payment method is saved. */
  method: { readonly provider: string; readonly id: string } | null;
  /** When the last one was removed; empty where none was. */
  methodRemovedAt: string;
  /** Null where nothing has to. */
  following: OwnFollowing | null;
  /** Null where it was never configured. */
  reload: OwnReload | null;
  /** Null where there is none, or none with periods. */
  plan: OwnPlanState | null;
  readonly statements: OwnStatements;
  readonly exceptions: Map<string, OwnException>;
  /** Of the open ones those without any money; what of such is no exception, because there were too many. */
  withoutCost: number;
  unlisted: number;
  /** Requests that were recorded as `recovered`: usage may still come. */
  readonly recovered: Set<string>;
  revision: number;
  granted: bigint;
  /** Expired or revoked, as far as that is written down. */
  removed: bigint;
  /** Of what was debited. */
  reversed: bigint;
  /** With what was approved later. */
  debited: bigint;
  /** What no grant has covered yet. */
  uncovered: bigint;
  /** Pico-USD, exact: what all debits together cost, to the last part of a micro-USD. */
  exact: bigint;
  /** Micro-USD that holds left out of debits. */
  leftOut: bigint;
  carry: bigint;
}

/** Granted, less what is gone and what was debited and not reversed. */
export const balanceOf = ({
  granted,
  removed,
  debited,
  reversed,
}: Pick<AccountBooks, 'granted' | 'removed' | 'debited' | 'reversed'>): bigint =>
  granted - removed - debited + reversed;

export const emptyBooks = (accountId: string, isOfLost: AccountBooks['isOfLost'], planOf: PlanOf): AccountBooks => ({
  accountId,
  isOfLost,
  planOf,
  faults: [],
  grants: [],
  grantOf: new Map(),
  revocations: new Map(),
  revoked: new Map(),
  restorations: new Set(),
  adjustments: new Set(),
  reversals: [],
  leases: new Map(),
  leaseTerms: new Map(),
  leasedUntil: '',
  unleased: new Map(),
  life: {
    isOpen: false,
    opening: null,
    kind: '',
    firstOwner: '',
    members: new Map(),
    isSuspended: false,
    suspension: null,
    keys: new Map(),
  },
  limits: new Map(),
  crossed: new Set(),
  due: [],
  limitSet: null,
  months: new Map(),
  attempts: new Map(),
  openAttempts: new Set(),
  paid: new Map(),
  returned: new Set(),
  reloaded: new Map(),
  method: null,
  methodRemovedAt: '',
  following: null,
  reload: null,
  plan: null,
  statements: { closedUpTo: '', closing: 0n, product: DEFAULT_PRODUCT, open: new Map() },
  exceptions: new Map(),
  withoutCost: 0,
  unlisted: 0,
  recovered: new Set(),
  revision: -1,
  granted: 0n,
  removed: 0n,
  reversed: 0n,
  debited: 0n,
  uncovered: 0n,
  exact: 0n,
  leftOut: 0n,
  carry: 0n,
});

/** Tells of a fault of the event that is looked at. */
export function tell(
  books: AccountBooks,
  what: string,
  found: unknown = null,
  expected: unknown = null,
  unit?: Unit,
): void {
  const values = { found: textOf(found), expected: textOf(expected) };
  books.faults.push({ revision: books.revision, what, ...values, ...(unit === undefined ? {} : { unit }) });
}

/** Tells where something is not what it should be. */
export function compare(books: AccountBooks, what: string, found: unknown, expected: unknown): void {
  if (String(found) !== String(expected)) tell(books, what, found, expected);
}

/** The same of an amount; in micro-USD, where nothing else is said. */
export function compareAmount(
  books: AccountBooks,
  what: string,
  found: string | bigint,
  expected: bigint,
  unit: Unit = 'micro-USD',
): void {
  if (BigInt(found) !== expected) tell(books, what, found, expected, unit);
}

const textOf = (value: unknown): string | null => (value === null ? null : String(value));
