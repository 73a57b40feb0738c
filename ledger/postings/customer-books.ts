import type { RecordedEvent } from '../../contracts/event-log.ts';
import type { DomainEvent, EventData } from '../../contracts/events.ts';
import {
  ACCOUNT_ID_PATTERN,
  type AccountId,
  type GrantId,
  grantsOfPayment,
  type PaymentId,
} from '../../contracts/ids.ts';
import { brief } from '../../contracts/printable.ts';
import { freeCredits, type GrantSource, paidCredits, receivable } from './chart-of-accounts.ts';
import { GrantsBought } from './grants-bought.ts';

/** An event that cannot follow those before it: what it would book is not known. */
export class UnbookableError extends Error {
  override readonly name = 'UnbookableError';
}

/** @throws UnbookableError with stream and revision, where booking the event throws one */
export function atItsPlace<T>({ stream, revision, type }: RecordedEvent, book: () => T): T {
  try {
    return book();
  } catch (error) {
    if (!(error instanceof UnbookableError)) throw error;
    throw new UnbookableError(
      `${brief(stream)} revision ${revision} (${brief(type)}) cannot be booked: ${error.message}`,
    );
  }
}

interface BookedGrant {
  readonly source: GrantSource;
  readonly amount: bigint;
  /** Of the amount what was paid for. */
  readonly paid: bigint;
  remaining: bigint;
  /** What of it was revoked when it was spent already: that is owed. */
  lacking: bigint;
}

/** An amount by what was paid for, what was given away, and what no credit covers. */
export interface Parts {
  paid: bigint;
  free: bigint;
}

/**
 * What of one customer's credit is there, grant by grant, and what is owed: as much as postings need, folded for itself.
 *
 * Of a grant that was paid in part (its cost basis is less than its amount) each piece that is spent or expires is paid in
 * that proportion. Of what remains `paid × remaining ÷ amount` is paid, rounded down to the whole micro-USD; what an event
 * takes is the difference of that before and after. So it does not matter in how many pieces a grant goes, nothing is lost
 * by rounding, and what is given back is what was taken.
 */
export class CustomerBooks {
  /** The accounts of its own in the books: made once, for each debit names them. */
  readonly paidCredits: string;
  readonly freeCredits: string;
  readonly receivable: string;
  readonly #grants = new Map<GrantId, BookedGrant>();
  readonly #onMoved: ((grantId: GrantId, parts: Parts) => void) | undefined;
  readonly #bought = new GrantsBought();
  readonly #grantOfPayment = new Map<PaymentId, GrantId>();
  /** Of refunds and disputes, by their ids: of which payment how much money went back. */
  readonly #givenBack = new Map<string, { readonly paymentId: PaymentId; readonly amount: bigint }>();
  #owed = 0n;
  #spendable = 0n;

  /** @param onMoved told of each grant what it was given, or less than nothing where that was taken */
  constructor(customer: AccountId, onMoved?: (grantId: GrantId, parts: Parts) => void) {
    if (!ACCOUNT_ID_PATTERN.test(customer)) throw new UnbookableError('its stream is not one of an account');
    this.paidCredits = paidCredits(customer);
    this.freeCredits = freeCredits(customer);
    this.receivable = receivable(customer);
    this.#onMoved = onMoved;
  }

  /** What grants have left less what is owed. */
  get balance(): bigint {
    return this.#spendable - this.#owed;
  }

