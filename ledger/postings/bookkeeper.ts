import { decodeEvent, decodeRecordedAt } from '../../contracts/event-codec.ts';
import type { RecordedEvent } from '../../contracts/event-log.ts';
import type { EventType } from '../../contracts/events.ts';
import { type AccountId, accountOfStream, type GrantId } from '../../contracts/ids.ts';
import { atItsPlace, CustomerBooks, UnbookableError } from './customer-books.ts';
import { type BookedEvent, isBooked, POSTING_RULES, type Posting, postingsOf } from './posting-rules.ts';

/**
 * An event of a type that moves money, with what it books: the sum is nothing. A debit of less than a micro-USD, or of which
 * the hold has left out all, has no postings.
 */
export interface Entry {
  readonly recorded: RecordedEvent;
  readonly event: BookedEvent;
  /** RFC 3339, UTC: when it was written down, which is the day that it is booked on. */
  readonly recordedAt: string;
  readonly customer: AccountId;
  readonly postings: readonly Posting[];
  /** Of what says that a payment's money went back: under which its credits were granted. Else null. */
  readonly bought: GrantId | null;
}

/** Books events in log order. What it keeps grows with accounts and their grants, not with events. */
export class Bookkeeper {
  readonly #customers = new Map<AccountId, CustomerBooks>();

  /** Null for a type of event that moves no money. @throws UnreadableEventError; UnbookableError with stream and revision */
  book(recorded: RecordedEvent): Entry | null {
    if (movesNothing(recorded.type) && recorded.type !== 'PaymentSucceeded') return null;
    const event = decodeEvent(recorded);
    const customer = accountOfStream(recorded.stream);
    return atItsPlace(recorded, () => {
      if (customer === null) throw new UnbookableError('its stream is not one of an account');
      const books = this.#booksOf(customer);
      const postings = postingsOf(books, event);
      if (!isBooked(event)) return null;
      if ('balanceAfter' in event.data && event.data.balanceAfter !== books.balance)
        throw new UnbookableError(
          `it says a balance of ${event.data.balanceAfter} micro-USD, its account has ${books.balance}`,
        );
      const bought = isReturn(event) ? books.grantOf(event.data.paymentId) : null;
      return { recorded, event, recordedAt: decodeRecordedAt(recorded), customer, postings, bought };
    });
  }

  #booksOf(customer: AccountId): CustomerBooks {
    let books = this.#customers.get(customer);
    if (books === undefined) {
      books = new CustomerBooks(customer);
      this.#customers.set(customer, books);
    }
    return books;
  }
}

/** Of a type that this program does not know it is not known what it moves: such an event is read, and refused. */
function movesNothing(type: string): boolean {
  return Object.hasOwn(POSTING_RULES, type) && 'none' in POSTING_RULES[type as EventType];
}

type Return = Extract<
  BookedEvent,
  { readonly type: 'PaymentRefunded' | 'RefundWithdrawn' | 'PaymentDisputed' | 'DisputeClosed' }
>;

const isReturn = (event: BookedEvent): event is Return =>
  event.type === 'PaymentRefunded' ||
  event.type === 'RefundWithdrawn' ||
  event.type === 'PaymentDisputed' ||
  event.type === 'DisputeClosed';
