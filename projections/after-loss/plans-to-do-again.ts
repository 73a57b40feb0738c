import { NO_PLAN, WITHOUT_PLAN } from '../../contracts/plan.ts';
import type { AccountState } from '../../ledger/account/account-state.ts';
import type { KnownAccount } from './known-accounts.ts';

/** Periods are no part of it: those that were paid are told with their payments. */
export interface PlanToDoAgain {
  /** By the views; null is none. */
  readonly was: PlanAsked | null;
  /** By the ledger; null is none. */
  readonly is: PlanAsked | null;
  /** Which plan was the last, where there was none any more, and why it ended (`cancelled`, `unpaid`). */
  readonly ended: { readonly plan: string; readonly reason: string } | null;
  /** What makes it so again, word by word, one after the other. */
  readonly commands: readonly (readonly string[])[];
  /** They ask for a plan that the ledger does not have: a payment of it is begun, whatever was paid before. */
  readonly isChargedAnew: boolean;
}

interface PlanAsked {
  readonly plan: string;
  readonly isInForce: boolean;
  /** When the period that is paid ends (exclusive), in milliseconds since 1970; null where none is. */
  readonly untilMs: number | null;
  /** What follows at the end of the period: another plan, or `none`; null is that it is renewed. */
  readonly next: string | null;
  /** The dearer plan that was asked for, and is to be paid. */
  readonly upgrade: string | null;
}

/** Null where nothing of it is lost. What the ledger has decided since the views is not lost. */
export function missingPlan(
  { now, then }: { readonly now: AccountState; readonly then: AccountState },
  known: KnownAccount,
): PlanToDoAgain | null {
  const [was, is, had] = [asked(known), planOf(now), planOf(then)];
  const knowsUpgrade = known.billing?.plan?.upgrade !== undefined;
  const isSame = (one: PlanAsked | null): boolean =>
    one?.plan === was?.plan && one?.next === was?.next && (!knowsUpgrade || one?.upgrade === was?.upgrade);
  if (isSame(is) || isSame(had)) return null;
  const { endedPlan } = known.billing ?? {};
  const ended = was === null && endedPlan != null ? { plan: endedPlan.plan, reason: endedPlan.reason } : null;
  const command = ['gateway', 'account', 'plan', known.accountId];
  if (was === null) return { was, is, ended, commands: [[...command, NO_PLAN, '--now']], isChargedAnew: false };
  const asks = asksFor(was, is);
  const isChargedAnew = was.plan !== is?.plan || (was.upgrade !== null && asks.includes(was.upgrade));
  return { was, is, ended, commands: asks.map((plan) => [...command, plan]), isChargedAnew };
}

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

const planOf = (state: AccountState): PlanAsked | null => (state.type === 'open' ? asked(state) : null);

interface OfPlan extends Pick<KnownAccount, 'plan'> {
  readonly billing?: Pick<NonNullable<KnownAccount['billing']>, 'plan'> | undefined;
}

/** One that was set by hand, in events of before there were periods, has none. */
function asked({ plan: inForce, billing }: OfPlan): PlanAsked | null {
  const { plan } = billing ?? {};
  if (plan == null)
    return inForce === WITHOUT_PLAN
      ? null
      : { plan: inForce, isInForce: true, untilMs: null, next: null, upgrade: null };
  const untilMs = plan.period?.endMs ?? null;
  const { next, upgrade = null } = plan;
  return { plan: plan.plan, isInForce: untilMs !== null, untilMs, next: next?.plan ?? null, upgrade };
}
