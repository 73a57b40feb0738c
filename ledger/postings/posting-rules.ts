import type { DomainEvent, EventData, EventType } from '../../contracts/events.ts';
import { disputeLostAgain } from '../../contracts/lost-again.ts';
import { microUsd } from '../../contracts/money.ts';
import {
  BREAKAGE,
  CORRECTIONS,
  clearing,
  DISPUTES,
  givenAway,
  PREMIUM,
  REFUNDS,
  revoked,
  USAGE_FREE,
  USAGE_OWED,
  USAGE_PAID,
} from './chart-of-accounts.ts';
import { type CustomerBooks, type Parts, UnbookableError } from './customer-books.ts';

/** One line of an entry: a debit is positive, a credit negative. */
export interface Posting {
  readonly account: string;
  readonly microUsd: bigint;
}

interface MovesMoney<T extends EventType> {
  readonly post: (books: CustomerBooks, data: EventData<T>) => Posting[];
}
/** Nothing is booked, and why not. */
interface MovesNone {
  readonly none: string;
}
type PostingRule<T extends EventType> = MovesMoney<T> | MovesNone;

const HELD = 'what is held or leased is still the customer’s: the debit books what became of it';
const WHO = 'it says who may spend or how much, and moves nothing';
const UNPAID = 'no money has moved: what is paid is granted in the same append';
const SEALS = 'what proves that events are as they were written moves no money';
const LEDGER = 'it is about the ledger itself, not about what is in it';

/** What each event books. Whoever adds a type of event says here what it moves, or why it moves nothing. */
export const POSTING_RULES = {
  AccountOpened: { none: WHO },
  ApiKeyIssued: { none: WHO },
  ApiKeyRotated: { none: WHO },
  ApiKeyRevoked: { none: WHO },
  MemberAdded: { none: WHO },
  MemberRoleChanged: { none: WHO },
  MemberRemoved: { none: WHO },
  PlanChanged: { none: 'the credits of a plan are a grant of their own' },
  RenewalStarted: { none: UNPAID },
  PlanEnded: { none: 'what is paid for ends as its period does, by itself' },
  CreditsGranted: { post: grant },
  CreditsExpired: { post: expire },
  CreditsReinstated: { post: reinstate },
  GrantRevoked: { post: revoke },
  GrantRestored: { post: restore },
  DebitReversed: { post: reverse },
  BalanceAdjusted: { post: adjust },
  UsageRecorded: { none: 'the debit that follows it in its append books what it costs' },
  CreditsDebited: { post: debit },
  LateUsageReported: { none: 'a request is billed once: nothing is debited until an operator approves it' },
  ExceptionApproved: { post: debit },
  ExceptionDropped: { none: 'what is dropped was never debited' },
  CreditsLeased: { none: HELD },
  LeaseReleased: { none: HELD },
  LeaseNarrowed: { none: HELD },
  PaymentMethodSaved: { none: WHO },
  PaymentMethodRemoved: { none: WHO },
  PurchaseStarted: { none: UNPAID },
  PaymentSucceeded: { none: 'the grant that stands with it in its append books what was paid' },
  PaymentFailed: { none: UNPAID },
  PaymentActionRequired: { none: UNPAID },
  PaymentAbandoned: { none: UNPAID },
  PaymentRefunded: { post: refund },
  RefundWithdrawn: { post: withdraw },
  PaymentDisputed: { post: dispute },
  DisputeClosed: { post: closeDispute },
  AutoReloadConfigured: { none: WHO },
  AutoReloadStarted: { none: UNPAID },
  AutoReloadSkipped: { none: UNPAID },
  AutoReloadPaused: { none: UNPAID },
  StatementClosed: { none: 'it says what the events before it have booked' },
  SpendLimitSet: { none: WHO },
  SpendThresholdCrossed: { none: WHO },
  AccountSuspended: { none: 'also in a dispute: credit is the customer’s until an event takes it' },
  AccountReinstated: { none: WHO },
  CatalogPublished: { none: 'prices say what later requests cost' },
  RelayClaimed: { none: LEDGER },
  RelayCheckpointed: { none: LEDGER },
  RelayReleased: { none: LEDGER },
  ProxyClaimed: { none: LEDGER },
  LedgerIdentified: { none: LEDGER },
  LossAccepted: { none: 'what was lost is in no event; what is made good for it is granted anew' },
  LedgerMoved: { none: LEDGER },
  FormsAdopted: { none: LEDGER },
  SealKeyIntroduced: { none: SEALS },
  LedgerSealed: { none: SEALS },
  ProviderReconciled: { none: 'what a provider charges us is in its own books; an account’s debits stay as they are' },
} as const satisfies { readonly [T in EventType]: PostingRule<T> };

