import type { CatalogPlan } from '../../../contracts/plan.ts';
import type { AccountCommand } from '../../../ledger/account/commands.ts';
import { isOpen, type PlainAttempt, type PlainAttempts } from './plain-attempts.ts';
import type { Verdict } from './plain-grants.ts';
import { goneOf } from './plain-returns.ts';

type Of<T extends AccountCommand['type']> = Extract<AccountCommand, { readonly type: T }>;

/** A period that was begun and is not paid. */
interface PlainBill {
  readonly fromMs: number;
  readonly toMs: number;
  readonly graceMs: number;
  readonly tries: number;
  /** No further try before; infinite for none. */
  notBeforeMs: number;
}

/** As a period ends, unless a dearer plan that was asked for since is paid by then. */
interface PlainNext {
  readonly name: string;
  readonly fromMs: number;
}

interface PlainPlan {
  readonly name: string;
  /** The first period's start: all begin on its day of the month. */
  readonly bornMs: number;
  /** A month, for which plan it was paid, and which dearer ones were there since. */
  readonly paid: {
    readonly fromMs: number;
    readonly toMs: number;
    readonly name: string;
    readonly more: readonly string[];
  } | null;
  readonly bill: PlainBill | null;
  readonly next: PlainNext | null;
  /** A dearer one that was asked for last, and is not paid. */
  readonly dearer: string | null;
}

interface PlainGift {
  readonly id: string;
  readonly amount: bigint;
  readonly untilMs: number;
}

const DAY_MS = 86_400_000;
const [CENT, HALF_A_DOLLAR] = [10_000n, 500_000n];
const WAITS_MS = [1, 2, 4].map((days) => days * DAY_MS);
const NEVER = Number.POSITIVE_INFINITY;

/** Which plan an account has, what of it is paid, and what is to be. */
export class PlainPlans {
  /** In force. */
  name = 'trial';
  readonly #attempts: PlainAttempts;
  readonly #give: (gift: PlainGift) => void;
  /** When periods began that cost nothing. */
  readonly #gifts = new Set<number>();
  #has: PlainPlan | null = null;
  #sold: readonly CatalogPlan[] = [];
  #isSuspended = false;

  /** @param give grants what a plan gives that nobody pays for */
  constructor(attempts: PlainAttempts, give: (gift: PlainGift) => void) {
    this.#attempts = attempts;
    this.#give = give;
  }

  get told(): unknown {
    const { name: asked, paid, bill, next } = this.#has ?? { name: null, paid: null, bill: null, next: null };
    const tried = bill === null ? null : [bill.fromMs, bill.tries];
    const isBack = this.#has !== null && this.#isBack(this.#has);
    return { inForce: this.name, asked, paid: paid?.fromMs ?? null, isBack, tried, next: next?.name ?? null };
  }

  /** Null for what is no plan's. */
  carryOut(command: AccountCommand, isSuspended: boolean): Verdict | null {
    this.#isSuspended = isSuspended;
    if (command.type === 'EndPlan') return this.#end('refused');
    if (command.type !== 'ChangePlan' && command.type !== 'StartRenewal') return null;
    this.#sold = command.catalog.plans.get(command.catalog.version) ?? [];
    return command.type === 'ChangePlan' ? this.#askUnlessSpent(command) : this.#look(command, false);
  }

