import { namesPayment } from '../../../contracts/ids.ts';
import type { Grant, OpenAccount } from '../../../ledger/account/account-state.ts';
import type { Revocation } from '../../../ledger/account/billing-state.ts';
import { keyStateAt, previousOf } from '../../../ledger/account/key-state.ts';
import { recordOf } from '../../../ledger/account/keyed-tree.ts';
import type { UsedKey } from '../../../ledger/account/last-uses.ts';
import { ownerOf } from '../../../ledger/account/members.ts';
import { planSaidNow } from '../../../ledger/account/plan-over.ts';
import type { PlanEnd } from '../../../ledger/statement/plans-had.ts';
import { causeToldOf } from '../../../ledger/statement/without-payments.ts';

/**
 * An account as `account show --json` has it: each part by name, so that what the state gets later is shown where somebody has
 * decided so. How it pays is for who may see payments; the hashes of secrets are for nobody.
 */
export function accountJson(
  state: OpenAccount,
  keys: readonly UsedKey[],
  {
    nowMs,
    planEnds,
    seesPayments,
  }: { readonly nowMs: number; readonly planEnds: readonly PlanEnd[]; readonly seesPayments: boolean },
): object {
  const { type, accountId, kind, organization, openedAtMs, suspended } = state;
  const { grants, carry, uncovered, balance, spend, leases, billing, exceptions } = state;
  const { openCount, openAmount, withoutCost, unlisted } = exceptions;
  return {
    ...{
      type,
      accountId,
      kind,
      email: ownerOf(state),
      organization,
      plan: planSaidNow(state, nowMs),
      openedAtMs,
      suspended,
    },
    keys: Object.fromEntries(keys.map((key) => [key.keyId, keyJson(key, nowMs)])),
    grants: seesPayments ? grants : grants.map(withoutPayment),
    ...{ carry, uncovered, balance, spend: spendJson(spend), leases },
    billing: { ...billingJson(billing, seesPayments), planEnds },
    exceptions: { openCount, openAmount, withoutCost, unlisted },
  };
}

function keyJson(used: UsedKey, nowMs: number): object {
  const { sha256: _hash, number: _number, previous: _previous, ...key } = used;
  const previous = previousOf(used);
  return {
    ...key,
    state: keyStateAt(key, nowMs),
    previous: previous === null ? null : { last4: previous.last4, untilMs: previous.untilMs },
  };
}

const spendJson = ({ accountLimit, keyLimits, otherLimits, months }: OpenAccount['spend']): object => ({
  ...{ accountLimit, keyLimits: recordOf(keyLimits), otherLimits },
  months: Object.fromEntries(
    Object.entries(months).map(([month, { account, keys, crossed }]) => [
      month,
      { account, keys: recordOf(keys), crossed },
    ]),
  ),
});

function billingJson(billing: OpenAccount['billing'], seesPayments: boolean): object {
  const { revocations, reversals, adjustments, plan, endedPlan, statement, payments } = billing;
  const ofCredits = { reversals, adjustments, plan, endedPlan, statement };
  if (!seesPayments) return { revocations: revocations.map(revokedWithoutPayment), ...ofCredits };
  const { method, reload, attempts } = payments;
  return { revocations, ...ofCredits, payments: { method, reload, attempts: recordOf(attempts) } };
}

/** What was paid for it, and the id that names its payment, are left out. */
const withoutPayment = ({ costBasis: _paid, grantId, ...grant }: Grant): object => ({
  grantId: namesPayment(grantId) ? null : grantId,
  ...grant,
});

/** As its statement has it: of what was paid for its own id, too, may name the payment, as it does where nobody has chosen one. */
function revokedWithoutPayment({ revocationId, grantId, cause, amount, taken, restored }: Revocation): object {
  const told = causeToldOf(cause);
  const ids =
    told === null || namesPayment(grantId) ? { revocationId: null, grantId: null } : { revocationId, grantId };
  return { ...ids, cause: told, amount, taken, restored };
}
