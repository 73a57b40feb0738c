import type { EventData } from '../../contracts/events.ts';
import type { AccountId } from '../../contracts/ids.ts';
import { disputeLostAgain, isNumbered, withdrawnId, wonId } from '../../contracts/lost-again.ts';
import { isMoney } from '../postings/chart-of-accounts.ts';
import type { CustomerBooks } from '../postings/customer-books.ts';
import type { Posting } from '../postings/posting-rules.ts';
import { isOfGateway, sentenceOf } from '../statement/sentences.ts';
import type { EventOfAccount } from './event-places.ts';
import { Listed } from './notes.ts';

/** One that was paid, went back, failed, or was not begun. */
export interface PaymentNote {
  readonly at: string;
  readonly account: string;
  readonly what: string;
  /** Micro-USD, negative where it went back; null where none has moved. */
  readonly money: bigint | null;
  /** The same of what it brought, took or gave back. */
  credits: bigint | null;
  readonly by: string;
}

type OfPayments =
  | 'PaymentSucceeded'
  | 'PaymentFailed'
  | 'PaymentAbandoned'
  | 'PaymentRefunded'
  | 'RefundWithdrawn'
  | 'PaymentDisputed'
  | 'DisputeClosed'
  | 'AutoReloadSkipped'
  | 'AutoReloadPaused';
export type PaymentEvent = Extract<EventOfAccount, { type: OfPayments }>;

/** What a month counts, in the order in which it is shown. */
const FIGURES = {
  bought: 'paid for purchases',
  reloaded: 'paid by auto-reload',
  renewed: 'paid for plans',
  refunded: 'refunded',
  withdrawn: 'refunds withdrawn',
  disputed: 'disputed',
  won: 'disputes won',
  lost: 'disputes lost',
  failed: 'payments that failed',
  abandoned: 'payments that were given up',
  skipped: 'auto-reloads that were not begun',
  paused: 'auto-reloads that were paused',
} as const;
type PaymentFigure = keyof typeof FIGURES;
/** What a payment that was made is counted as. */
export type PaidFor = Extract<PaymentFigure, 'bought' | 'reloaded' | 'renewed'>;
export const PAYMENT_FIGURES = Object.entries(FIGURES) as readonly (readonly [PaymentFigure, string])[];

const FIGURE_OF: { readonly [T in OfPayments]: (data: EventData<T>, paidFor: PaidFor) => PaymentFigure } = {
  PaymentSucceeded: (_paid, paidFor) => paidFor,
  PaymentFailed: () => 'failed',
  PaymentAbandoned: () => 'abandoned',
  PaymentRefunded: () => 'refunded',
  RefundWithdrawn: () => 'withdrawn',
  PaymentDisputed: () => 'disputed',
  DisputeClosed: ({ outcome }) => outcome,
  AutoReloadSkipped: () => 'skipped',
  AutoReloadPaused: () => 'paused',
};

export const isPayment = (event: EventOfAccount): event is PaymentEvent => Object.hasOwn(FIGURE_OF, event.type);

interface Paid {
  readonly account: AccountId;
  readonly recordedAt: string;
  readonly actor: string;
  readonly postings: readonly Posting[];
  readonly paidFor: PaidFor;
}

interface Behind extends Pick<Paid, 'account' | 'recordedAt'> {
  /** Which have taken the event. */
  readonly customer: CustomerBooks;
}

/** A month's payments: how many of each kind, what money moved, and each one. Amounts are micro-USD. */
export class PaymentsBook {
  readonly sums: Record<PaymentFigure, { count: number; money: bigint }>;
  readonly notes = new Listed<PaymentNote>();
  /** The event whose credits may come with the next ones of its append. */
  #last: { readonly event: PaymentEvent; readonly note: PaymentNote } | null = null;

  constructor() {
    this.sums = Object.fromEntries(
      PAYMENT_FIGURES.map(([figure]) => [figure, { count: 0, money: 0n }]),
    ) as PaymentsBook['sums'];
  }

  take(event: PaymentEvent, { account, recordedAt: at, actor: by, postings, paidFor }: Paid): void {
    const booked = postings.reduce((sum, posting) => (isMoney(posting.account) ? sum + posting.microUsd : sum), 0n);
    // What was paid is booked by the grant that follows.
    const money = event.type === 'PaymentSucceeded' ? event.data.amount : booked;
    // The table says for each type which data its function takes.
    const figure = (FIGURE_OF[event.type] as (data: unknown, paidFor: PaidFor) => PaymentFigure)(event.data, paidFor);
    this.sums[figure].count += 1;
    this.sums[figure].money += money;
    // Who it was stands beside, but that a provider tells it.
    const what = sentenceOf(event, undefined, isOfGateway(by) ? by : null);
    const note = { at, account, what, money: money === 0n ? null : money, credits: null, by };
    this.notes.add(note);
    this.#last = { event, note };
  }

  /** Whether an event has the credits of the payment, refund (also one that is withdrawn) or dispute that stands before it in its append. */
  takesCredits({ type, data }: EventOfAccount, { account, recordedAt: at, customer }: Behind): boolean {
    const { event, note } = this.#last ?? {};
    if (event === undefined || note === undefined || note.account !== account || note.at !== at) return false;
    const { type: before, data: of } = event;
    const isNamed =
      (type === 'CreditsGranted' && before === 'PaymentSucceeded') ||
      (type === 'GrantRevoked' && before === 'PaymentRefunded' && data.revocationId === of.refundId) ||
      (type === 'GrantRevoked' && before === 'PaymentDisputed' && data.revocationId === of.disputeId) ||
      (type === 'GrantRevoked' && before === 'DisputeClosed' && disputeLostAgain(data.revocationId) === of.disputeId) ||
      // What comes back may be of other revocations, and of several.
      (type === 'GrantRestored' &&
        before === 'RefundWithdrawn' &&
        isNumbered(data.restorationId, withdrawnId(of.refundId))) ||
      (type === 'GrantRestored' && before === 'DisputeClosed' && isNumbered(data.restorationId, wonId(of.disputeId)));
    // An id alone does not say whose credits they are.
    if (!isNamed || data.grantId !== customer.grantOf(of.paymentId)) return false;
    note.credits = (note.credits ?? 0n) + (type === 'GrantRevoked' ? -data.amount : data.amount);
    return true;
  }
}

/** What came in, less what went back. */
export const receivedIn = ({ sums }: Pick<PaymentsBook, 'sums'>): bigint =>
  Object.values(sums).reduce((all, { money }) => all + money, 0n);
