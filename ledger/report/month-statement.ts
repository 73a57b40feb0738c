import { decodeRecorded } from '../../contracts/event-codec.ts';
import type { ReadableLog } from '../../contracts/event-log.ts';
import { type AccountEvent, type EventData, isAccountEvent, type UsageRecorded } from '../../contracts/events.ts';
import { type AccountId, accountStream, type Revision, timeOfRequest } from '../../contracts/ids.ts';
import { PICO_PER_MICRO } from '../../contracts/money.ts';
import type { StatementFigure } from '../../contracts/statement-events.ts';
import type { Lane } from '../../contracts/usage.ts';
import type { Grant } from '../account/account-state.ts';
import { firstEndOf } from '../account/grants.ts';
import { monthOf, monthOfInstant } from '../account/month.ts';
import { eventAsTold } from '../account/words-for-accounts.ts';
import { GrantsBought, type PaymentMade } from '../postings/grants-bought.ts';
import {
  isCountedBy,
  monthOfEnd,
  netOf,
  noSums,
  openMonth,
  openMonthsOf,
  type StatementSums,
} from '../statement/open-months.ts';
import { PlansHad } from '../statement/plans-had.ts';
import { periodInWords, sentenceOf } from '../statement/sentences.ts';
import { isInStatements, isNoted, type StatementEntry, statementEntryOf } from '../statement/statement-entries.ts';
import { sentenceWithoutPayments } from '../statement/without-payments.ts';

type Closed = EventData<'StatementClosed'>;

/**
 * What was charged of one kind: tokens of a class, or a use; and what of it was not debited, or was later, as exceptions: with a count
 * of requests, and negative what their holds left out, and nothing for usage without a price, or that was reported late. All of them are what was debited, and what was carried on.
 */
export interface StatementItem {
  readonly model: string;
  readonly lane: Lane;
  readonly item: string;
  count: bigint;
  /** Exact, in pico-USD. */
  cost: bigint;
}

const LEFT_OUT = 'exceptions: left out beyond the hold';
const APPROVED = 'exceptions: approved';
const UNPRICED = 'exceptions: usage without a price';
const LATE = 'exceptions: reported late';

export interface StatementMovement {
  readonly at: string;
  readonly revision: number;
  readonly what: string;
  /** Of the statement's figures the one that it is part of; null where it has no amount. */
  readonly figure: StatementFigure | null;
  /** Micro-USD, negative for what was taken; null for what moves no credits: payments, suspensions, what is not debited. */
  readonly amount: bigint | null;
}

/** A month of an account. Amounts in micro-USD where nothing else is said. */
export interface MonthStatement {
  readonly month: string;
  /** `none` is a month in which nothing moved, closed with the next one or before the account was opened. */
  readonly status: 'closed' | 'open' | 'none';
  readonly closed: Closed | null;
  /** The account's first month. */
  readonly openedIn: string;
  readonly opening: bigint;
  readonly sums: StatementSums;
  readonly closing: bigint;
  /** Of credits that have ended by the end of an open month, what is not written down as expired yet: `closing` still has it. */
  readonly ended: bigint;
  /** What of that has ended before the month, and `opening` has, too. */
  readonly endedBefore: bigint;
  /** Debited, by day of the request's start (UTC). */
  readonly days: readonly bigint[];
  readonly models: readonly { readonly model: string; readonly lane: Lane; readonly debited: bigint }[];
  readonly items: readonly StatementItem[];
  /** By how much more, in pico-USD, the debits of later ones will take, or less where it is negative: each takes whole micro-USD. */
  readonly carried: bigint;
  /** Whether `movements` have what became of payments. */
  readonly withPayments: boolean;
  /** All but debits of requests, one by one, as many as were asked for. */
  readonly movements: readonly StatementMovement[];
  readonly movementsLeftOut: number;
}

/** How many movements at most, and whether to who may see the account's payments. */
interface Asked {
  readonly movementsMax: number;
  readonly withPayments: boolean;
}

