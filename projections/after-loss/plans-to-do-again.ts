import { MANUAL } from '../../contracts/payments-configuration.ts';
import { NO_PLAN, WITHOUT_PLAN } from '../../contracts/plan.ts';
import type { AccountState } from '../../ledger/account/account-state.ts';
import { paidBy } from '../../ledger/account/payments.ts';
import { isBack, NO_PAYMENTS } from '../../ledger/account/payments-state.ts';
import { areAllBack, isReturned } from '../../ledger/account/returned-plan.ts';
import type { KnownAccount, PaymentOfPeriod } from './known-accounts.ts';

/** Periods that were paid are told with their payments; one that follows from what the ledger has it begins again by itself. */
export interface PlanToDoAgain {
  /** By the views; null is none. */
  readonly was: PlanAsked | null;
  /** By the ledger; null is none. */
  readonly is: PlanAsked | null;
  /** Which plan was the last, where there was none any more, and why it ended (`cancelled`, `unpaid`). */
  readonly ended: { readonly plan: string; readonly reason: string } | null;
  /** What the ledger has had ended before the views' was begun, which may be the same plan again. */
  readonly isBegunAnew: boolean;
  /** What makes it so again, word by word, one after the other. */
  readonly commands: readonly (readonly string[])[];
  /** Plans that they begin, each of which is to be paid before the command behind it is typed. */
  readonly toBePaid: readonly string[];
  /** One of them writes down what has paid the period: that is not charged, and brings its credits. */
  readonly isConfirmed: boolean;
  /** They ask for a plan that the ledger does not have: a payment of it is begun, whatever was paid before. */
  readonly isChargedAnew: boolean;
  /** By what the time until the views' period ends is paid, which is charged anew. */
  readonly paidBy: readonly { readonly provider: string; readonly paymentId: string }[];
}

interface PlanAsked {
  readonly plan: string;
  /** From when its periods are counted (milliseconds since 1970): a plan that was ended and begun anew has another. Null where it has none. */
  readonly anchorMs: number | null;
  readonly isInForce: boolean;
  /** When the period that is paid ends (exclusive), in milliseconds since 1970; null where none is. */
  readonly untilMs: number | null;
  /** All of what was paid for that is back: it is not renewed. */
  readonly isPaidBack: boolean;
  /** What follows at the end of the period: another plan, or `none`; null is that it is renewed. */
  readonly next: string | null;
  /** The dearer plan that was asked for, and is to be paid. */
  readonly upgrade: string | null;
}

interface States {
  readonly now: AccountState;
  readonly then: AccountState;
}

/** Null where nothing of it is lost. What the ledger has decided since the views is not lost. */
export function missingPlan({ now, then }: States, known: KnownAccount, nowMs: number): PlanToDoAgain | null {
  const [was, is, had] = [planKnown(known), planOf(now), planOf(then)];
  const knowsUpgrade = known.billing?.plan?.upgrade !== undefined;
  const isSame = (one: PlanAsked | null): boolean => {
    const { left, wanted } = compared(one, was, nowMs);
    const isSamePlan = left?.plan === wanted?.plan;
    if (wanted?.isPaidBack === true && !isSamePlan) return true;
    return isSamePlan && left?.next === wanted?.next && (!knowsUpgrade || left?.upgrade === wanted?.upgrade);
  };
  if (isSame(is) || isSame(had)) return null;
  const { endedPlan } = known.billing ?? {};
  const ended = was === null && endedPlan != null ? { plan: endedPlan.plan, reason: endedPlan.reason } : null;
  const isBegunAnew = isBefore(is, was);
  const { left, wanted, isGone } = compared(is, was, nowMs);
  const payments = wanted === null || wanted.untilMs === null ? [] : known.paymentsOfPeriod;
  const has = now.type === 'open' ? now.billing.payments : NO_PAYMENTS;
  const paid = payments.filter((one) => !isBack(one) && paidBy(has, one.paymentId) === undefined);
  const lost = { accountId: known.accountId, left: isGone ? null : left, isLost: isBehind(is, was), payments, paid };
  const again = wanted === null ? NOTHING_BEGUN : doneAgain({ ...lost, was: wanted });
  // What was set by hand has nothing that could be ended.
  const isToEnd = is?.anchorMs != null && (wanted === null || isGone || isBegunAnew);
  const ends = isToEnd ? [['gateway', 'account', 'plan', known.accountId, NO_PLAN, '--now']] : [];
  const commands = [...ends, ...again.commands];
  return commands.length === 0 ? null : { ...again, was, is, ended, isBegunAnew, commands };
}

const NOTHING_BEGUN = { commands: [], toBePaid: [], isConfirmed: false, isChargedAnew: false, paidBy: [] };

type Pair = readonly [one: PlanAsked | null, was: PlanAsked | null];

interface Compared {
  /** What the ledger has by itself of what is wanted. */
  readonly left: PlanAsked | null;
  readonly wanted: PlanAsked | null;
  /** What was is paid back, and the ledger does not have its period: nothing is wanted but what was to follow. */
  readonly isGone: boolean;
}

/** Where the ledger has the period, that its money is back has lines of its own, and is not compared. */
function compared(...[one, was, nowMs]: readonly [...Pair, nowMs: number]): Compared {
  const isLost = one === null || isBefore(one, was) || isBehind(one, was);
  if (was?.isPaidBack === true && isLost) return { left: followed(one), wanted: followed(was), isGone: true };
  const left = leftOf(one, was);
  // By the ledger it may be here again with what is lost.
  const isPaidBack = was?.isPaidBack ?? false;
  return { left: byNow(left && { ...left, isPaidBack }, nowMs), wanted: byNow(was, nowMs), isGone: false };
}