  /** How much of a new grant's amount is paid for; the rest is given away. */
  add({
    grantId,
    source,
    amount,
    costBasis,
  }: Pick<EventData<'CreditsGranted'>, 'grantId' | 'source' | 'amount' | 'costBasis'>): Parts {
    if (this.#grants.has(grantId)) throw new UnbookableError(`grant ${grantId} was given before`);
    const paid = costBasis < amount ? costBasis : amount;
    this.#grants.set(grantId, { source, amount, paid, remaining: 0n, lacking: 0n });
    return this.putBack(grantId, amount);
  }

  /** Of the customer's events, before it is booked: which grant is of which payment. */
  follow(event: DomainEvent): void {
    const paid = this.#bought.take(event);
    if (paid !== null && event.type === 'CreditsGranted')
      this.#grantOfPayment.set(paid.data.paymentId, event.data.grantId);
  }

  /** What a payment has bought, whatever that is called. */
  grantOf(payment: PaymentId): GrantId {
    return this.#grantOfPayment.get(payment) ?? grantsOfPayment(payment)[0];
  }

  sourceOf(grantId: GrantId): GrantSource {
    return this.#grant(grantId).source;
  }

  putBack(grantId: GrantId, amount: bigint): Parts {
    return this.#move(grantId, amount);
  }

  take(grantId: GrantId, amount: bigint): Parts {
    const { paid, free } = this.#move(grantId, -amount);
    return { paid: -paid, free: -free };
  }

  /** By what a piece of a grant that comes back to none would be, where it came back. */
  piece(grantId: GrantId, amount: bigint): Parts {
    const grant = this.#grant(grantId);
    const paid = paidOf(grant, grant.remaining + amount) - paidOf(grant, grant.remaining);
    return { paid, free: amount - paid };
  }

  /** What of a grant is revoked and it does not hold, or less than nothing where that is undone: paid and given in its proportion. */
  lack(grantId: GrantId, change: bigint): Parts {
    const grant = this.#grant(grantId);
    const before = grant.lacking;
    const after = before + change;
    if (after < 0n || after > grant.amount)
      throw new UnbookableError(`of grant ${grantId} of ${grant.amount} ${after} micro-USD would be revoked and owed`);
    grant.lacking = after;
    const paid = paidOf(grant, after) - paidOf(grant, before);
    return { paid, free: change - paid };
  }

  giveBack(id: string, paymentId: PaymentId, amount: bigint): void {
    this.#givenBack.set(id, { paymentId, amount });
  }

  /** How much money a refund or a dispute was about; null where there is none of that id. */
  givenBack(id: string): bigint | null {
    return this.#givenBack.get(id)?.amount ?? null;
  }

  /** Whether such a refund or dispute takes the credits of that grant: an id alone does not say whose were taken. */
  isGivenBackFor(grantId: GrantId, id: string): boolean {
    const paymentId = this.#givenBack.get(id)?.paymentId;
    return paymentId !== undefined && this.grantOf(paymentId) === grantId;
  }

  /** Less than nothing where it is owed no more. */
  owe(amount: bigint): void {
    this.#owed += amount;
  }

  /** What is owed takes first of what a grant brings. */
  fillOwed(grantId: GrantId, amount: bigint): { readonly filled: bigint; readonly parts: Parts } {
    const filled = amount < this.#owed ? amount : this.#owed;
    this.#owed -= filled;
    return { filled, parts: this.take(grantId, filled) };
  }

  #move(grantId: GrantId, change: bigint): Parts {
    const grant = this.#grant(grantId);
    const before = grant.remaining;
    const after = before + change;
    if (after < 0n || after > grant.amount)
      throw new UnbookableError(`grant ${grantId} of ${grant.amount} would hold ${after} micro-USD`);
    grant.remaining = after;
    this.#spendable += change;
    const paid = paidOf(grant, after) - paidOf(grant, before);
    const parts = { paid, free: change - paid };
    this.#onMoved?.(grantId, parts);
    return parts;
  }

  #grant(grantId: GrantId): BookedGrant {
    const grant = this.#grants.get(grantId);
    if (grant === undefined) throw new UnbookableError(`there is no grant ${grantId}`);
    return grant;
  }
}

const paidOf = ({ paid, amount }: BookedGrant, remaining: bigint): bigint =>
  paid === amount ? remaining : (paid * remaining) / amount;
