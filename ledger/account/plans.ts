import type { AccountEvent, EventData } from '../../contracts/events.ts';
import { isNumbered } from '../../contracts/lost-again.ts';
import { microUsd } from '../../contracts/money.ts';
import { NO_PLAN, WITHOUT_PLAN } from '../../contracts/plan.ts';
import type { OpenAccount } from './account-state.ts';
import { inOrder } from './attempt-order.ts';
import type { BillingState } from './billing-state.ts';
import { hasHadPlan } from './has-paid.ts';
import { valuesOf } from './keyed-tree.ts';
import { attemptOf, openAttempts } from './payments.ts';
import { isAnothersDecline, type PaymentAttempt, type PaymentsState } from './payments-state.ts';
import { type PaidPeriod, type PlanState, paidPeriodOf } from './plan-state.ts';

/** What an event changes of an account's plan; of a payment, `state` has the rest already. */
export function withPlan(state: OpenAccount, event: AccountEvent): OpenAccount {
  const { plan, payments } = state.billing;
  switch (event.type) {
    case 'PlanChanged':
      return event.data.terms === null
        ? { ...state, plan: event.data.plan }
        : { ...state, billing: { ...state.billing, plan: changed(plan, event.data.plan, event.data.terms) } };
    case 'RenewalStarted': {
      const claimed = event.data.kind === 'renewal' ? withClaim(state, event.data) : withUpgrade(state, event.data);
      return event.data.price === 0n ? withPaidPeriod(claimed, event.data.kind, paidPeriodOf(event.data)) : claimed;
    }
    case 'PlanEnded': {
      const { plan: ended, reason, at } = event.data;
      const endedPlan = { plan: ended, reason, atMs: Date.parse(at) };
      return { ...state, plan: WITHOUT_PLAN, billing: { ...state.billing, plan: null, endedPlan } };
    }
    case 'PaymentSucceeded': {
      const attempt = attemptOf(payments, event.data.attemptId);
      if (attempt === undefined || attempt.period === null || !isAwaited(state.billing, attempt)) return state;
      return withPaidPeriod(state, attempt.kind, attempt.period);
    }
    case 'PaymentFailed':
    case 'PaymentAbandoned': {
      const attempt = attemptOf(payments, event.data.attemptId);
      if (attempt?.kind !== 'renewal' || !isAwaited(state.billing, attempt)) return state;
      if (!('code' in event.data)) return withDue(state, { nextAttemptAtMs: null });
      const { code, nextAttemptAt: next } = event.data;
      // Of the one that is saved by now nothing was declined.
      const declined = isAnothersDecline(payments, attempt) ? {} : { declined: code };
      return withDue(state, { ...declined, nextAttemptAtMs: next === null ? null : Date.parse(next) });
    }
    case 'PaymentMethodSaved':
      return withDue(state, { nextAttemptAtMs: 0 });
    default:
      return state;
  }
}

/** The plan in force as it is shown to people: `none` where one was had and has ended, `trial` where none ever was. */
export const planSaid = ({ plan, billing, grants }: Pick<OpenAccount, 'plan' | 'billing' | 'grants'>): string =>
  plan === WITHOUT_PLAN && billing.endedPlan !== null && hasHadPlan({ grants }) ? NO_PLAN : plan;

/** Whether a plan is about to bring credits: an attempt of it is open, or its next period is to begin and none was made yet. */
export function isPlanPaying({ plan, payments }: BillingState, nowMs: number): boolean {
  if (openAttempts(payments).some(({ period }) => period !== null)) return true;
  if (plan === null || plan.due !== null || nowMs < (plan.period?.endMs ?? plan.anchorMs)) return false;
  return wantedPlan(plan, nowMs) !== NO_PLAN;
}

const NONE = microUsd(0n);

/**
 * Whether a payment still is of the plan that the account has; what is paid later is credit as bought. The plan that was asked for last
 * stays: so is what is paid for a period that is to be another plan's by now, or for an upgrade after a later one, or of a period that
 * the next one follows already.
 */
export function isAwaited(
  { plan }: Pick<OpenAccount['billing'], 'plan'>,
  { kind, period }: Pick<PaymentAttempt, 'kind' | 'period'>,
): boolean {
  if (plan === null || period === null) return false;
  if (kind === 'renewal') return plan.due?.startMs === period.startMs && duePlan(plan) === period.plan;
  return plan.upgrade === period.plan && plan.due === null && plan.period?.endMs === period.endMs;
}

/** Which plan a period that begins at an instant is to be of: the one that was asked for last. */
export const wantedPlan = ({ plan, next }: PlanState, atMs: number): string =>
  next !== null && next.effectiveAtMs <= atMs ? next.plan : plan;

