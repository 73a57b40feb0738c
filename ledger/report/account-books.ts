import type { AccountEvent, EventData } from '../../contracts/events.ts';
import type { AccountId, GrantId } from '../../contracts/ids.ts';
import { PICO_PER_MICRO } from '../../contracts/money.ts';
import { movementOf } from '../statement/running-balance.ts';
import { consume, type GrantBook, grantBook } from './grant-book.ts';
import type { ModelBooks } from './model-books.ts';
import { addGranted, type Movements } from './movements.ts';
import type { Note, Notes } from './notes.ts';

/** Where the accounts of a time write down what happened in it. */
export interface TimeBooks {
  readonly movements: Movements;
  /** Absent for what was before the month: of that only the sums count. */
  readonly month?: {
    readonly models: ModelBooks;
    readonly notes: Notes;
    /** Micro-USD spent, by day of the month from 0. */
    readonly days: bigint[];
    /** Debits whose balance is not what the account's events add up to. */
    disagreeing: number;
  };
}

/** When an event was written down, and by whom. */
interface Booked {
  readonly recordedAt: string;
  readonly actor: string;
}

type Debit = EventData<'CreditsDebited'> | EventData<'ExceptionApproved'>;

/** One account as its books need it: its open grants, and nothing of its requests. Amounts are micro-USD. */
export class AccountBooks {
  readonly id: AccountId;
  email = '';
  balance = 0n;
  /** In the month. */
  granted = 0n;
  spent = 0n;
  expired = 0n;
  readonly grants = new Map<GrantId, GrantBook>();
  /** What debits took and no grant covered. */
  uncovered = 0n;
  /** Exceptions about money that nobody has ended, in pico-USD; null while there were none. */
  openExceptions: Map<string, bigint> | null = null;
  /** By all events of the stream, also those that were written down after the month. */
  #running = 0n;

  constructor(id: AccountId) {
    this.id = id;
  }

  /** @param books of the time in which it was written down; null is after the month */
  take(event: AccountEvent, books: TimeBooks | null, booked: Booked): void {
    const change = movementOf(event) ?? 0n;
    this.#running += change;
    if (books === null) return;
    this.balance += change;
    const { movements, month } = books;
    switch (event.type) {
      case 'AccountOpened':
        this.email = event.data.email;
        break;
      case 'CreditsGranted':
        this.#takeGrant(event.data, movements);
        if (month !== undefined) this.granted += event.data.amount;
        break;
      case 'CreditsExpired':
        movements.expired += event.data.amount;
        movements.breakage += this.#takeExpired(event.data);
        if (month !== undefined) this.expired += event.data.amount;
        break;
      case 'CreditsReinstated':
        movements.reinstated += event.data.amount;
        this.#takeReinstated(event.data, movements);
        if (month !== undefined) this.expired -= event.data.amount;
        break;
      case 'UsageRecorded':
        month?.models.addUsage(event.data);
        break;
      case 'CreditsDebited':
        movements.debited += event.data.amount;
        this.#takeDebit(event.data, books, booked);
        if (event.data.leftOut > 0n) this.#openException(event.data.requestId, event.data.leftOut * PICO_PER_MICRO);
        break;
      case 'ExceptionApproved':
        movements.approved += event.data.amount;
        this.#takeDebit(event.data, books, booked);
        this.openExceptions?.delete(event.data.requestId);
        break;
      case 'LateUsageReported':
        this.#openException(event.data.requestId, event.data.cost);
        break;
      case 'ExceptionDropped':
        this.openExceptions?.delete(event.data.requestId);
        break;
      default:
        return;
    }
    if (month !== undefined) noteOn(event, month.notes, { account: this.id, ...booked });
  }

