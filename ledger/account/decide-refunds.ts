import type { AccountEvent } from '../../contracts/events.ts';
import { instant } from '../../contracts/instant.ts';
import { groupedUsd, type MicroUsd, microUsd } from '../../contracts/money.ts';
import { MANUAL } from '../../contracts/payments-configuration.ts';
import type { OpenAccount } from './account-state.ts';
import { type CommandOf, type CommandRefusal, commandRefused, type Decision, unreasoned } from './commands.ts';
import { revocableOf, revokeGrant } from './decide-corrections.ts';
import { grantOfPayment, isOfPayment } from './grant-id.ts';
import { valuesOf } from './keyed-tree.ts';
import { creditsOf, paidBy, refundedOf } from './payments.ts';
import { disputedOf, mayGoBack, type PaymentAttempt, wentBack } from './payments-state.ts';
import { disputeNamed, idFor, isTaken, refundNamed, revokedByHandFor } from './told-returns.ts';

/** Money that went back takes its credits with it, in the same append: what is left of that payment's, the rest is owed. */
export function recordRefund(command: CommandOf<'RecordRefund'>, state: OpenAccount): Decision {
  const { paymentId, refundId, amount, refundedAtMs, reason = null } = command;
  const attempt = paidBy(state.billing.payments, paymentId);
  if (attempt === undefined) return unpaid(paymentId);
  if (isUnreasoned(attempt, reason)) return unreasoned();
  const known = refundNamed(state, attempt, command);
  if (known !== undefined && known.amount > 0n) return sameAmount(known.amount, amount, refundId);
  if (known !== undefined && reason !== null) return withdrawnBefore(refundId);
  if (known !== undefined && isOtherwise(command, known.refundId)) return toldMeanwhile(refundId);
  if (reason !== null && isTaken(state.billing, refundId)) return idTaken(refundId);
  const byHand = revokedByHandFor(state, paymentId);
  if (byHand !== undefined) return revokedByHand(refundId, byHand);
  const id = idFor(state, refundId);
  const refunded = refundedOf(state.billing, attempt);
  const tooMuch = boundedBy(attempt, command, attempt.price - refunded);
  if (tooMuch !== null) return tooMuch;
  const event = { paymentId, refundId: id, amount, refundedAt: instant(refundedAtMs), reason };
  const revoked = revoke(state, attempt, { ...command, id, cause: 'refund', before: microUsd(refunded) });
  if ('type' in revoked) return revoked;
  return [{ type: 'PaymentRefunded', data: event }, ...revoked, ...pauseOf(attempt, state, 'refunded', command.nowMs)];
}

/** Whether a provider tells it that was asked before what stands here did. */
export const isOtherwise = (
  { reason, stood = null }: { readonly reason?: string; readonly stood?: string | null },
  stands: string | null,
): boolean => reason === undefined && stood !== stands;

export const toldMeanwhile = (id: string): CommandRefusal =>
  commandRefused('told_meanwhile', `${id} was told otherwise meanwhile: its provider is to be asked again`);

/**
 * What was paid here and goes back takes its credits by itself, once, as it is written down: taken by hand for that, too, they
 * would be taken twice. What was made before so is made.
 */
export function revokeByHand(command: CommandOf<'RevokeGrant'>, state: OpenAccount): Decision {
  const { revocationId, grantId, cause, paymentId } = command;
  const { payments, revocations } = state.billing;
  const isForReturn = cause === 'refund' || cause === 'dispute';
  if (!isForReturn || revocations.some((one) => one.revocationId === revocationId)) return revokeGrant(command, state);
  const bought = valuesOf(payments.attempts).find(
    (one) => one.state === 'paid' && (one.paymentId === paymentId || isOf(state, one, grantId)),
  );
  if (bought === undefined) return revokeGrant(command, state);
  const { paymentId: paid, provider } = bought;
  const byHand = `\`payment ${cause}\` writes it down`;
  const how =
    provider === MANUAL ? byHand : `${provider} tells it itself, and where it is configured no more ${byHand}`;
  return commandRefused('paid_here', `cause: a ${cause} of ${paid} takes its credits by itself, once: ${how}`);
}

const isOf = (state: OpenAccount, { paymentId }: PaymentAttempt, grantId: string): boolean =>
  paymentId !== null && isOfPayment(state, grantId, paymentId);

/** As with a refund, until it is decided. One that was won, and is about another amount than its provider tells, is not that. */
export function recordDispute(command: CommandOf<'RecordDispute'>, state: OpenAccount): Decision {
  const { paymentId, disputeId, amount, openedAtMs, reason = null } = command;
  const attempt = paidBy(state.billing.payments, paymentId);
  if (attempt === undefined) return unpaid(paymentId);
  if (isUnreasoned(attempt, reason)) return unreasoned();
  const known = disputeNamed(state, attempt, command);
  const isOther = reason === null && known?.outcome === 'won' && known.amount !== amount;
  if (known !== undefined && !isOther) return sameAmount(known.amount, amount, disputeId);
  if (known !== undefined && isOtherwise(command, known.disputeId)) return toldMeanwhile(disputeId);
  if (reason !== null && isTaken(state.billing, disputeId)) return idTaken(disputeId);
  const byHand = revokedByHandFor(state, paymentId);
  if (byHand !== undefined) return revokedByHand(disputeId, byHand);
  const id = idFor(state, disputeId);
  const tooMuch = boundedBy(attempt, command, attempt.price);
  if (tooMuch !== null) return tooMuch;
  const event = { paymentId, disputeId: id, amount, openedAt: instant(openedAtMs), reason };
  const revoked = revoke(state, attempt, { ...command, id, cause: 'dispute', before: microUsd(0n) });
  if ('type' in revoked) return revoked;
  return [{ type: 'PaymentDisputed', data: event }, ...revoked, ...pauseOf(attempt, state, 'disputed', command.nowMs)];
}