/**
 * Reads the account's stream twice: which months are closed, and what stands in this one; what no statement has, a third time.
 * @param over the grants that the clock has ended
 */
export async function monthStatement(
  log: Pick<ReadableLog, 'readStream'>,
  accountId: AccountId,
  month: string,
  over: readonly Grant[] = [],
  asked: Asked = { movementsMax: Number.POSITIVE_INFINITY, withPayments: true },
): Promise<MonthStatement> {
  const closed: Closed[] = [];
  let openedIn = month;
  for await (const recorded of log.readStream(accountStream(accountId)))
    if (recorded.type === 'StatementClosed' || recorded.type === 'AccountOpened') {
      const { event, metadata } = decodeRecorded(recorded);
      if (event.type === 'StatementClosed') closed.push(event.data);
      else openedIn = monthOfInstant(metadata.recordedAt);
    }
  const last = closed.at(-1);
  const next =
    last === undefined || last.month >= month ? null : await nextClosed(log, accountId, { last, month, over });
  const place = placeOf(closed, { month, openedIn, next });
  const contents = new Contents(month, asked);
  let opening = place.opening;
  let lastClosed: string | null = null;
  for await (const recorded of log.readStream(accountStream(accountId))) {
    const isUsage = recorded.type === 'UsageRecorded';
    if (!isUsage && !isInStatements(recorded.type) && !isNoted(recorded.type)) continue;
    const { event, metadata } = decodeRecorded(recorded);
    if (!isAccountEvent(event)) continue;
    const written = { revision: recorded.revision, at: metadata.recordedAt, by: metadata.actor };
    contents.plans.take(event);
    contents.plansHad.take(event);
    if (event.type === 'StatementClosed') lastClosed = event.data.month;
    if (event.type === 'UsageRecorded' || event.type === 'LateUsageReported') {
      const isLate = event.type === 'LateUsageReported';
      const usage = isLate ? event.data.usage : event.data;
      if (!isLate && usage.unpriced.length === 0) continue;
      if (place.where(monthOfInstant(usage.startedAt), recorded.revision, written.at) !== 'in') continue;
      if (isLate) contents.note(event, written);
      contents.addUndebited(usage, isLate ? LATE : UNPRICED);
      continue;
    }
    // What was paid stands beside its credits.
    const isByItself = isNoted(event.type) && event.type !== 'PaymentSucceeded';
    if (isByItself && openMonth(monthOfInstant(written.at), lastClosed) === month) contents.note(event, written);
    const entry = statementEntryOf(event, metadata.recordedAt);
    if (entry === null) continue;
    const where = place.where(entry.month, recorded.revision);
    if (where === 'before') opening += netOf({ ...noSums(), [entry.figure]: entry.amount });
    else if (where === 'in') contents.take(event, entry, written);
  }
  const { status, statement } = place;
  const { sums } = contents;
  return {
    ...{ month, status, closed: statement, openedIn, opening, closing: opening + netOf(sums) },
    ...endedBy(month, status === 'open' ? over : [], last?.month ?? null),
    ...contents.result(),
    withPayments: asked.withPayments,
  };
}

function endedBy(
  month: string,
  over: readonly Grant[],
  lastClosed: string | null,
): Pick<MonthStatement, 'ended' | 'endedBefore'> {
  let [ended, endedBefore] = [0n, 0n];
  for (const { remaining, expiresAtMs } of over) {
    const end = expiresAtMs === null ? null : monthOfEnd(expiresAtMs, lastClosed);
    if (end !== null && end <= month) ended += remaining;
    if (end !== null && end < month) endedBefore += remaining;
  }
  return { ended, endedBefore };
}

interface Place {
  readonly status: MonthStatement['status'];
  readonly statement: Closed | null;
  readonly opening: bigint;
  /** By the month of the fact; with when it was written down of what moves nothing. */
  readonly where: (fact: string, revision: Revision, ofNothing?: string) => 'before' | 'in' | null;
}

