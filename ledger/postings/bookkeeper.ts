import { decodeEvent, decodeRecordedAt } from '../../contracts/event-codec.ts';
import type { RecordedEvent } from '../../contracts/event-log.ts';
import type { DomainEvent, EventType } from '../../contracts/events.ts';
import { type AccountId, accountOfStream } from '../../contracts/ids.ts';
import { brief } from '../../contracts/printable.ts';
import { CustomerBooks, UnbookableError } from './customer-books.ts';
import { POSTING_RULES, type Posting } from './posting-rules.ts';

/**
 * An event of a type that moves money, with what it books: the sum is nothing. A debit of less than a micro-USD, or of which
 * the hold has left out all, has no postings.
 */
export interface Entry {
  readonly recorded: RecordedEvent;
  readonly event: DomainEvent;
  /** RFC 3339, UTC: when it was written down, which is the day that it is booked on. */
  readonly recordedAt: string;
  readonly customer: AccountId;
  readonly postings: readonly Posting[];
}

/** Books events in log order. What it keeps grows with accounts and their grants, not with events. */
export class Bookkeeper {
  readonly #customers = new Map<AccountId, CustomerBooks>();

  /** Null for a type of event that moves no money. @throws UnreadableEventError; UnbookableError with stream and revision */
  book(recorded: RecordedEvent): Entry | null {
    if (movesNothing(recorded.type)) return null;
    const event = decodeEvent(recorded);
    const customer = accountOfStream(recorded.stream);
    try {
      if (customer === null) throw new UnbookableError('its stream is not one of an account');
      const postings = postingsOf(this.#booksOf(customer), event);
      return { recorded, event, recordedAt: decodeRecordedAt(recorded), customer, postings };
    } catch (error) {
      if (!(error instanceof UnbookableError)) throw error;
      throw new UnbookableError(
        `${brief(recorded.stream)} revision ${recorded.revision} (${brief(recorded.type)}) cannot be booked: ${error.message}`,
      );
    }
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

function postingsOf(books: CustomerBooks, { type, data }: DomainEvent): Posting[] {
  const rule = POSTING_RULES[type];
  // The table says for each type which data its rule takes.
  return 'none' in rule ? [] : (rule.post as (books: CustomerBooks, data: unknown) => Posting[])(books, data);
}