/**
 * No more goes back than was paid. Whoever writes it down by hand refunds nothing that a dispute has, or had for good, and the other
 * way round, whoever took the payment; what went back is gone whatever became of its credits, until it is withdrawn. A provider may well
 * do both, and has: of what it tells, without a reason, only what is of one kind is compared, and the credits are taken once.
 *
 * @param left for what a provider tells of
 */
export function boundedBy(
  attempt: PaymentAttempt,
  { amount, reason }: Pick<CommandOf<'RecordRefund'>, 'amount' | 'reason'>,
  left: bigint,
): CommandRefusal | null {
  const { paymentId, price } = attempt;
  const [refunded, disputed] = [wentBack(attempt), disputedOf(attempt)];
  const most = reason === undefined ? left : mayGoBack(attempt);
  if (amount > 0n && amount <= most) return null;
  const usd = (micro: bigint): string => groupedUsd(microUsd(micro));
  const bounds = most > 0n ? `more than 0 can go back, and at most ${usd(most)} USD` : 'nothing more can go back';
  return commandRefused(
    'invalid_amount',
    `amount: of ${paymentId} ${usd(price)} USD were paid, ${usd(refunded)} USD went back before, and ${usd(disputed)} USD are disputed or lost: ${bounds}`,
  );
}

/** By hand it is a correction, which says why; what a provider tells is its own. */
export const isUnreasoned = ({ provider }: PaymentAttempt, reason: string | null): boolean =>
  reason === null ? provider === MANUAL : reason.trim() === '';

/** Of the credits that go with it, or come back. */
export const because = (what: string, { provider }: PaymentAttempt, reason: string | null): string =>
  reason === null ? `${what}, as ${provider} tells` : `${what}: ${reason}`;

/** What an auto-reload has bought and goes back is not bought again by itself: the level is as low as it was before. */
export function pauseOf(
  { kind }: PaymentAttempt,
  { billing }: OpenAccount,
  reason: string,
  nowMs: number,
): AccountEvent[] {
  const { reload } = billing.payments;
  if (kind !== 'reload' || reload === null || reload.consentedAtMs === null || reload.paused !== null) return [];
  return [{ type: 'AutoReloadPaused', data: { reason, at: instant(nowMs) } }];
}

interface Taken {
  readonly id: string;
  readonly amount: MicroUsd;
  readonly cause: 'refund' | 'dispute';
  /** What went back before. */
  readonly before: MicroUsd;
  /** The refund or the dispute, where nothing else is said. */
  readonly what?: string;
  readonly reason?: string | null;
  readonly actor: string;
  readonly nowMs: number;
}

/** Of the credits the same part as of the price; nothing where all of them are revoked already. */
export function revoke(
  state: OpenAccount,
  attempt: PaymentAttempt,
  { id, amount, cause, before, what = `${cause} ${id}`, reason = null, actor, nowMs }: Taken,
): Decision {
  const { paymentId } = attempt;
  if (paymentId === null) throw new Error(`${id}: of no payment`);
  const grantId = grantOfPayment(state, paymentId);
  const part = creditsOf(attempt, before + amount) - creditsOf(attempt, before);
  const most = revocableOf(state, grantId);
  const revoked = part < most ? part : most;
  if (revoked <= 0n) return [];
  const said = { cause, paymentId, reason: because(what, attempt, reason), actor, nowMs };
  return revokeGrant({ type: 'RevokeGrant', revocationId: id, grantId, amount: microUsd(revoked), ...said }, state);
}

/** Its credits are there again: taken under the same id, they would not be told apart. */
const withdrawnBefore = (id: string): CommandRefusal =>
  commandRefused('id_reused', `id: refund ${id} was withdrawn: what goes back after all has another`);

const sameAmount = (known: MicroUsd, amount: MicroUsd, id: string): Decision =>
  known === amount
    ? []
    : commandRefused(
        'id_reused',
        `id: ${id} is about ${groupedUsd(known)} USD, and was told before: a further one has an id of its own`,
      );

const idTaken = (id: string): CommandRefusal =>
  commandRefused(
    'id_reused',
    `id: ${id} is that of another refund, dispute, revocation or restoration of this account`,
  );

const revokedByHand = (id: string, revocationId: string): CommandRefusal =>
  commandRefused(
    'id_reused',
    `id: the credits of ${id}, or some of them, were revoked by hand, under ${revocationId}: once \`credits restore\` has given back all of those, it is written down as it is told`,
  );

export const unpaid = (paymentId: string): CommandRefusal =>
  commandRefused('payment_not_found', `the account has no payment ${paymentId}`);