/** The month up to a given one that is closed next: its statement has what came behind the last one, too. */
const nextClosed = async (
  log: Pick<ReadableLog, 'readStream'>,
  accountId: AccountId,
  { last, month, over }: { readonly last: Closed; readonly month: string; readonly over: readonly Grant[] },
): Promise<string | null> => (await openMonthsOf(log, accountId, last)).firstUpTo(month, firstEndOf(over));

function placeOf(
  closed: readonly Closed[],
  { month, openedIn, next }: Pick<MonthStatement, 'month' | 'openedIn'> & { readonly next: string | null },
): Place {
  const at = closed.findIndex((one) => one.month >= month);
  const before = (at === -1 ? closed.at(-1) : closed[at - 1]) ?? null;
  const opening = before?.closing ?? 0n;
  const statement = closed[at];
  if (statement === undefined && month >= openedIn)
    return {
      ...{ status: 'open', statement: null, opening },
      where: (fact, at, ofNothing) => {
        if (isCountedBy(before, fact, at)) return null;
        const own = before !== null && fact <= before.month ? lateIn(before.month, next, ofNothing) : fact;
        if (own === month) return 'in';
        return own !== null && own < month ? 'before' : null;
      },
    };
  if (statement?.month !== month) return { status: 'none', statement: null, opening, where: () => null };
  return {
    ...{ status: 'closed', statement, opening },
    where: (fact, at) => (isCountedBy(statement, fact, at) && !isCountedBy(before, fact, at) ? 'in' : null),
  };
}

/** What moves nothing makes no month the next one that is closed: until there is one, it is shown as it was written down. */
function lateIn(closed: string, next: string | null, ofNothing: string | undefined): string | null {
  if (ofNothing === undefined) return next;
  const writtenIn = openMonth(monthOfInstant(ofNothing), closed);
  return next !== null && next < writtenIn ? next : writtenIn;
}

/** A plan is begun by what is paid for it, not by its claim. */
class PaidPeriods {
  readonly #claims = new Map<string, EventData<'RenewalStarted'>>();
  readonly #bought = new GrantsBought();
  /** For the credits that were taken last; null for all else. */
  paid: PaymentMade | null = null;

  take(event: AccountEvent): void {
    this.paid = this.#bought.take(event);
    if (event.type === 'RenewalStarted') this.#claims.set(event.data.attemptId, event.data);
  }

  /** By the credits of a period: what is paid too late brings credits as bought. */
  begunBy(event: AccountEvent): string {
    if (event.type !== 'CreditsGranted' || event.data.source !== 'plan') return '';
    const claim = this.#claims.get(this.paid?.data.attemptId ?? '');
    return claim === undefined ? '' : `: ${periodInWords(claim)} begins`;
  }
}

interface Written extends Pick<StatementMovement, 'at' | 'revision'> {
  readonly by: string;
}

type Debited = Pick<
  EventData<'CreditsDebited'>,
  'requestId' | 'model' | 'lane' | 'amount' | 'carryBefore' | 'carryAfter'
>;

class Contents {
  readonly plans = new PaidPeriods();
  readonly plansHad = new PlansHad();
  readonly sums = noSums();
  readonly #month: string;
  readonly #asked: Asked;
  readonly #days: bigint[];
  readonly #models = new Map<string, { readonly model: string; readonly lane: Lane; debited: bigint }>();
  readonly #items = new Map<string, StatementItem>();
  readonly #movements: StatementMovement[] = [];
  #leftOut = 0;
  #carried = 0n;

  constructor(month: string, asked: Asked) {
    this.#month = month;
    this.#asked = asked;
    const [year = 0, number = 0] = month.split('-').map(Number);
    this.#days = Array.from({ length: new Date(Date.UTC(year, number, 0)).getUTCDate() }, () => 0n);
  }

