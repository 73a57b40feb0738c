import type { AccountEvent, EventData } from '../../contracts/events.ts';
import { type AttemptId, attemptId, grantId } from '../../contracts/ids.ts';
import { instant } from '../../contracts/instant.ts';
import { type MicroUsd, microUsd } from '../../contracts/money.ts';
import { type CatalogPlan, LEAST_CHARGE, NO_PLAN } from '../../contracts/plan.ts';
import { type ListedPlan, newestPlan, planIn, plansOnSale } from '../catalog/known-plans.ts';
import type { OpenAccount } from './account-state.ts';
import { isDeclined, unansweredUntil } from './after-decline.ts';
import { type CommandOf, type CommandRefusal, commandRefused, type Decision } from './commands.ts';
import { PAID_PRIORITY } from './decide-payments.ts';
import { refuseDeclined } from './declined-method.ts';
import { evolve } from './evolve.ts';
import { firstFree } from './first-free.ts';
import { LONGEST_GRANT_OF_PAYMENT } from './grant-id.ts';
import { refuseWithoutRoom } from './grant-room.ts';
import { isWithdrawn } from './method-for.ts';
import { attemptOf, openAttempts } from './payments.ts';
import type { PaymentAttempt } from './payments-state.ts';
import { graceOf } from './plan-grace.ts';
import { whyOver } from './plan-over.ts';
import { type Period, periodAt } from './plan-periods.ts';
import type { PlanState } from './plan-state.ts';
import { duePlan, renewalId, wantedPlan } from './plans.ts';
import { restOfPeriod } from './proration.ts';
import { isReturned } from './returned-plan.ts';
import type { ToldTo } from './words-for-accounts.ts';

/**
 * What is charged to a method that is as good as none is not begun for who asks for it. A plan that is over, and whose end nobody has written
 * down yet, ends in the same append, before what is asked for; alone, where that is refused, as it is
 * to who asks for it again. So does one that is asked for while what was paid for it is back; but it stays where that is refused, for
 * the money may come again, unless another attempt is in the way, which is withdrawn by its end.
 */
export function changePlan(command: CommandOf<'ChangePlan'>, state: OpenAccount, to: ToldTo): Decision {
  const { plan } = state.billing;
  const over = whyOver(state, command.nowMs);
  const isAnew = plan !== null && isWithoutPayment(plan, command.plan) && isReturned(state);
  if (plan !== null && (over !== null || isAnew)) {
    const end = ended(plan, over ?? 'cancelled', command.nowMs);
    if (command.plan === NO_PLAN) return [end];
    const anew = changePlan(command, evolve(state, end), to);
    // Also what is open for it, which is not wanted any more by that: once it is over the plan is asked for again.
    if ('type' in anew) return over !== null || anew.code === 'attempt_open' ? [end] : anew;
    return [end, ...anew];
  }
  const decided = planChange(command, state, to);
  if ('type' in decided) return decided;
  const isCharged = ({ type, data }: AccountEvent): boolean =>
    type === 'RenewalStarted' && data.price > 0n && data.provider === state.billing.payments.method?.provider;
  return (decided.some(isCharged) ? refuseDeclined(state, command.nowMs) : null) ?? decided;
}

/** Whether what is asked for has no payment of its own yet: what is due is asked for with its own, or another's in its place, but for the plan whose period is over. */
const isWithoutPayment = (has: PlanState, plan: string): boolean =>
  plan !== NO_PLAN && (has.due === null || (plan === has.plan && duePlan(has) !== plan));

/**
 * A dearer plan that gives more begins once what it costs more for the rest of the period is paid; any other change, and the end, as
 * the period that is paid is over. A first plan begins with its first payment, and the day of the month on which it was asked for.
 */
function planChange(command: CommandOf<'ChangePlan'>, state: OpenAccount, to: ToldTo): Decision {
  const { plan: id, catalog, nowMs } = command;
  const current = state.billing.plan;
  if (id === NO_PLAN) return current === null ? withoutPlan() : ending(command, current);
  if (current !== null && askedFor(current) === id) return payNow(command, state);
  const listed = listedFor(state, command);
  if ('code' in listed) return listed;
  const { plan, version } = listed;
  const open = openAttempts(state.billing.payments).find(({ period }) => period !== null);
  if (open !== undefined && current?.plan !== id)
    return commandRefused(
      'attempt_open',
      `${open.attemptId} of plan ${open.period?.plan} is open: another plan may be asked for once it is paid or over, and this ends it: ${wayOut(state, open, to)}`,
    );
  const period = current?.period ?? null;
  if (current === null || period === null) {
    const { endMs } = periodAt(nowMs, nowMs);
    return withClaim(command, state, asked(command, version, { effectiveAtMs: nowMs, anchorMs: nowMs, endMs }));
  }
  const { anchorMs } = current;
  const { endMs } = period;
  // Nothing else was asked for, after all: what is open for that is withdrawn, and a period that has begun is this plan's.
  if (current.plan === id)
    return withClaim(command, state, asked(command, version, { effectiveAtMs: nowMs, anchorMs, endMs }));
  const before = planIn(catalog, current.plan, current.catalogVersion);
  const rest = before === null || nowMs >= endMs ? null : restOfPeriod(before, plan, period, nowMs);
  if (rest === null || rest.price < LEAST_CHARGE || rest.credits <= 0n)
    return withClaim(command, state, asked(command, version, { effectiveAtMs: endMs, anchorMs, endMs }));
  const noRoom = refuseWithoutRoom(state, { grantId: LONGEST_GRANT_OF_PAYMENT, amount: rest.credits });
  if (noRoom !== null) return noRoom;
  const terms = { kind: 'upgrade', plan, version, startMs: nowMs, endMs, ...rest } as const;
  const claim = { ...terms, id: unused(state, `upgrade_${instant(nowMs)}`), graceUntilMs: endMs };
  return [asked(command, version, { effectiveAtMs: nowMs, anchorMs, endMs }), ...claimed(command, claim)];
}

