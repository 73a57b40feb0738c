import { decodeRecorded } from '../../contracts/event-codec.ts';
import type { RecordedEvent } from '../../contracts/event-log.ts';
import type { EventData } from '../../contracts/events.ts';
import { type AccountId, accountOfStream, SEALS_STREAM, type StreamName } from '../../contracts/ids.ts';
import type { LedgerIdentity } from '../../contracts/ledger-identity.ts';
import { monthOfInstant } from '../account/month.ts';
import { atItsPlace, UnbookableError } from '../postings/customer-books.ts';
import { AccountBooks, type TimeBooks } from './account-books.ts';
import { type Books, booksOf, endOfMonth, type Reconciliation, sumOf } from './books.ts';
import { type EventOfMonth, isIdle, isOfAccount, isOfMonth } from './event-places.ts';
import { ModelBooks } from './model-books.ts';
import { noMovements } from './movements.ts';
import { Notes } from './notes.ts';
import { PaymentsBook } from './payments-book.ts';
import type { SealCoverage } from './seal-coverage.ts';

/**
 * The books of a month, from every event of the log in log order. An event belongs to the month in which it was written down
 * (`recordedAt`): so the books of a month never change once it is over, and a month opens as the one before has closed.
 * Keeps accounts, their open grants and models, and nothing of single requests.
 */
export class MonthBooks {
  readonly month: string;
  /** Those that accounts are of, in the whole log so far. */
  readonly products = new Set<string>();
  readonly #product: string | null;
  /** Of accounts of other products. */
  readonly #others = new Set<StreamName>();
  readonly #before: TimeBooks = { movements: noMovements() };
  readonly #in: Required<TimeBooks>;
  readonly #accounts = new Map<AccountId, AccountBooks>();
  #identity: LedgerIdentity | null = null;
  readonly #reconciled: Reconciliation[] = [];
  readonly #seals: SealCoverage;
  /** In the order in which events are sealed: those of all streams but the seals' own. */
  #ordinal = -1;
  #sealedOfMonth = 0;
  #events = 0;
  #eventsOfMonth = 0;

  /** @param month as "2026-11"; @param seals all that there are; @param product whose accounts it is about; null is all */
  constructor(month: string, seals: SealCoverage, product: string | null = null) {
    this.month = month;
    this.#product = product;
    this.#seals = seals;
    const [year = 0, number = 0] = month.split('-').map(Number);
    const days = new Date(Date.UTC(year, number, 0)).getUTCDate();
    this.#in = {
      movements: noMovements(),
      month: {
        models: new ModelBooks(),
        notes: new Notes(),
        payments: new PaymentsBook(),
        days: Array.from({ length: days }, () => 0n),
        disagreeing: 0,
      },
    };
  }

  /** @throws UnreadableEventError, UnbookableError: books that leave an event out are none */
  take(recorded: RecordedEvent): void {
    this.#events += 1;
    const { stream } = recorded;
    if (stream !== SEALS_STREAM) this.#ordinal += 1;
    if (isIdle(recorded.type) || this.#others.has(stream)) return;
    const { event, metadata } = decodeRecorded(recorded);
    if (event.type === 'AccountOpened' && !this.#isMeant(event.data)) {
      this.#others.add(stream);
      return;
    }
    const books = this.#booksAt(metadata.recordedAt);
    if (books === this.#in) {
      this.#eventsOfMonth += 1;
      if (this.#ordinal < this.#seals.sealedThrough) this.#sealedOfMonth += 1;
    }
    if (isOfMonth(event)) this.#takeOfMonth(event, metadata.recordedAt, books === this.#in);
    else if (isOfAccount(event))
      atItsPlace(recorded, () => this.#accountOf(accountOfStream(stream)).take(event, books, metadata));
  }

  /** Each account opens as of one product, for good. */
  #isMeant({ product }: EventData<'AccountOpened'>): boolean {
    this.products.add(product);
    return this.#product === null || this.#product === product;
  }

  #takeOfMonth(event: EventOfMonth, at: string, isInMonth: boolean): void {
    switch (event.type) {
      case 'LedgerIdentified':
        this.#identity = event.data;
        break;
      case 'LossAccepted': {
        this.#identity = event.data;
        const { generation, reason, actor } = event.data;
        const what = `a loss of the ledger was accepted: generation ${generation} began`;
        const note = { at, account: null, what, requestId: null, amount: null, why: `${reason} (${actor})` };
        if (isInMonth) this.#in.month.notes.add(note);
        break;
      }
      case 'LedgerMoved': {
        const what = `the ledger moved to another log: ${event.data.to}`;
        const note = { at, account: null, what, requestId: null, amount: null, why: `by ${event.data.actor}` };
        if (isInMonth) this.#in.month.notes.add(note);
        break;
      }
      case 'ProviderReconciled':
        // A provider's report is about what all products have used.
        if (isInMonth && this.#product === null) this.#reconciled.push(reconciliation(event.data, at));
        break;
      default:
        event satisfies never;
    }
  }

  /** @param madeAtMs when they are made, as `Date` has it: how old credits are, and which have ended, is as of then while the month is not over */
  result(madeAtMs = Number.POSITIVE_INFINITY): Books {
    return booksOf({
      month: this.month,
      endMs: Math.min(endOfMonth(this.month), madeAtMs),
      product: this.#product,
      identity: this.#identity,
      events: this.#events,
      eventsOfMonth: this.#eventsOfMonth,
      sealedOfMonth: this.#sealedOfMonth,
      seals: this.#seals,
      reconciled: this.#reconciled,
      before: this.#before.movements,
      moved: this.#in.movements,
      accounts: [...this.#accounts.values()].filter(({ isThere }) => isThere),
      ...this.#in.month,
    });
  }

  #booksAt(recordedAt: string): TimeBooks | null {
    const month = monthOfInstant(recordedAt);
    if (month === this.month) return this.#in;
    return month < this.month ? this.#before : null;
  }

  #accountOf(id: AccountId | null): AccountBooks {
    if (id === null) throw new UnbookableError('its stream is not one of an account');
    let account = this.#accounts.get(id);
    if (account === undefined) {
      account = new AccountBooks(id);
      this.#accounts.set(id, account);
    }
    return account;
  }
}

function reconciliation(
  { provider, by, from, to, counts, lines }: EventData<'ProviderReconciled'>,
  at: string,
): Reconciliation {
  const compared = lines.filter(({ tokenClass }) => tokenClass === 'all');
  const tokens = { ours: sumOf(compared, ({ ours }) => ours), theirs: sumOf(compared, ({ theirs }) => theirs ?? 0n) };
  return { provider, by, from, to, counts, at, ...tokens };
}