  #takeGrant(data: EventData<'CreditsGranted'>, movements: Movements): void {
    addGranted(movements, data);
    const grant = grantBook(data);
    movements.settled += this.#settle(grant);
    if (grant.remaining > 0n) this.grants.set(data.grantId, grant);
  }

  /** A grant first fills what earlier debits left uncovered. Returns what of its price that earns. */
  #settle(grant: GrantBook, atMost = grant.remaining): bigint {
    const filled = atMost < this.uncovered ? atMost : this.uncovered;
    this.uncovered -= filled;
    return consume(grant, filled);
  }

  #takeExpired({ grantId, amount }: EventData<'CreditsExpired'>): bigint {
    const grant = this.grants.get(grantId);
    if (grant === undefined) {
      this.uncovered += amount;
      return 0n;
    }
    grant.hasExpired = true;
    return consume(grant, amount);
  }

  #takeReinstated({ grantId, amount, expiresAt }: EventData<'CreditsReinstated'>, movements: Movements): void {
    const grant = this.grants.get(grantId);
    if (grant === undefined) {
      this.uncovered -= amount;
      return;
    }
    grant.expiresAtMs = Date.parse(expiresAt);
    movements.breakage += consume(grant, -amount);
    movements.settled += this.#settle(grant, amount);
  }

  #takeDebit(debit: Debit, { movements, month }: TimeBooks, { recordedAt }: Booked): void {
    this.uncovered += debit.uncovered;
    const spent = {
      spent: debit.amount as bigint,
      fromPaid: 0n,
      fromGiven: 0n,
      owed: debit.uncovered as bigint,
      earned: 0n,
    };
    for (const { grantId, amount } of debit.grants) {
      const grant = this.grants.get(grantId);
      // Written down after the month, by another proxy's clock: until then it is owed.
      if (grant === undefined) {
        this.uncovered += amount;
        spent.owed += amount;
        continue;
      }
      spent.earned += consume(grant, amount);
      if (grant.paid > 0n) spent.fromPaid += amount;
      else spent.fromGiven += amount;
      if (grant.remaining === 0n && !grant.hasExpired) this.grants.delete(grantId);
    }
    movements.earned += spent.earned;
    if (month === undefined) return;
    month.models.addSpent(debit, spent);
    const day = Number(recordedAt.slice(8, 10)) - 1;
    month.days[day] = (month.days[day] ?? 0n) + debit.amount;
    if (debit.balanceAfter !== this.#running) month.disagreeing += 1;
    this.spent += debit.amount;
  }

  #openException(requestId: string, cost: bigint): void {
    this.openExceptions ??= new Map();
    this.openExceptions.set(requestId, (this.openExceptions.get(requestId) ?? 0n) + cost);
  }
}

function noteOn(
  event: AccountEvent,
  notes: Notes,
  { account, recordedAt: at, actor }: Booked & { account: AccountId },
) {
  const note = (what: string, rest: Partial<Note>): void =>
    notes.add({ at, account, what, requestId: null, amount: null, why: null, ...rest });
  switch (event.type) {
    case 'UsageRecorded':
      for (const what of event.data.unpriced) notes.addUnpriced(event.data.model, what);
      break;
    case 'CreditsDebited': {
      const { requestId, leftOut, uncovered } = event.data;
      if (leftOut > 0n) note('cost beyond the hold, not debited', { requestId, amount: leftOut });
      if (uncovered > 0n) note('debited, and no grant covered it', { requestId, amount: uncovered });
      break;
    }
    case 'LateUsageReported': {
      const { requestId, cost } = event.data;
      note('usage reported late, not debited', { requestId, amount: cost / PICO_PER_MICRO });
      break;
    }
    case 'ExceptionApproved': {
      const { requestId, amount, reason, actor: by } = event.data;
      note('exception approved: debited', { requestId, amount, why: `${reason} (${by})` });
      break;
    }
    case 'ExceptionDropped': {
      const { requestId, amount, reason, actor: by } = event.data;
      note('exception dropped: never debited', { requestId, amount, why: `${reason} (${by})` });
      break;
    }
    case 'CreditsReinstated': {
      const { grantId, amount, reason, actor: by } = event.data;
      note(`expired credits reinstated (${grantId})`, { amount, why: `${reason} (${by})` });
      break;
    }
    case 'CreditsGranted':
      if (event.data.source === 'adjustment')
        note(`credits granted as an adjustment (${event.data.grantId})`, { amount: event.data.amount, why: actor });
      break;
    default:
  }
}