/** What may be asked for: what is sold for the account's product, and of what is sold no more the plan that is in force, as it was listed last. */
function listedFor(state: OpenAccount, { plan: id, catalog }: CommandOf<'ChangePlan'>): ListedPlan | CommandRefusal {
  const { product } = state.organization;
  const sold = plansOnSale(catalog).filter((plan) => plan.product === product);
  const plan = sold.find((one) => one.id === id);
  if (plan !== undefined) return { plan, version: catalog.version };
  const { plan: had } = state.billing;
  const own = had !== null && had.period !== null && had.plan === id ? newestPlan(catalog, id, product) : null;
  if (own !== null) return own;
  return commandRefused(
    'plan_not_found',
    sold.length === 0
      ? 'plan: the catalog has no plans for the product of the account'
      : `plan: the catalog has no plan ${JSON.stringify(id)} for the account; it has ${sold.map((one) => one.id).join(', ')}`,
  );
}

/** Which command ends an attempt, of those that whoever is told may give. */
function wayOut({ accountId, billing }: OpenAccount, attempt: PaymentAttempt, to: ToldTo): string {
  const { plan } = billing;
  if (isWithdrawn(billing, attempt)) return `gateway payment ask ${accountId} ${attempt.attemptId}`;
  if (plan === null || plan.period === null) return `gateway account plan ${accountId} ${NO_PLAN}`;
  if (to === 'operator') return `gateway payment decline ${accountId} ${attempt.attemptId} --reason "…"`;
  return `gateway account plan ${accountId} ${attempt.kind === 'upgrade' ? plan.plan : NO_PLAN}, or ask an operator`;
}

/** As the period ends; null where a dearer plan that was asked for since may be instead of it. */
const askedFor = ({ plan, next, upgrade }: PlanState): string | null =>
  upgrade === null ? (next?.plan ?? plan) : null;

/** Asked for again: nothing, but where it is to be paid, or its next period is due, and no attempt is open, one begins without a wait. */
const payNow = (command: CommandOf<'ChangePlan'>, state: OpenAccount): AccountEvent[] =>
  startRenewal({ ...command, type: 'StartRenewal' }, withoutWait(state));

/** Whoever asks for a plan waits for no further try of what was declined before. */
function withoutWait(state: OpenAccount): OpenAccount {
  const { plan } = state.billing;
  if (plan === null || plan.due === null) return state;
  const due = { ...plan.due, nextAttemptAtMs: 0 };
  return { ...state, billing: { ...state.billing, plan: { ...plan, due } } };
}

/** At once, whatever is paid; the credits of the period stay until its end. */
export function endPlan(command: CommandOf<'EndPlan'>, { billing: { plan } }: OpenAccount): Decision {
  return plan === null ? withoutPlan() : endedNow(command, plan);
}

/** Who has ended it, and why, stands before its end. */
function endedNow({ reason, by, nowMs }: Omit<CommandOf<'EndPlan'>, 'type'>, plan: PlanState): AccountEvent[] {
  const from = { effectiveAtMs: nowMs, anchorMs: plan.anchorMs, endMs: plan.period?.endMs ?? nowMs };
  const end = asked({ plan: NO_PLAN, reason, by }, null, from);
  return [end, ended(plan, 'cancelled', nowMs)];
}

/**
 * Looks at what is so, never at what has changed: whether a period is to be paid, was not paid in time, or is the last one. Of
 * periods that went by meanwhile nobody is asked for the money: the one that is begins. An outage, however long, ends no plan.
 */
