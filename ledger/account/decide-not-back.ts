import type { AccountEvent } from '../../contracts/events.ts';
import type { PaymentId } from '../../contracts/ids.ts';
import { instant } from '../../contracts/instant.ts';
import { isOfComingBack, lostAgainId, withdrawnId, wonId } from '../../contracts/lost-again.ts';
import { type MicroUsd, microUsd } from '../../contracts/money.ts';
import type { OpenAccount } from './account-state.ts';
import type { Revocation } from './billing-state.ts';
import { type CommandOf, commandRefused, type Decision, unreasoned } from './commands.ts';
import { restoreGrant } from './decide-corrections.ts';
import {
  because,
  boundedBy,
  isOtherwise,
  isUnreasoned,
  pauseOf,
  revoke,
  toldMeanwhile,
  unpaid,
} from './decide-refunds.ts';
import { evolve } from './evolve.ts';
import { firstFree } from './first-free.ts';
import { grantOfPayment } from './grant-id.ts';
import { creditsGone, paidBy, takenBy } from './payments.ts';
import type { PaymentAttempt } from './payments-state.ts';
import { disputeNamed, isTaken, refundNamed } from './told-returns.ts';

/**
 * All of a refund that was written down by mistake, or has failed at its provider: its money never went back, and its credits come back as
 * far as they have not. What has failed and is not written down never will be.
 */
export function withdrawRefund(command: CommandOf<'WithdrawRefund'>, state: OpenAccount): Decision {
  const { paymentId, refundId: named, became = 'failed', reason = null, actor, nowMs } = command;
  const attempt = paidBy(state.billing.payments, paymentId);
  if (attempt === undefined) return unpaid(paymentId);
  if (isUnreasoned(attempt, reason)) return unreasoned();
  const refund = refundNamed(state, attempt, command);
  if (refund === undefined)
    return reason === null ? [] : commandRefused('refund_not_found', `${paymentId} has no refund ${named}`);
  const { refundId, amount } = refund;
  if (amount === 0n) return [];
  const withdrawn = { paymentId, refundId, amount, withdrawnAt: instant(nowMs), reason: reason ?? TOLD[became] };
  const said = { reason: because(`refund ${refundId} was withdrawn`, attempt, reason), actor, nowMs };
  const of = { paymentId, id: refundId, cause: 'refund', restorationId: withdrawnId(refundId), said } as const;
  return withCreditsBack(state, { type: 'RefundWithdrawn', data: withdrawn }, of);
}

/** Why, where nobody says it but its provider. */
const TOLD = { failed: 'it has failed', canceled: 'it was canceled' } as const;

/** One that was won gives back what it had taken; one that was won, as it was said, and is lost after all takes it once more. */
export function closeDispute(command: CommandOf<'CloseDispute'>, state: OpenAccount): Decision {
  const { paymentId, disputeId: named, outcome, closedAtMs, reason = null, actor, nowMs } = command;
  const attempt = paidBy(state.billing.payments, paymentId);
  const dispute = attempt && disputeNamed(state, attempt, command);
  if (attempt === undefined || dispute === undefined)
    return commandRefused('dispute_not_found', `${paymentId} has no dispute ${named}`);
  if (isUnreasoned(attempt, reason)) return unreasoned();
  const { disputeId, amount, outcome: replaces } = dispute;
  if (replaces === outcome) return [];
  if (isOtherwise(command, replaces)) return toldMeanwhile(named);
  const closed: AccountEvent = {
    type: 'DisputeClosed',
    data: { paymentId, disputeId, outcome, replaces, closedAt: instant(closedAtMs), reason },
  };
  const what = `dispute ${disputeId} was ${outcome}`;
  if (outcome === 'won') {
    const said = { reason: because(what, attempt, reason), actor, nowMs };
    const of = { paymentId, id: disputeId, cause: 'dispute', restorationId: wonId(disputeId), said } as const;
    return withCreditsBack(state, closed, of);
  }
  if (replaces === null) return [closed];
  const tooMuch = boundedBy(attempt, { ...command, amount }, attempt.price);
  if (tooMuch !== null) return tooMuch;
  const id = firstFree(lostAgainId(disputeId), (one) => isTaken(state.billing, one));
  const revoked = revoke(state, attempt, { ...command, id, amount, cause: 'dispute', before: microUsd(0n), what });
  if ('type' in revoked) return revoked;
  return [closed, ...revoked, ...pauseOf(attempt, state, 'disputed', nowMs)];
}

