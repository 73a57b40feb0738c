import type { EventData } from '../../contracts/events.ts';
import type { AccountId, GrantId } from '../../contracts/ids.ts';
import { microUsd, PICO_PER_MICRO } from '../../contracts/money.ts';
import { grantOfAdjustment } from '../account/corrections.ts';
import { memberKey, openedOrganization, ownerOf } from '../account/members.ts';
import type { Organization } from '../account/organization-state.ts';
import { type GrantSource, isMoney } from '../postings/chart-of-accounts.ts';
import { CustomerBooks, type Parts, UnbookableError } from '../postings/customer-books.ts';
import { type Posting, postingsOf } from '../postings/posting-rules.ts';
import { movementOf } from '../statement/running-balance.ts';
import type { EventOfAccount } from './event-places.ts';
import type { ModelBooks } from './model-books.ts';
import { addGranted, addIncome, incomeOf, type Movements } from './movements.ts';
import type { Note, Notes } from './notes.ts';
import { OpenExceptions } from './open-exceptions.ts';
import { isPayment, type PaidFor, type PaymentEvent, type PaymentsBook } from './payments-book.ts';

/** Where the accounts of a time write down what happened in it. */
export interface TimeBooks {
  readonly movements: Movements;
  /** Absent for what was before the month: of that only the sums count. */
  readonly month?: {
    readonly models: ModelBooks;
    readonly notes: Notes;
    readonly payments: PaymentsBook;
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

interface Posted extends Pick<Booked, 'recordedAt'> {
  readonly postings: readonly Posting[];
}

type Debit = Pick<EventData<'CreditsDebited'>, 'model' | 'lane' | 'amount' | 'balanceAfter'>;

/** What of one grant is outstanding: of what was paid for, and of what was given. Amounts are micro-USD. */
interface GrantBook {
  readonly source: GrantSource;
  readonly effectiveAtMs: number;
  expiresAtMs: number | null;
  paid: bigint;
  free: bigint;
}

/**
 * One account as its books need it: its grants, and nothing of its requests. What an event books, the posting rules say, as they
 * do for every export: what was written down after the month is folded for them, and left out of all sums. Amounts are micro-USD.
 */
export class AccountBooks {
  readonly id: AccountId;
  /** Whether anything of it was written down by the month's end. */
  isThere = false;
  product = '';
  balance = 0n;
  /** In the month. */
  granted = 0n;
  spent = 0n;
  expired = 0n;
  readonly grants = new Map<GrantId, GrantBook>();
  /** What debits took and no grant covered. */
  owed = 0n;
  /** Null while there were none. */
  openExceptions: OpenExceptions | null = null;
  readonly #customer: CustomerBooks;
  /** Its first owner's, and who is what in it since. */
  #openedBy = '';
  #members: Organization['members'] = {};
  /** Attempts that are no purchases, whenever they are paid; null while there was none. */
  #attempts: Map<string, PaidFor> | null = null;
  /** What the event that is taken has moved of which grants. */
  #moves: (readonly [GrantId, Parts])[] = [];

  constructor(id: AccountId) {
    this.id = id;
    this.#customer = new CustomerBooks(id, (grantId, parts) => this.#moves.push([grantId, parts]));
  }

  /** Whose it is. */
  get email(): string {
    return ownerOf({ email: this.#openedBy, organization: { product: this.product, members: this.#members } });
  }

  /**
   * @param books of the time in which it was written down; null is after the month
   * @throws UnbookableError
   */
  take(event: EventOfAccount, books: TimeBooks | null, booked: Booked): void {
    if (event.type === 'CreditsGranted') this.#addGrant(event.data);
    if (event.type === 'BalanceAdjusted' && event.data.direction === 'up')
      this.#addGrant(grantOfAdjustment(event.data));
    if (event.type === 'AutoReloadStarted' || event.type === 'RenewalStarted') {
      this.#attempts ??= new Map();
      this.#attempts.set(event.data.attemptId, event.type === 'AutoReloadStarted' ? 'reloaded' : 'renewed');
    }
    this.#moves = [];
    const postings = postingsOf(this.#customer, event);
    if (books === null) return;
    this.isThere = true;
    this.balance += movementOf(event) ?? 0n;
    for (const [grantId, { paid, free }] of this.#moves) {
      const grant = this.#grantOf(grantId);
      grant.paid += paid;
      grant.free += free;
    }
    for (const { account, microUsd } of postings) if (account === this.#customer.receivable) this.owed += microUsd;
    addIncome(books.movements, incomeOf(postings));
    this.#takeFacts(event, books, { ...booked, postings });
    if (books.month === undefined) return;
    const { payments, notes } = books.month;
    const { id: account } = this;
    if (isPayment(event)) {
      const paidFor = 'attemptId' in event.data ? this.#attempts?.get(event.data.attemptId) : undefined;
      payments.take(event, { account, paidFor: paidFor ?? 'bought', ...booked, postings });
    } else if (!payments.takesCredits(event, { account, ...booked, customer: this.#customer }))
      noteOn(event, notes, { account, ...booked });
  }

  #takeFacts(event: EventOfAccount, { movements, month }: TimeBooks, { recordedAt, postings }: Posted): void {
    switch (event.type) {
      case 'AccountOpened':
        this.#openedBy = event.data.email;
        ({ product: this.product, members: this.#members } = openedOrganization(event.data));
        break;
      case 'MemberAdded':
      case 'MemberRoleChanged': {
        const { email, role } = event.data;
        this.#members = {
          ...this.#members,
          [memberKey(email)]: { email, addedAtMs: 0, ...this.#members[memberKey(email)], role },
        };
        break;
      }
      case 'MemberRemoved': {
        const { [memberKey(event.data.email)]: _removed, ...members } = this.#members;
        this.#members = members;
        break;
      }
      case 'CreditsGranted':
        addGranted(movements, event.data);
        movements.settled += this.#settled();
        if (month !== undefined) this.granted += event.data.amount;
        break;
      case 'CreditsExpired':
        movements.expired += event.data.amount;
        if (month !== undefined) this.expired += event.data.amount;
        break;
      case 'CreditsReinstated':
        movements.reinstated += event.data.amount;
        movements.settled += this.#settled();
        this.#grantOf(event.data.grantId).expiresAtMs = Date.parse(event.data.expiresAt);
        if (month !== undefined) this.expired -= event.data.amount;
        break;
      case 'GrantRevoked':
        movements.revoked += event.data.amount;
        this.#takeCorrection(movements, postings);
        break;
      case 'GrantRestored':
        movements.restored += event.data.amount;
        this.#takeCorrection(movements, postings);
        this.#takeEnds(event.data);
        break;
      case 'DebitReversed':
        movements.reversed += event.data.amount;
        this.#takeCorrection(movements, postings);
        this.#takeEnds(event.data);
        if (month !== undefined)
          this.#takeDebit({ ...event.data, amount: microUsd(-event.data.amount) }, month, { recordedAt, postings });
        break;
      case 'PaymentRefunded':
      case 'RefundWithdrawn':
      case 'PaymentDisputed':
      case 'DisputeClosed':
        this.#takeCorrection(movements, postings);
        break;
      case 'BalanceAdjusted':
        movements[event.data.direction === 'up' ? 'adjustedUp' : 'adjustedDown'] += event.data.amount;
        if (event.data.direction === 'down') this.#takeCorrection(movements, postings);
        break;
      case 'UsageRecorded':
        month?.models.addUsage(event.data);
        if (event.data.unpriced.length > 0) this.#exceptions().openUnpriced(event.data.requestId);
        break;
      case 'CreditsDebited':
        movements.debited += event.data.amount;
        if (month !== undefined) this.#takeDebit(event.data, month, { recordedAt, postings });
        if (event.data.leftOut > 0n) this.#exceptions().open(event.data.requestId, event.data.leftOut * PICO_PER_MICRO);
        break;
      case 'ExceptionApproved':
        movements.approved += event.data.amount;
        if (month !== undefined) this.#takeDebit(event.data, month, { recordedAt, postings });
        this.openExceptions?.end(event.data.requestId);
        break;
      case 'LateUsageReported':
        this.#exceptions().open(event.data.requestId, event.data.cost);
        break;
      case 'ExceptionDropped':
        this.openExceptions?.end(event.data.requestId);
        break;
      case 'PaymentSucceeded':
      case 'PaymentFailed':
      case 'PaymentAbandoned':
      case 'RenewalStarted':
      case 'AutoReloadStarted':
      case 'AutoReloadSkipped':
      case 'AutoReloadPaused':
      case 'AccountSuspended':
      case 'AccountReinstated':
        break;
      default:
        event satisfies never;
    }
  }

  #exceptions(): OpenExceptions {
    this.openExceptions ??= new OpenExceptions();
    return this.openExceptions;
  }

  #addGrant({ grantId, source, effectiveAt, expiresAt }: EventData<'CreditsGranted'>): void {
    const expiresAtMs = expiresAt === null ? null : Date.parse(expiresAt);
    this.grants.set(grantId, { source, effectiveAtMs: Date.parse(effectiveAt), expiresAtMs, paid: 0n, free: 0n });
  }

  #grantOf(grantId: GrantId): GrantBook {
    const grant = this.grants.get(grantId);
    if (grant === undefined) throw new UnbookableError(`there is no grant ${grantId}`);
    return grant;
  }

  #takeCorrection(movements: Movements, postings: readonly Posting[]): void {
    // What came back of what usage had earned is told by what it has earned less.
    movements.taken -= incomeOf(postings).fromPaid;
    for (const [, { paid }] of this.#moves) movements.taken -= paid;
    for (const { account, microUsd } of postings) if (isMoney(account)) movements.paidBack -= microUsd;
  }

  #takeEnds({ reinstated }: Pick<EventData<'GrantRestored'>, 'reinstated'>): void {
    for (const { grantId, expiresAt } of reinstated)
      this.#grantOf(grantId).expiresAtMs = expiresAt === null ? null : Date.parse(expiresAt);
  }

  /** What earlier debits had left uncovered takes first of what a grant brings. Returns what of that was paid for. */
  #settled(): bigint {
    return this.#moves.reduce((sum, [, { paid, free }]) => (paid + free < 0n ? sum - paid : sum), 0n);
  }

  #takeDebit(debit: Debit, month: NonNullable<TimeBooks['month']>, { recordedAt, postings }: Posted): void {
    const { fromPaid, fromGiven, owed } = incomeOf(postings);
    month.models.addSpent(debit, { spent: debit.amount, fromPaid, fromGiven, owed, earned: fromPaid + owed });
    const day = Number(recordedAt.slice(8, 10)) - 1;
    month.days[day] = (month.days[day] ?? 0n) + debit.amount;
    if (debit.balanceAfter !== this.#customer.balance) month.disagreeing += 1;
    this.spent += debit.amount;
  }
}

function noteOn(
  event: Exclude<EventOfAccount, PaymentEvent>,
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
      const { requestId, cost, usage } = event.data;
      for (const what of usage.unpriced) notes.addUnpriced(usage.model, what);
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
    case 'GrantRevoked': {
      const { grantId, amount, cause, reason, actor: by } = event.data;
      note(`credits revoked, ${cause} (${grantId})`, { amount, why: `${reason} (${by})` });
      break;
    }
    case 'DebitReversed': {
      const { requestId, amount, reason, actor: by } = event.data;
      note('debit reversed', { requestId, amount, why: `${reason} (${by})` });
      break;
    }
    case 'BalanceAdjusted': {
      const { adjustmentId, direction, amount, reason, actor: by } = event.data;
      note(`balance adjusted ${direction}wards (${adjustmentId})`, { amount, why: `${reason} (${by})` });
      break;
    }
    case 'AccountSuspended':
    case 'AccountReinstated': {
      const what = event.type === 'AccountSuspended' ? 'account suspended' : 'account reinstated';
      note(what, { why: `${event.data.reason} (${actor})` });
      break;
    }
    case 'GrantRestored': {
      const { grantId, amount, reason, actor: by } = event.data;
      note(`revoked credits restored (${grantId})`, { amount, why: `${reason} (${by})` });
      break;
    }
    case 'CreditsGranted':
      if (event.data.source === 'adjustment')
        note(`credits granted as an adjustment (${event.data.grantId})`, { amount: event.data.amount, why: actor });
      break;
    case 'AccountOpened':
    case 'MemberAdded':
    case 'MemberRoleChanged':
    case 'MemberRemoved':
    case 'CreditsExpired':
    case 'AutoReloadStarted':
    case 'RenewalStarted':
      break;
    default:
      event satisfies never;
  }
}