type Rules = typeof POSTING_RULES;
type BookedType = { [T in EventType]: Rules[T] extends { readonly none: string } ? never : T }[EventType];
/** An event of a type that moves money. */
export type BookedEvent = Extract<DomainEvent, { type: BookedType }>;

export const isBooked = (event: DomainEvent): event is BookedEvent => 'post' in POSTING_RULES[event.type];

/**
 * What it books, which is nothing where it moves no money; its books have taken so every event of its customer before it that does, and
 * every PaymentSucceeded.
 *
 * @throws UnbookableError
 */
export function postingsOf(books: CustomerBooks, event: DomainEvent): Posting[] {
  books.follow(event);
  if (!isBooked(event)) return [];
  const { type, data } = event;
  // The table says for each type which data its rule takes.
  return (POSTING_RULES[type].post as (books: CustomerBooks, data: unknown) => Posting[])(books, data);
}

function grant(books: CustomerBooks, data: EventData<'CreditsGranted'>): Posting[] {
  const { amount, costBasis, grantId, source } = data;
  const { paid, free } = books.add(data);
  return booked(
    { account: clearing(source), microUsd: costBasis },
    { account: PREMIUM, microUsd: paid - costBasis },
    { account: givenAway(source), microUsd: free },
    ...brought(books, { grantId, amount }, { paid, free }),
  );
}

function expire(books: CustomerBooks, { grantId, amount }: EventData<'CreditsExpired'>): Posting[] {
  const { paid, free } = books.take(grantId, amount);
  return booked(
    { account: books.paidCredits, microUsd: paid },
    { account: books.freeCredits, microUsd: free },
    { account: BREAKAGE, microUsd: -paid },
    { account: givenAway(books.sourceOf(grantId)), microUsd: -free },
  );
}

/** The expiry turned back. */
function reinstate(books: CustomerBooks, { grantId, amount }: EventData<'CreditsReinstated'>): Posting[] {
  const parts = books.putBack(grantId, amount);
  return booked(
    { account: BREAKAGE, microUsd: parts.paid },
    { account: givenAway(books.sourceOf(grantId)), microUsd: parts.free },
    ...brought(books, { grantId, amount }, parts),
  );
}

/** What a grant brings: first to what is owed, the rest as credit. */
function brought(
  books: CustomerBooks,
  { grantId, amount }: Pick<EventData<'CreditsReinstated'>, 'grantId' | 'amount'>,
  { paid, free }: Parts,
): Posting[] {
  const { filled, parts } = books.fillOwed(grantId, amount);
  return [
    { account: books.receivable, microUsd: -filled },
    { account: books.paidCredits, microUsd: parts.paid - paid },
    { account: books.freeCredits, microUsd: parts.free - free },
  ];
}

function debit(
  books: CustomerBooks,
  { grants, uncovered, amount }: EventData<'CreditsDebited' | 'ExceptionApproved'>,
): Posting[] {
  const taken = takenOf(books, grants);
  books.owe(uncovered);
  if (taken.paid + taken.free + uncovered !== amount)
    throw new UnbookableError(
      `of ${amount} micro-USD debited ${taken.paid + taken.free + uncovered} are accounted for`,
    );
  return booked(
    { account: books.paidCredits, microUsd: taken.paid },
    { account: books.freeCredits, microUsd: taken.free },
    { account: books.receivable, microUsd: uncovered },
    { account: USAGE_PAID, microUsd: -taken.paid },
    { account: USAGE_FREE, microUsd: -taken.free },
    { account: USAGE_OWED, microUsd: -uncovered },
  );
}