interface NotBack {
  readonly paymentId: PaymentId;
  /** Of a refund that is withdrawn, or of a dispute that is won. */
  readonly id: string;
  readonly cause: 'refund' | 'dispute';
  /** Of the first that comes back; of the others, or where it is taken, with a number behind it. */
  readonly restorationId: string;
  readonly said: { readonly reason: string; readonly actor: string; readonly nowMs: number };
}

/** An event by which money is here after all, and what of its credits comes back with it. */
function withCreditsBack(state: OpenAccount, event: AccountEvent, of: NotBack): Decision {
  const events = [event];
  let now = evolve(state, event);
  for (const back of comesBack(now, of)) {
    const restorationId = firstFree(of.restorationId, (id) => isRestoration(now, id));
    const restored = restoreGrant({ type: 'RestoreGrant', restorationId, ...back, ...of.said }, now);
    if ('type' in restored) return restored;
    events.push(...restored);
    now = restored.reduce(evolve, now);
  }
  return events;
}

/**
 * Of which revocations how much, once the money is here again: what that refund or dispute has taken, and what is kept of others that
 * were withdrawn or won, as far as the credits are still paid for: what went back otherwise, and found nothing to take, is kept. What
 * was revoked by hand is no money that went back, and keeps nothing for it: else the order in which all that is told would decide.
 */
function comesBack(
  state: OpenAccount,
  { paymentId, id: own, cause: ownCause }: NotBack,
): { readonly revocationId: string; readonly amount: MicroUsd }[] {
  const { billing } = state;
  const attempt = paidBy(billing.payments, paymentId);
  if (attempt === undefined) return [];
  const grantId = grantOfPayment(state, paymentId);
  const takenOf = (one: Return): Revocation[] => takenBy(billing, one, grantId);
  const { isHere, isNot } = returnsOf(attempt);
  const taken = [...isHere, ...isNot].flatMap(takenOf);
  let most = taken.reduce((sum, { amount, restored }) => sum + amount - restored, 0n);
  most -= creditsGone(billing, attempt, grantId);
  const from = [{ id: own, cause: ownCause }, ...isHere.filter(({ id }) => id !== own)];
  return [...from, ...isNot.filter(({ cause }) => cause === 'dispute')]
    .flatMap(takenOf)
    .flatMap(({ revocationId, amount: all, restored }) => {
      const left = all - restored;
      const amount = left < most ? left : most;
      if (amount <= 0n) return [];
      most -= amount;
      return [{ revocationId, amount: microUsd(amount) }];
    });
}

type Return = Pick<NotBack, 'id' | 'cause'>;

/** Disputes that were won, and refunds that were withdrawn; and the others. */
function returnsOf({ disputes, refunds }: PaymentAttempt): Readonly<Record<'isHere' | 'isNot', Return[]>> {
  const [isHere, isNot]: [Return[], Return[]] = [[], []];
  for (const { disputeId: id, outcome } of disputes)
    (outcome === 'won' ? isHere : isNot).push({ id, cause: 'dispute' });
  for (const { refundId: id, amount } of refunds) (amount === 0n ? isHere : isNot).push({ id, cause: 'refund' });
  return { isHere, isNot };
}

/** What an operator gives back has an id of its own, and none by which it would be taken for what came back with its money. */
export function restoreByHand(command: CommandOf<'RestoreGrant'>, state: OpenAccount): Decision {
  const { restorationId: id } = command;
  return isOfComingBack(id) && !isRestoration(state, id)
    ? commandRefused(
        'restoration_id_reserved',
        `id: what comes back with its money has ids that end in _withdrawn or _won, and ${id} would count as that: choose another`,
      )
    : restoreGrant(command, state);
}

const isRestoration = ({ billing: { revocations } }: OpenAccount, id: string): boolean =>
  revocations.some(({ restorations }) => restorations.some(({ restorationId }) => restorationId === id));