/** Which plan the period that is to be paid is of. */
export const duePlan = (plan: PlanState): string =>
  plan.due === null ? plan.plan : wantedPlan(plan, plan.due.startMs);

/** Whether the period that is to be paid was begun for another plan alone than was asked for since: what may be paid for that is withdrawn. */
export const isBegunForAnother = ({ plan, payments }: Pick<BillingState, 'plan' | 'payments'>): boolean =>
  plan !== null && plan.due !== null && newestRenewal(payments, plan.due.startMs)?.period?.plan !== duePlan(plan);

/** Of a period: its attempts, in their order. */
export const renewalsOf = ({ attempts }: PaymentsState, startMs: number): PaymentAttempt[] =>
  inOrder(valuesOf(attempts).filter(({ kind, period }) => kind === 'renewal' && period?.startMs === startMs));

/** The first attempt's to pay a period; each further one has a number behind it. */
export const renewalId = (startMs: number): string => `renewal_${new Date(startMs).toISOString()}`;

/** Whether an id is an attempt's to pay the same as this one does: its own, or, of a renewal, any of its period, also one that is not known here any more. */
export const paysTheSame = (id: string, { attemptId, kind, period }: PaymentAttempt): boolean =>
  id === attemptId || (kind === 'renewal' && period !== null && isNumbered(id, renewalId(period.startMs)));

/** The newest of them. */
export const newestRenewal = (payments: PaymentsState, startMs: number): PaymentAttempt | undefined =>
  renewalsOf(payments, startMs).at(-1);

type Terms = NonNullable<EventData<'PlanChanged'>['terms']>;

function changed(before: PlanState | null, plan: string, terms: Terms): PlanState | null {
  const anchorMs = Date.parse(terms.anchorAt);
  const effectiveAtMs = Date.parse(terms.effectiveAt);
  if (terms.catalogVersion !== null && before?.anchorMs !== anchorMs)
    return {
      ...{ plan, catalogVersion: terms.catalogVersion, anchorMs, period: null, overdraft: NONE },
      ...{ due: null, next: null, upgrade: null },
    };
  if (before === null) return null;
  if (plan === before.plan) return { ...before, next: null, upgrade: null };
  const isLater = plan === NO_PLAN || effectiveAtMs >= (before.period?.endMs ?? 0);
  return { ...before, next: isLater ? { plan, effectiveAtMs } : before.next, upgrade: null };
}

/** What was asked for before a dearer plan holds until that is paid. */
function withUpgrade(state: OpenAccount, { plan: upgrade }: EventData<'RenewalStarted'>): OpenAccount {
  const { plan } = state.billing;
  return plan === null ? state : { ...state, billing: { ...state.billing, plan: { ...plan, upgrade } } };
}

function withClaim(state: OpenAccount, claim: EventData<'RenewalStarted'>): OpenAccount {
  const { plan } = state.billing;
  if (plan === null) throw new Error(`${claim.attemptId} renews a plan that the account has not`);
  const { startMs, endMs } = paidPeriodOf(claim);
  const again = plan.due?.startMs === startMs ? plan.due : null;
  const due = {
    ...{ startMs, endMs, graceUntilMs: Date.parse(claim.graceUntil), attempts: (again?.attempts ?? 0) + 1 },
    ...{ nextAttemptAtMs: null, declined: again?.declined ?? null },
  };
  return { ...state, billing: { ...state.billing, plan: { ...plan, due } } };
}

function withPaidPeriod(state: OpenAccount, kind: PaymentAttempt['kind'], paid: PaidPeriod): OpenAccount {
  const before = state.billing.plan;
  if (before === null) throw new Error(`a period of ${paid.plan}, which the account has not`);
  const { startMs, endMs, ...terms } = paid;
  const isOver = kind === 'upgrade' || (before.next?.effectiveAtMs ?? startMs) <= startMs;
  const left = { next: isOver ? null : before.next, upgrade: null };
  const renewed = kind === 'renewal' ? { period: { startMs, endMs }, due: null } : {};
  const plan = { ...before, ...terms, ...left, ...renewed };
  return { ...state, plan: paid.plan, billing: { ...state.billing, plan, endedPlan: null } };
}

function withDue(state: OpenAccount, change: Partial<NonNullable<PlanState['due']>>): OpenAccount {
  const { plan } = state.billing;
  if (plan === null || plan.due === null) return state;
  return { ...state, billing: { ...state.billing, plan: { ...plan, due: { ...plan.due, ...change } } } };
}