/** What was given away is taken off again; what was paid goes to whom the cause says. */
function revoke(books: CustomerBooks, data: EventData<'GrantRevoked'>): Posting[] {
  const { grantId, taken, uncovered, cause } = data;
  const held = books.take(grantId, taken);
  const lacking = books.lack(grantId, uncovered);
  const paying = takenOf(books, data.setOff);
  const owed = uncovered - paying.paid - paying.free;
  books.owe(owed);
  const source = books.sourceOf(grantId);
  return booked(
    { account: books.paidCredits, microUsd: held.paid + paying.paid },
    { account: books.freeCredits, microUsd: held.free + paying.free },
    { account: books.receivable, microUsd: owed },
    { account: takenFor(books, data) ?? revoked(cause, source), microUsd: -held.paid - lacking.paid },
    { account: givenAway(source), microUsd: -held.free - lacking.free },
  );
}

/** Where credits go that are taken for money that is booked by its own event: as much as it, or less, or more. */
function takenFor(
  books: CustomerBooks,
  { revocationId, grantId, cause }: Pick<EventData<'GrantRevoked'>, 'revocationId' | 'grantId' | 'cause'>,
): string | null {
  if (books.isGivenBackFor(grantId, revocationId)) return REFUNDS;
  const again = cause === 'dispute' ? disputeLostAgain(revocationId) : null;
  return again !== null && books.isGivenBackFor(grantId, again) ? REFUNDS : null;
}

/** The money that went back: its credits, as far as there are any to be revoked, follow. */
function refund(books: CustomerBooks, { paymentId, refundId, amount }: EventData<'PaymentRefunded'>): Posting[] {
  books.giveBack(refundId, paymentId, amount);
  const account = clearing(books.sourceOf(books.grantOf(paymentId)));
  return booked({ account, microUsd: -amount }, { account: REFUNDS, microUsd: amount });
}

/** The refund turned back; its credits follow, as far as they have not come back. */
function withdraw(books: CustomerBooks, { paymentId, refundId, amount }: EventData<'RefundWithdrawn'>): Posting[] {
  if (books.givenBack(refundId) !== amount)
    throw new UnbookableError(`there is no refund ${refundId} of ${amount} micro-USD`);
  const account = clearing(books.sourceOf(books.grantOf(paymentId)));
  return booked({ account, microUsd: amount }, { account: REFUNDS, microUsd: -amount });
}

function dispute(books: CustomerBooks, { paymentId, disputeId, amount }: EventData<'PaymentDisputed'>): Posting[] {
  books.giveBack(disputeId, paymentId, amount);
  return booked({ account: DISPUTES, microUsd: -amount }, { account: REFUNDS, microUsd: amount });
}

/** Won, it is turned back; lost after all, that is. */
function closeDispute(books: CustomerBooks, { disputeId, outcome, replaces }: EventData<'DisputeClosed'>): Posting[] {
  const amount = books.givenBack(disputeId);
  if (amount === null) throw new UnbookableError(`there is no dispute ${disputeId}`);
  if (outcome === 'lost' && replaces !== 'won') return [];
  const turned = outcome === 'won' ? amount : -amount;
  return booked({ account: DISPUTES, microUsd: turned }, { account: REFUNDS, microUsd: -turned });
}

/** The revocation turned back. */
function restore(books: CustomerBooks, data: EventData<'GrantRestored'>): Posting[] {
  const { grantId, uncovered, owedLess, cause } = data;
  const lacking = books.lack(grantId, -uncovered);
  const { filled, taken, paying } = comeBack(books, data);
  const source = books.sourceOf(grantId);
  const account = takenFor(books, data) ?? revoked(cause, source);
  return booked(
    { account, microUsd: taken.paid + paying.paid - lacking.paid },
    { account: givenAway(source), microUsd: taken.free + paying.free - lacking.free },
    { account: books.receivable, microUsd: -owedLess },
    { account: books.paidCredits, microUsd: -filled.paid - taken.paid },
    { account: books.freeCredits, microUsd: -filled.free - taken.free },
  );
}