/** What the ledger has of what was: nothing where that was begun after it, and the next period where that is lost, which is begun again. */
function leftOf(...[one, was]: Pair): PlanAsked | null {
  if (one === null || isBefore(one, was)) return null;
  return isBehind(one, was) ? followed(one) : one;
}

/** Whether what was has been begun anew after it; what the ledger has begun since is none of it. */
const isBefore = (...[one, was]: Pair): boolean =>
  one !== null && was !== null && was.anchorMs !== null && (one.anchorMs ?? 0) < was.anchorMs;

/** Whether a period that was paid is lost. */
const isBehind = (...[one, was]: Pair): boolean =>
  one !== null && was !== null && was.untilMs !== null && (one.untilMs ?? 0) < was.untilMs;

/** What is wanted at an instant: where the period is over what was to follow. */
const byNow = (plan: PlanAsked | null, nowMs: number): PlanAsked | null =>
  plan === null || plan.untilMs === null || nowMs < plan.untilMs ? plan : followed(plan);

/** In a period of which nothing is known. What was to be paid for a dearer plan is withdrawn as it begins. */
function followed(one: PlanAsked | null): PlanAsked | null {
  if (one === null) return null;
  const plan = wantedNext(one);
  return plan === NO_PLAN ? null : { ...one, plan, untilMs: null, isPaidBack: false, next: null, upgrade: null };
}

const wantedNext = ({ plan, isPaidBack, next }: PlanAsked): string => next ?? (isPaidBack ? NO_PLAN : plan);

interface Lost {
  readonly accountId: string;
  readonly was: PlanAsked;
  readonly left: PlanAsked | null;
  /** Whether a period of what is left is. */
  readonly isLost: boolean;
  /** Of the period that is wanted; and those of them that stand, and that the ledger does not have. */
  readonly payments: readonly PaymentOfPeriod[];
  readonly paid: readonly PaymentOfPeriod[];
}

/** What is begun is paid before anything is asked for behind it: else that would end it, or be refused. */
function doneAgain({ accountId, was, left, isLost, payments, paid }: Lost): Omit<PlanToDoAgain, keyof Told> {
  const isBegun = left === null || isLost;
  const begun = plansBegun({ was, left, isLost, payments });
  const [first, ...rest] = [...begun, ...asksBehind(was, begun.length === 0 ? left : null)];
  const by = paid.find(
    ({ kind, provider, period }) => isBegun && kind === 'renewal' && provider === MANUAL && period.plan === first,
  );
  const toBePaid = begun.filter((plan) => by === undefined || plan !== first);
  const ask = (plan: string) => ['gateway', 'account', 'plan', accountId, plan];
  const confirms = by === undefined ? [] : [['gateway', 'payment', 'confirm', accountId, '--payment', by.paymentId]];
  const isOther = toBePaid.includes(was.plan) && (begun.length > 1 || left?.plan !== was.plan);
  const others = paid.filter((one) => one !== by).map(({ provider, paymentId }) => ({ provider, paymentId }));
  return {
    commands: first === undefined ? [] : [ask(first), ...confirms, ...rest.map(ask)],
    toBePaid,
    isConfirmed: by !== undefined,
    isChargedAnew: isOther || (was.upgrade !== null && [first, ...rest].includes(was.upgrade)),
    paidBy: isOther ? others : [],
  };
}
type Told = Pick<PlanToDoAgain, 'was' | 'is' | 'ended' | 'isBegunAnew'>;

/** A period that is lost is begun with the plan that it began with, which may have been a cheaper one. */
function plansBegun({ was, left, isLost, payments }: Pick<Lost, 'was' | 'left' | 'isLost' | 'payments'>): string[] {
  if (left === null) return [was.plan];
  if (!isLost) return left.plan === was.plan ? [] : [was.plan];
  const own = payments.find(({ kind }) => kind === 'renewal')?.period.plan;
  return [...new Set([own ?? (payments.length === 0 ? was.plan : left.plan), was.plan])];
}

/** Behind what is begun, or the plan that is left: in the order in which none ends what one before has asked for. */
function asksBehind(was: PlanAsked, left: PlanAsked | null): string[] {
  const isFollowed = left?.next === was.next && (left.upgrade === null || left.upgrade === was.upgrade);
  const next = left === null ? was.next : isFollowed ? null : wantedNext(was);
  return [next, was.upgrade].filter((plan) => plan !== null);
}

const planKnown = (known: KnownAccount): PlanAsked | null => asked(known, areAllBack(known.paymentsOfPeriod));

const planOf = (state: AccountState): PlanAsked | null =>
  state.type === 'open' ? asked(state, isReturned(state)) : null;

interface OfPlan extends Pick<KnownAccount, 'plan'> {
  readonly billing?: Pick<NonNullable<KnownAccount['billing']>, 'plan'> | undefined;
}

/** One that was set by hand, in events of before there were periods, has none. */
function asked({ plan: inForce, billing }: OfPlan, isPaidBack: boolean): PlanAsked | null {
  const { plan } = billing ?? {};
  const byHand = { anchorMs: null, isInForce: true, untilMs: null, isPaidBack: false, next: null, upgrade: null };
  if (plan == null) return inForce === WITHOUT_PLAN ? null : { plan: inForce, ...byHand };
  const untilMs = plan.period?.endMs ?? null;
  const { anchorMs, next, upgrade = null } = plan;
  const follows = { next: next?.plan ?? null, upgrade };
  return { plan: plan.plan, anchorMs, isInForce: untilMs !== null, untilMs, isPaidBack, ...follows };
}
