import type { EventData } from '../../contracts/events.ts';
import { microUsd } from '../../contracts/money.ts';
import type { Grant, OpenAccount } from './account-state.ts';
import type { Revocation } from './billing-state.ts';
import { withGrant, withoutShares } from './grants.ts';
import { keptAmount, keptBalance } from './kept-amount.ts';
import { assertAgrees } from './said-amounts.ts';
import { firstOf, type GrantShare, sumOf } from './shares-room.ts';

export function withGrantRevoked(state: OpenAccount, data: EventData<'GrantRevoked'>): OpenAccount {
  const { revocationId, grantId, cause, paymentId, amount, taken, uncovered, setOff } = data;
  const balance = keptBalance(state.balance - amount);
  assertAgrees(data, { parts: taken + uncovered, balance });
  const revocation = {
    revocationId,
    grantId,
    cause,
    paymentId,
    amount,
    taken,
    setOff,
    restored: microUsd(0n),
    restorations: [],
  };
  return {
    ...state,
    grants: withoutShares(state.grants, [{ grantId, amount: taken }, ...setOff]),
    uncovered: keptAmount(state.uncovered + uncovered - sumOf(setOff)),
    balance,
    billing: { ...state.billing, revocations: [...state.billing.revocations, revocation] },
  };
}

export function withGrantRestored(state: OpenAccount, data: EventData<'GrantRestored'>): OpenAccount {
  const { revocationId, restorationId, amount } = data;
  const revocation = state.billing.revocations.find((one) => one.revocationId === revocationId);
  if (revocation === undefined) throw new Error(`no revocation ${revocationId}`);
  const restored = keptAmount(revocation.restored + amount);
  if (restored > revocation.amount)
    throw new Error(`of revocation ${revocationId} of ${revocation.amount} micro-USD ${restored} would have come back`);
  const restorations = [...revocation.restorations, { restorationId, amount }];
  const revocations = state.billing.revocations.map((one) =>
    one === revocation ? { ...one, restored, restorations } : one,
  );
  return { ...withComeBack(state, data), billing: { ...state.billing, revocations } };
}

type ComeBack = Pick<EventData<'GrantRestored'>, 'amount' | 'owedLess' | 'reinstated' | 'balanceAfter'>;

/** What was taken before is owed no more, or is in grants again. @throws Error for more than is owed, or than a grant can hold */
function withComeBack(state: OpenAccount, data: ComeBack): OpenAccount {
  const { amount, owedLess, reinstated } = data;
  if (owedLess > state.uncovered) throw new Error(`${state.uncovered} micro-USD are owed, not ${owedLess}`);
  const balance = keptBalance(state.balance + amount);
  assertAgrees(data, { parts: owedLess + sumOf(reinstated), balance });
  return {
    ...state,
    grants: withReturned(state.grants, reinstated),
    uncovered: microUsd(state.uncovered - owedLess),
    balance,
  };
}

/** Each in its new place where it has a new end. */
function withReturned(grants: readonly Grant[], reinstated: ComeBack['reinstated']): Grant[] {
  let changed = withoutShares(
    grants,
    reinstated.map(({ grantId, amount }) => ({ grantId, amount: microUsd(-amount) })),
  );
  for (const { grantId, expiresAt } of reinstated) {
    const expiresAtMs = expiresAt === null ? null : Date.parse(expiresAt);
    const grant = changed.find((one) => one.grantId === grantId);
    if (grant === undefined || grant.expiresAtMs === expiresAtMs) continue;
    changed = withGrant(
      changed.filter((one) => one !== grant),
      { ...grant, expiresAtMs },
    );
  }
  return changed;
}

interface Unrestored {
  readonly uncovered: bigint;
  /** Of that what others have paid at once, the last first. */
  readonly setOff: readonly GrantShare[];
  readonly taken: bigint;
}

/** What of a revocation has not come back, by where it was taken from: what was taken last comes back first. */
export function unrestored({ amount, taken, setOff, restored }: Revocation): Unrestored {
  const uncovered = amount - taken;
  if (restored >= uncovered) return { uncovered: 0n, setOff: [], taken: amount - restored };
  const left = uncovered - restored;
  return { uncovered: left, setOff: firstOf(setOff, left).toReversed(), taken };
}

export const withDebitReversed = (state: OpenAccount, data: EventData<'DebitReversed'>): OpenAccount => {
  const { reversalId, requestId, amount } = data;
  const reversals = [...state.billing.reversals, { reversalId, requestId, amount }];
  return { ...withComeBack(state, data), billing: { ...state.billing, reversals } };
};

/** What an adjustment upwards grants: nobody paid for it, and it never ends. */
export const grantOfAdjustment = (data: EventData<'BalanceAdjusted'>): EventData<'CreditsGranted'> => ({
  ...{ grantId: data.adjustmentId, source: 'adjustment', amount: data.amount, costBasis: microUsd(0n) },
  ...{ priority: ADJUSTMENT_PRIORITY, effectiveAt: data.adjustedAt, expiresAt: null },
});

/** As what is bought, by default. */
const ADJUSTMENT_PRIORITY = 100;

/** In either direction; the money of one upwards is a grant's. */
export const withAdjustment = (
  billing: OpenAccount['billing'],
  { adjustmentId, direction, amount }: EventData<'BalanceAdjusted'>,
): OpenAccount['billing'] => ({
  ...billing,
  adjustments: [...billing.adjustments, { adjustmentId, direction, amount }],
});

export const withLessBalance = (state: OpenAccount, data: EventData<'BalanceAdjusted'>): OpenAccount => ({
  ...state,
  grants: withoutShares(state.grants, [...data.shares, ...data.setOff]),
  uncovered: keptAmount(state.uncovered + data.uncovered - sumOf(data.setOff)),
  balance: keptBalance(state.balance - data.amount),
});