/** A debit turned back, as far as it goes. */
function reverse(books: CustomerBooks, data: EventData<'DebitReversed'>): Posting[] {
  const { filled, taken, paying } = comeBack(books, data);
  return booked(
    { account: USAGE_PAID, microUsd: taken.paid + paying.paid },
    { account: USAGE_FREE, microUsd: taken.free + paying.free },
    { account: USAGE_OWED, microUsd: data.uncovered },
    { account: books.receivable, microUsd: -data.owedLess },
    { account: books.paidCredits, microUsd: -filled.paid - taken.paid },
    { account: books.freeCredits, microUsd: -filled.free - taken.free },
  );
}

function adjust(books: CustomerBooks, data: EventData<'BalanceAdjusted'>): Posting[] {
  const { adjustmentId: grantId, direction, amount, shares, uncovered } = data;
  const mends = givenAway('adjustment');
  if (direction === 'up') {
    const parts = books.add({ grantId, source: 'adjustment', amount, costBasis: NOTHING });
    return booked({ account: mends, microUsd: amount }, ...brought(books, { grantId, amount }, parts));
  }
  const taken = takenOf(books, shares);
  if (taken.paid + taken.free + uncovered !== amount)
    throw new UnbookableError(`of ${amount} micro-USD ${taken.paid + taken.free + uncovered} are accounted for`);
  const paying = takenOf(books, data.setOff);
  const owed = uncovered - paying.paid - paying.free;
  books.owe(owed);
  return booked(
    { account: books.paidCredits, microUsd: taken.paid + paying.paid },
    { account: books.freeCredits, microUsd: taken.free + paying.free },
    { account: books.receivable, microUsd: owed },
    { account: CORRECTIONS, microUsd: -taken.paid - uncovered },
    { account: mends, microUsd: -taken.free },
  );
}

/**
 * What grants have again: in the place of what had filled what was owed, and of what was taken of them; and what of that pays
 * what is owed otherwise.
 */
function comeBack(
  books: CustomerBooks,
  {
    amount,
    uncovered,
    owedLess,
    setOff,
    reinstated,
  }: Pick<EventData<'GrantRestored'>, 'amount' | 'uncovered' | 'owedLess' | 'setOff' | 'reinstated'>,
): { readonly filled: Parts; readonly taken: Parts; readonly paying: Parts } {
  const [filled, taken, paying] = [NONE(), NONE(), NONE()];
  for (const { grantId: of, amount: piece } of setOff) addTo(paying, books.piece(of, piece));
  let before = owedLess - paying.paid - paying.free;
  for (const share of reinstated) {
    const parts = books.putBack(share.grantId, share.amount);
    addTo(before < uncovered ? filled : taken, parts);
    before += share.amount;
  }
  books.owe(-owedLess);
  const all = before + paying.paid + paying.free;
  if (all !== amount) throw new UnbookableError(`of ${amount} micro-USD that come back ${all} are accounted for`);
  return { filled, taken, paying };
}

const NONE = (): Parts => ({ paid: 0n, free: 0n });

function addTo(sum: Parts, { paid, free }: Parts): void {
  sum.paid += paid;
  sum.free += free;
}

function takenOf(books: CustomerBooks, shares: EventData<'CreditsDebited'>['grants']): Parts {
  const taken = NONE();
  for (const share of shares) addTo(taken, books.take(share.grantId, share.amount));
  return taken;
}

const NOTHING = microUsd(0n);

/** Without lines of nothing. */
const booked = (...postings: readonly Posting[]): Posting[] => postings.filter(({ microUsd }) => microUsd !== 0n);