  take(event: AccountEvent, entry: StatementEntry, written: Written): void {
    const { at } = written;
    this.sums[entry.figure] += entry.amount;
    if (event.type === 'CreditsDebited') {
      this.#takeDebit(event.data, at);
      return;
    }
    if (event.type === 'ExceptionApproved') {
      this.#addDebited(event.data, at);
      this.#addItem(event.data, APPROVED, 1n, event.data.cost);
    }
    const { paid } = this.plans;
    if (paid !== null) this.note(paid, { ...written, revision: written.revision - 1 });
    this.note(event, written, entry);
  }

  /** As one of those that are shown one by one. */
  note(event: AccountEvent, { revision, at, by }: Written, entry: StatementEntry | null = null): void {
    const sentence = this.#sentenceOf(event, by);
    if (sentence === null) return;
    if (this.#movements.length >= this.#asked.movementsMax) this.#leftOut++;
    else {
      const what = `${sentence}${this.plans.begunBy(event)}`;
      const figure = entry?.figure ?? null;
      const amount = entry === null ? null : netOf({ ...noSums(), [entry.figure]: entry.amount });
      this.#movements.push({ at, revision, what, figure, amount });
    }
  }

  result(): Pick<MonthStatement, 'sums' | 'days' | 'models' | 'items' | 'carried' | 'movements' | 'movementsLeftOut'> {
    const byDebited = [...this.#models.values()].sort(
      (one, other) => Number(other.debited > one.debited) - Number(other.debited < one.debited),
    );
    const items = [...this.#items.values()].sort((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1));
    return {
      ...{ sums: this.sums, days: this.#days, models: byDebited, items, carried: this.#carried },
      ...{ movements: this.#movements, movementsLeftOut: this.#leftOut },
    };
  }

  /** Null where it is not told. */
  #sentenceOf(event: AccountEvent, by: string): string | null {
    const ended = this.plansHad.sentenceOf(event);
    if (ended !== null) return ended;
    return this.#asked.withPayments
      ? sentenceOf(eventAsTold('account', event), undefined, by)
      : sentenceWithoutPayments(event, by);
  }

  addUndebited(usage: UsageRecorded, item: string): void {
    this.#addItem(usage, item, 1n, 0n);
  }

  #takeDebit(debit: EventData<'CreditsDebited'>, at: string): void {
    this.#addDebited(debit, at);
    for (const { tokenClass, tokens, cost } of debit.lines) this.#addItem(debit, tokenClass, BigInt(tokens), cost);
    for (const { use, count, cost } of debit.uses) this.#addItem(debit, use, BigInt(count), cost);
    const { leftOut } = debit;
    if (leftOut > 0n) this.#addItem(debit, LEFT_OUT, 1n, -leftOut * PICO_PER_MICRO);
  }

  /** A request that began in another month stands at the day of its event, or of its month's end. */
  #addDebited({ requestId, model, lane, amount, carryBefore, carryAfter }: Debited, at: string): void {
    this.#carried += carryAfter - carryBefore;
    const startedMs = timeOfRequest(requestId);
    const began = monthOf(startedMs) === this.#month ? new Date(startedMs).toISOString() : at;
    const day = monthOfInstant(began) === this.#month ? Number(began.slice(8, 10)) - 1 : this.#days.length - 1;
    this.#days[day] = (this.#days[day] ?? 0n) + amount;
    const key = JSON.stringify([model, lane]);
    const known = this.#models.get(key) ?? { model, lane, debited: 0n };
    known.debited += amount;
    this.#models.set(key, known);
  }

  #addItem({ model, lane }: Pick<StatementItem, 'model' | 'lane'>, item: string, count: bigint, cost: bigint): void {
    const key = keyOf({ model, lane, item });
    const known = this.#items.get(key) ?? { model, lane, item, count: 0n, cost: 0n };
    known.count += count;
    known.cost += cost;
    this.#items.set(key, known);
  }
}

const keyOf = ({ model, lane, item }: Pick<StatementItem, 'model' | 'lane' | 'item'>): string =>
  JSON.stringify([model, lane, item]);