  #askUnlessSpent(command: Of<'ChangePlan'>): Verdict {
    const [has, name] = [this.#has, this.name];
    const isOver = has !== null && this.#isOver(has, command.nowMs);
    const isNext =
      has !== null && has.bill !== null && (command.plan !== has.name || this.#billed(has.bill) === has.name);
    const isAnew = has !== null && !isNext && command.plan !== 'none' && this.#isBack(has);
    if (!isOver && !isAnew) return this.#askOfOne(command);
    this.#end('nothing');
    const verdict = command.plan === 'none' ? 'done' : this.#askOfOne(command);
    const isInTheWay = this.#sold.some(({ id }) => id === command.plan) && this.#all().some(isOpen);
    if (isOver || isInTheWay || verdict === 'done') return 'done';
    [this.#has, this.name] = [has, name];
    return verdict;
  }

  /** Nobody has paid for what it has, for all of that is with them again: also where somebody has paid for what it has not. */
  #isBack({ paid }: PlainPlan): boolean {
    if (paid === null) return false;
    const first = this.#triesOf(paid).filter(({ state, period }) => state === 'paid' && period?.plan === paid.name);
    const more = this.#all().filter(
      ({ kind, state, period }) =>
        kind === 'upgrade' &&
        state === 'paid' &&
        period !== null &&
        isWithin(paid, period) &&
        paid.more.includes(period.plan),
    );
    const payments = [...(this.#gifts.has(paid.fromMs) ? [] : first), ...more];
    return payments.length > 0 && payments.every((one) => goneOf(one) >= one.price);
  }

  /** By the clock, though nobody has looked. */
  #isOver(plan: PlainPlan, nowMs: number): boolean {
    const { paid, bill, next, bornMs } = plan;
    if (nowMs < (paid?.toMs ?? bornMs)) return false;
    const follows = next !== null && next.fromMs <= nowMs ? next.name : null;
    if (follows === 'none') return true;
    const isAsked = this.#all().some((one) => one.kind === 'renewal' && isOpen(one));
    if (follows === null && this.#isBack(plan) && !isAsked) return true;
    return bill !== null && nowMs >= bill.graceMs && (this.#unanswered(bill) === null || this.#isGivenUp(bill));
  }

  #askOfOne(command: Of<'ChangePlan'>): Verdict {
    const [has, before] = [this.#has, this.#attempts.all.length];
    const verdict = this.#ask(command);
    const begun = Object.entries(this.#attempts.byId)[before];
    if (begun === undefined || begun[1].card === null || !this.#attempts.isSpent(command.nowMs)) return verdict;
    this.#attempts.drop(begun[0]);
    this.#has = has;
    return 'refused';
  }

  /** Whether it will bring credits by itself: nothing else is bought meanwhile. */
  isPaying(nowMs: number): boolean {
    if (this.#all().some(isOpen)) return true;
    const has = this.#has;
    if (has === null || has.bill !== null || nowMs < (has.paid?.toMs ?? has.bornMs)) return false;
    return has.next?.name !== 'none' || nowMs < has.next.fromMs;
  }

  /** Until when what it pays for is there; infinite for what is credit as bought. */
  untilMs(attempt: PlainAttempt, nowMs: number): number {
    const toMs = attempt.period?.toMs ?? nowMs;
    return nowMs < toMs && this.#isMeant(attempt) ? toMs : NEVER;
  }

  paid(attempt: PlainAttempt): void {
    const has = this.#has;
    if (has === null || attempt.period === null || !this.#isMeant(attempt)) return;
    this.name = attempt.period.plan;
    this.#has =
      attempt.kind === 'renewal'
        ? begunWith(has, attempt.period)
        : { ...has, name: this.name, next: null, dearer: null, paid: paidMore(has.paid, this.name) };
  }

  /** @param againMs when it was declined, where it may be tried again; null where nobody says so */
  ended(attempt: PlainAttempt, againMs: number | null): void {
    const bill = this.#has?.bill ?? null;
    if (bill === null || attempt.kind !== 'renewal' || !this.#isMeant(attempt)) return;
    const noes = this.#triesOf(bill).filter(
      (one) => (one.state === 'failed' || isNo(one)) && !this.#attempts.isOfOldCard(one),
    );
    if (attempt.state === 'failed' && this.#attempts.isOfOldCard(attempt)) bill.notBeforeMs = 0;
    else bill.notBeforeMs = againMs === null || noes.length > 3 ? NEVER : againMs + waitAfter(bill);
  }

  /** With another card it is tried at once. */
  tryNow(): void {
    if (this.#has?.bill != null) this.#has.bill.notBeforeMs = 0;
  }

  #ask(command: Of<'ChangePlan'>): Verdict {
    const { plan: name, nowMs } = command;
    const has = this.#has;
    if (name === 'none') return this.#endLater(nowMs);
    const wanted = this.#sold.find((one) => one.id === name);
    if (wanted === undefined) return 'refused';
    if (has !== null && lastSaid(has) === name) return this.#look(command, true);
    if (has?.name !== name && this.#all().some(isOpen)) return 'refused';
    if (has === null || has.paid === null) {
      // Asked for twice in one millisecond it goes on from the first.
      this.#has =
        has?.bornMs === nowMs
          ? { ...has, next: { name, fromMs: nowMs } }
          : { name, bornMs: nowMs, paid: null, bill: null, next: null, dearer: null };
      this.#look(command, true);
      return 'done';
    }
    const rest = nowMs < has.paid.toMs && has.name !== name ? this.#restOf(has, has.paid, wanted, nowMs) : null;
    if (rest !== null && rest.price >= HALF_A_DOLLAR && rest.credits > 0n) {
      const period = { plan: name, fromMs: nowMs, toMs: has.paid.toMs };
      this.#claim({ kind: 'upgrade', provider: command.provider, nowMs, ...rest, period });
      this.#has = { ...has, dearer: name };
      return 'done';
    }
    this.#has = { ...has, next: has.name === name ? null : { name, fromMs: has.paid.toMs }, dearer: null };
    this.#look(command, true);
    return 'done';
  }

  #endLater(nowMs: number): Verdict {
    const has = this.#has;
    if (has === null || has.paid === null || nowMs >= has.paid.toMs) return this.#end('refused');
    if (lastSaid(has) === 'none') return 'nothing';
    this.#has = { ...has, next: { name: 'none', fromMs: has.paid.toMs }, dearer: null };
    return 'done';
  }

  #end(without: Verdict): Verdict {
    if (this.#has === null) return without;
    this.#has = null;
    this.name = 'trial';
    return 'done';
  }

  /** By days, for the customer. */
  #restOf({ name }: PlainPlan, { fromMs, toMs }: { fromMs: number; toMs: number }, wanted: CatalogPlan, nowMs: number) {
    const before = this.#sold.find((one) => one.id === name);
    if (before === undefined) return null;
    const days = BigInt(Math.round((toMs - fromMs) / DAY_MS));
    const left = BigInt(Math.ceil((toMs - nowMs) / DAY_MS));
    const micros = ((wanted.price - before.price) * left) / days;
    const more = (wanted.credits - before.credits) * left;
    return { price: micros - (micros % CENT), credits: more / days + (more % days > 0n ? 1n : 0n) };
  }

  #look({ nowMs, provider }: { nowMs: number; provider: string }, isAskedFor: boolean): Verdict {
    const has = this.#has;
    if (has === null || nowMs < (has.paid?.toMs ?? has.bornMs)) return 'nothing';
    const name = has.next !== null && has.next.fromMs <= nowMs ? has.next.name : has.name;
    if (this.#isOver(has, nowMs)) return this.#end('nothing');
    const { bill } = has;
    const againMs = bill === null ? null : this.#unanswered(bill);
    if (this.#all().some((one) => one.kind === 'renewal' && isOpen(one))) return 'nothing';
    const isOver = bill !== null && nowMs >= bill.graceMs && this.#isDeclined(bill);
    if (this.#isSuspended) return isOver ? this.#end('nothing') : 'nothing';
    const said = bill?.notBeforeMs ?? 0;
    if (!isAskedFor && nowMs < (said === NEVER ? (againMs ?? NEVER) : said)) return 'nothing';
    const wanted = this.#sold.find((one) => one.id === name);
    if (wanted === undefined) return isOver ? this.#end('nothing') : 'nothing';
    const again = bill !== null && nowMs < bill.toMs ? bill : null;
    const { fromMs, toMs } = again ?? monthFrom(has.bornMs, nowMs);
    const period = { plan: name, fromMs, toMs };
    if (wanted.price === 0n) {
      this.name = name;
      this.#has = begunWith(has, period);
      this.#gifts.add(fromMs);
      this.#give({ id: this.#idOf('renewal', fromMs), amount: wanted.credits, untilMs: toMs });
      return 'done';
    }
    const isInTurns = again === null && bill !== null && provider !== 'manual' && this.#hasTriedOther(bill, name);
    const graceMs = isInTurns ? nowMs : this.#graceOf(again, wanted, nowMs, provider === 'manual');
    const tries = bill?.fromMs === fromMs ? bill.tries + 1 : 1;
    this.#has = { ...has, bill: { fromMs, toMs, graceMs, tries, notBeforeMs: NEVER } };
    const { price, credits } = wanted;
    this.#claim({ kind: 'renewal', provider, nowMs, price, credits, period });
    return 'done';
  }

  /** A plan that others were tried before has what is its own, from its own first try on, and none beyond the month. */
  #graceOf(bill: PlainBill | null, { id, graceDays }: CatalogPlan, nowMs: number, isByHand: boolean): number {
    const fullMs = nowMs + graceDays * DAY_MS;
    if (bill === null) return fullMs;
    const isNewest = this.#newest(bill.fromMs)?.period?.plan === id;
    const first = this.#triesOf(bill).find(({ period }) => period?.plan === id);
    // A month that was begun without any has none for whatever is tried.
    const hasNone = this.#hasNone(bill);
    const ownMs = isNewest || hasNone ? bill.graceMs : (first?.startedMs ?? nowMs) + graceDays * DAY_MS;
    const graceMs = isByHand && nowMs >= ownMs ? fullMs : ownMs;
    return isNewest || graceMs < bill.toMs ? graceMs : bill.toMs;
  }

  /** For a month that is over, and nothing came of it. */
  #hasTriedOther(bill: PlainBill, name: string): boolean {
    const isOver = ({ state }: PlainAttempt): boolean => state === 'failed' || state === 'abandoned';
    return this.#triesOf(bill).some((one) => one.period?.plan !== name && isOver(one));
  }

  /** Nobody has said what became of the newest try: for ever while it is open, and until the next where it was given up. */
  #unanswered(bill: PlainBill): number | null {
    const newest = this.#newest(bill.fromMs);
    if (newest === undefined) return null;
    // Nobody was asked for the plan that is wanted by now.
    if (newest.period?.plan !== this.#billed(bill) || newest.state === 'paid') return 0;
    if (newest.provider === 'manual') return null;
    if (isOpen(newest)) return NEVER;
    // Nobody has asked the card that there is by now.
    if (this.#attempts.isOfOldCard(newest)) return 0;
    return newest.state === 'abandoned' && !isNo(newest) ? newest.startedMs + waitAfter(bill) : null;
  }

  /** Nobody waits any longer for a card that was saved since, where that is not asked for anything. */
  #isDeclined(bill: PlainBill): boolean {
    const newest = this.#newest(bill.fromMs);
    if (newest === undefined || newest.period?.plan !== this.#billed(bill)) return false;
    return newest.state === 'failed' || isNo(newest);
  }

  /** The fourth time without a word is as good as a no, once there is no time left; whichever plan it was of, in a month without any. */
  #isGivenUp(bill: PlainBill): boolean {
    const tries = this.#triesOf(bill);
    const isOfIt = ({ period }: PlainAttempt): boolean => period?.plan === this.#billed(bill);
    const isSilent = (one: PlainAttempt): boolean => one.state === 'abandoned' && !isNo(one);
    const newest = this.#newest(bill.fromMs);
    const hasNone = this.#hasNone(bill);
    const silent = tries.filter((one) => isSilent(one) && (hasNone || isOfIt(one)));
    return newest !== undefined && newest.state === 'abandoned' && isOfIt(newest) && silent.length >= 4;
  }

  /** Its first try alone tells: those behind it may be by another clock. */
  #hasNone(bill: PlainBill): boolean {
    const [first] = this.#triesOf(bill);
    return first !== undefined && bill.graceMs <= first.startedMs;
  }

  #triesOf({ fromMs }: Pick<PlainBill, 'fromMs'>): PlainAttempt[] {
    return this.#all().filter(({ kind, period }) => kind === 'renewal' && period?.fromMs === fromMs);
  }

  #isMeant(attempt: PlainAttempt): boolean {
    const { kind, period } = attempt;
    if (this.#has === null || period === null) return false;
    const { paid, bill, dearer } = this.#has;
    if (kind === 'renewal') return bill?.fromMs === period.fromMs && this.#billed(bill) === period.plan;
    return bill === null && paid?.toMs === period.toMs && dearer === period.plan;
  }

  /** What a period that was begun is to be paid for, as things are. */
  #billed({ fromMs }: PlainBill): string | undefined {
    const next = this.#has?.next ?? null;
    return next !== null && next.fromMs <= fromMs ? next.name : this.#has?.name;
  }

  #newest(fromMs: number): PlainAttempt | undefined {
    return this.#all().findLast(({ kind, period }) => kind === 'renewal' && period?.fromMs === fromMs);
  }

  #all(): PlainAttempt[] {
    return this.#attempts.all.filter(({ period }) => period !== null);
  }

  #claim(claim: Omit<Parameters<PlainAttempts['begin']>[1], 'nowMs'> & { readonly nowMs: number }): PlainAttempt {
    return this.#attempts.begin(this.#idOf(claim.kind, claim.period?.fromMs ?? 0), claim);
  }

  /** The next of its name. */
  #idOf(kind: string, fromMs: number): string {
    const first = `${kind}_${new Date(fromMs).toISOString()}`;
    let id = first;
    for (let number = 2; this.#attempts.find(id) !== undefined; number++) id = `${first}_${number}`;
    return id;
  }
}

const waitAfter = ({ tries }: PlainBill): number => WAITS_MS[tries - 1] ?? 4 * DAY_MS;

/** An operator says it by giving up. */
const isNo = ({ state, no }: PlainAttempt): boolean => state === 'abandoned' && no !== null;

/** Null where it is undecided which. */
const lastSaid = ({ name, next, dearer }: PlainPlan): string | null => (dearer === null ? (next?.name ?? name) : null);

const paidMore = (paid: PlainPlan['paid'], name: string): PlainPlan['paid'] =>
  paid === null ? null : { ...paid, more: [...paid.more, name] };

interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

const isWithin = (month: Span, rest: Span): boolean =>
  rest.toMs === month.toMs && rest.fromMs > month.fromMs - DAY_MS / 2;

const begunWith = (has: PlainPlan, { plan, fromMs, toMs }: NonNullable<PlainAttempt['period']>): PlainPlan => ({
  ...{ name: plan, bornMs: has.bornMs, paid: { fromMs, toMs, name: plan, more: [] }, bill: null, dearer: null },
  next: has.next !== null && has.next.fromMs <= fromMs ? null : has.next,
});

/** Counted from the first one on. */
function monthFrom(bornMs: number, nowMs: number): { readonly fromMs: number; readonly toMs: number } {
  const born = new Date(bornMs);
  const begin = (month: number): number => {
    const first = new Date(Date.UTC(born.getUTCFullYear(), born.getUTCMonth() + month));
    const days = new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + 1) - DAY_MS).getUTCDate();
    return first.getTime() + (Math.min(born.getUTCDate(), days) - 1) * DAY_MS + (bornMs % DAY_MS);
  };
  let month = 0;
  while (begin(month + 1) <= nowMs) month++;
  return { fromMs: begin(month), toMs: begin(month + 1) };
}
