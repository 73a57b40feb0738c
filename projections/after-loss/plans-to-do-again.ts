import { grantsOfPayment, paymentId } from '../../contracts/ids.ts';
import { MANUAL } from '../../contracts/payments-configuration.ts';
import { NO_PLAN, WITHOUT_PLAN } from '../../contracts/plan.ts';
import type { AccountState } from '../../ledger/account/account-state.ts';
import { paidBy } from '../../ledger/account/payments.ts';
import { NO_PAYMENTS } from '../../ledger/account/payments-state.ts';
import { isReturned } from '../../ledger/account/returned-plan.ts';
import type { KnownAccount, KnownPayments } from './known-accounts.ts';

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
  const wanted = byNow(was, nowMs);
  const knowsUpgrade = known.billing?.plan?.upgrade !== undefined;
  const isSame = (one: PlanAsked | null): boolean => {
    const left = byNow(leftOf(one, was), nowMs);
    const isAsked = left?.plan === wanted?.plan && left?.next === wanted?.next;
    return isAsked && (!knowsUpgrade || left?.upgrade === wanted?.upgrade);
  };
  if (isSame(is) || isSame(had)) return null;
  const { endedPlan } = known.billing ?? {};
  const ended = was === null && endedPlan != null ? { plan: endedPlan.plan, reason: endedPlan.reason } : null;
  const isBegunAnew = isBefore(is, was);
  const told = { was, is, ended, isBegunAnew };
  const ends = [['gateway', 'account', 'plan', known.accountId, NO_PLAN, '--now']];
  const left = leftOf(is, was);
  if (wanted === null || (left === null && wanted.isPaidBack))
    return is === null ? null : { ...told, ...NOTHING_BEGUN, commands: ends };
  const has = now.type === 'open' ? now.billing.payments : NO_PAYMENTS;
  const paid = paidFor(wanted, known, nowMs).filter(({ paymentId }) => paidBy(has, paymentId) === undefined);
  const isLost = isBehind(is, was);
  const { commands, ...begun } = doneAgain({ accountId: known.accountId, was: wanted, left, isLost, paid });
  // What was set by hand has nothing that could be ended.
  const isToEnd = isBegunAnew && is?.anchorMs != null;
  return { ...told, ...begun, commands: [...(isToEnd ? ends : []), ...commands] };
}

const NOTHING_BEGUN = { toBePaid: [], isConfirmed: false, isChargedAnew: false, paidBy: [] };

type Pair = readonly [one: PlanAsked | null, was: PlanAsked | null];

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
function byNow(plan: PlanAsked | null, nowMs: number): PlanAsked | null {
  return plan === null || plan.untilMs === null || nowMs < plan.untilMs ? plan : followed(plan);
}

/** What was to be paid for a dearer plan is withdrawn as the next period begins. */
function followed(one: PlanAsked): PlanAsked | null {
  const plan = one.next ?? one.plan;
  return plan === NO_PLAN ? null : { ...one, plan, next: null, upgrade: null };
}

interface Lost {
  readonly accountId: string;
  readonly was: PlanAsked;
  readonly left: PlanAsked | null;
  /** Whether a period of what is left is. */
  readonly isLost: boolean;
  readonly paid: readonly PaidBy[];
}

/** What is begun is paid before anything is asked for behind it: else that would end it, or be refused. */
function doneAgain({ accountId, was, left, isLost, paid }: Lost): Omit<PlanToDoAgain, keyof Told> {
  const again = left !== null && isLost ? [left.plan] : [];
  const [first = was.plan, ...rest] = [...again, ...asksFor(was, left)];
  const begun = [...again, ...(left?.plan === was.plan ? [] : [was.plan])];
  const isBegun = left === null || isLost;
  const by = paid.find((one) => isBegun && one.kind === 'renewal' && one.provider === MANUAL && one.plan === first);
  const ask = (plan: string) => ['gateway', 'account', 'plan', accountId, plan];
  const confirms = by === undefined ? [] : [['gateway', 'payment', 'confirm', accountId, '--payment', by.paymentId]];
  const isOther = left === null ? by === undefined : left.plan !== was.plan;
  return {
    commands: [ask(first), ...confirms, ...rest.map(ask)],
    toBePaid: begun.filter((plan) => by === undefined || plan !== first),
    isConfirmed: by !== undefined,
    isChargedAnew: isOther || (was.upgrade !== null && [first, ...rest].includes(was.upgrade)),
    paidBy: isOther ? paid.filter((one) => one !== by).map(({ provider, paymentId }) => ({ provider, paymentId })) : [],
  };
}
type Told = Pick<PlanToDoAgain, 'was' | 'is' | 'ended' | 'isBegunAnew'>;

/** In the order in which none ends what one before has asked for. */
function asksFor(was: PlanAsked, is: PlanAsked | null): string[] {
  const hasPlan = is !== null && is.plan === was.plan;
  const isFollowed = hasPlan && is.next === was.next && (is.upgrade === null || is.upgrade === was.upgrade);
  return [
    ...(hasPlan && (isFollowed || was.next !== null) ? [] : [was.plan]),
    ...(isFollowed || was.next === null ? [] : [was.next]),
    ...(was.upgrade === null ? [] : [was.upgrade]),
  ];
}

type KnownAttempt = KnownPayments['attempts'][string];
type PaidBy = Pick<KnownAttempt, 'kind' | 'provider'> & { readonly plan: string; readonly paymentId: string };

/** By what the period is paid, where that is not over, with what was paid for a dearer plan within it. */
function paidFor({ untilMs, isPaidBack }: PlanAsked, known: KnownAccount, nowMs: number): PaidBy[] {
  if (untilMs === null || untilMs <= nowMs || isPaidBack) return [];
  return paidUntil(known, untilMs).flatMap(({ kind, provider, paymentId, period }) =>
    paymentId === null || period === null ? [] : [{ kind, provider, paymentId, plan: period.plan }],
  );
}

const paidUntil = ({ billing }: KnownAccount, untilMs: number): KnownAttempt[] =>
  Object.values(billing?.payments?.attempts ?? {}).filter(
    ({ state, period }) => state === 'paid' && period?.endMs === untilMs,
  );

function planKnown(known: KnownAccount): PlanAsked | null {
  const ofPlans = new Set(known.grants.filter(({ source }) => source === 'plan').map(({ grantId }) => grantId));
  // The others have bought credit alone.
  const paid = paidUntil(known, known.billing?.plan?.period?.endMs ?? 0).filter(
    ({ paymentId: id }) => id !== null && grantsOfPayment(paymentId(id)).some((grantId) => ofPlans.has(grantId)),
  );
  return asked(known, paid.length > 0 && paid.every(isAllBack));
}

function isAllBack({ price, refunds, disputes }: KnownAttempt): boolean {
  const back = [...refunds, ...disputes.filter(({ outcome }) => outcome !== 'won')];
  return back.reduce((sum, { amount }) => sum + BigInt(amount), 0n) >= BigInt(price);
}

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