export function startRenewal(command: CommandOf<'StartRenewal'>, state: OpenAccount): AccountEvent[] {
  const { catalog, nowMs } = command;
  const { plan: current, payments } = state.billing;
  if (current === null) return [];
  const { due, anchorMs } = current;
  if (nowMs < (current.period?.endMs ?? anchorMs)) return [];
  const over = whyOver(state, nowMs);
  if (over !== null) return [ended(current, over, nowMs)];
  const isGraceOver = due !== null && nowMs >= due.graceUntilMs;
  const againAtMs = unansweredUntil(state.billing);
  if (openAttempts(payments).some(({ kind }) => kind === 'renewal')) return [];
  // What was declined is tried again with what is saved since: past the grace by this look, or not any more.
  const notBegun = isGraceOver && isDeclined(state.billing) ? [ended(current, 'unpaid', nowMs)] : [];
  if (state.suspended !== null) return notBegun;
  if (due !== null && nowMs < (due.nextAttemptAtMs ?? againAtMs ?? Number.POSITIVE_INFINITY)) return [];
  const listed = newestPlan(catalog, wantedPlan(current, nowMs), state.organization.product);
  if (listed === null) return notBegun;
  const { plan, version } = listed;
  const again = due !== null && nowMs < due.endMs ? due : null;
  const period: Period = again ?? periodAt(anchorMs, nowMs);
  const id = unused(state, renewalId(period.startMs));
  if (refuseWithoutRoom(state, { grantId: LONGEST_GRANT_OF_PAYMENT, amount: plan.credits }) !== null) return notBegun;
  const graceUntilMs = graceOf(state.billing, { plan, provider: command.provider, nowMs, again });
  const { price, credits } = plan;
  const { startMs, endMs } = period;
  return claimed(command, { kind: 'renewal', id, plan, version, startMs, endMs, price, credits, graceUntilMs });
}

interface Claim {
  readonly kind: EventData<'RenewalStarted'>['kind'];
  readonly id: AttemptId;
  readonly plan: CatalogPlan;
  readonly version: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly price: MicroUsd;
  readonly credits: MicroUsd;
  readonly graceUntilMs: number;
}

function claimed(
  { provider, nowMs }: { readonly provider: string; readonly nowMs: number },
  claim: Claim,
): AccountEvent[] {
  const { id, kind, plan, version, price, credits } = claim;
  const [periodStart, periodEnd] = [instant(claim.startMs), instant(claim.endMs)];
  const started: AccountEvent = {
    type: 'RenewalStarted',
    data: {
      ...{ attemptId: id, kind, provider, plan: plan.id, catalogVersion: version, periodStart, periodEnd },
      ...{ price, credits, overdraft: plan.overdraft },
      ...{ graceUntil: instant(claim.graceUntilMs), startedAt: instant(nowMs) },
    },
  };
  if (price > 0n) return [started];
  return [
    started,
    {
      type: 'CreditsGranted',
      data: {
        ...{ grantId: grantId(id), source: 'plan', amount: credits, costBasis: microUsd(0n), priority: PAID_PRIORITY },
        ...{ effectiveAt: instant(nowMs), expiresAt: periodEnd },
      },
    },
  ];
}

/** What was asked for, and in the same append what it is to be paid by, where that is now. */
function withClaim(command: CommandOf<'ChangePlan'>, state: OpenAccount, change: AccountEvent): AccountEvent[] {
  return [change, ...startRenewal({ ...command, type: 'StartRenewal' }, withoutWait(evolve(state, change)))];
}

interface AskedFrom {
  readonly effectiveAtMs: number;
  readonly anchorMs: number;
  readonly endMs: number;
}

/** @param version of the catalog, that has the plan; null of none */
const asked = (
  { plan, reason, by }: Pick<CommandOf<'ChangePlan'>, 'plan' | 'reason' | 'by'>,
  version: number | null,
  { effectiveAtMs, anchorMs, endMs }: AskedFrom,
): AccountEvent => ({
  type: 'PlanChanged',
  data: {
    plan,
    terms: {
      catalogVersion: version,
      ...{ effectiveAt: instant(effectiveAtMs), anchorAt: instant(anchorMs), periodEnd: instant(endMs), reason, by },
    },
  },
});

/** What is paid for goes on until its end. */
function ending(command: CommandOf<'ChangePlan'>, current: PlanState): AccountEvent[] {
  const { period, anchorMs } = current;
  if (period === null || command.nowMs >= period.endMs) return endedNow(command, current);
  if (askedFor(current) === NO_PLAN) return [];
  return [asked(command, null, { effectiveAtMs: period.endMs, anchorMs, endMs: period.endMs })];
}

const ended = ({ plan }: PlanState, reason: EventData<'PlanEnded'>['reason'], nowMs: number): AccountEvent => ({
  type: 'PlanEnded',
  data: { plan, reason, at: instant(nowMs) },
});

const withoutPlan = (): CommandRefusal => commandRefused('plan_not_found', 'plan: the account has none');

/** The id of the first attempt for something, or of the next: none that a grant has, which what costs nothing is granted under. */
function unused({ grants, billing: { payments } }: OpenAccount, id: string): AttemptId {
  const isTaken = (one: string): boolean =>
    attemptOf(payments, one) !== undefined || grants.some(({ grantId }) => grantId === one);
  return attemptId(firstFree(id, isTaken));
}
