import type { AccountEvent, EventData } from '../../contracts/events.ts';
import { groupedUsd, type MicroUsd, microUsd } from '../../contracts/money.ts';
import type { AccountState } from './account-state.ts';
import { creditsOf, paidBy, refundedOf } from './payments.ts';
import type { PaymentAttempt } from './payments-state.ts';
import { sumOf } from './shares-room.ts';

/** What became of the credits that money had bought which went back, or is disputed. */
export interface CreditsTaken {
  /** Of the refund or the dispute. */
  readonly id: string;
  readonly revoked: MicroUsd;
  /** Of that, where it was spent already, or had expired: what other credits have paid at once, and what they had not. */
  readonly setOff: MicroUsd;
  readonly owed: MicroUsd;
  /** What could not be revoked, since it was before. */
  readonly notRevoked: MicroUsd;
}

/**
 * Of the events of one command, decided on the account as it was before.
 *
 * @returns null where they tell of neither a refund, nor a dispute, nor of one that is lost after all
 */
export function creditsTaken(events: readonly AccountEvent[], before: AccountState): CreditsTaken | null {
  const back = events.find(isTaking);
  if (back === undefined || before.type === 'unopened') return null;
  const attempt = paidBy(before.billing.payments, back.data.paymentId);
  if (attempt === undefined) return null;
  const id = back.type === 'PaymentRefunded' ? back.data.refundId : back.data.disputeId;
  const amount = 'amount' in back.data ? back.data.amount : amountOf(attempt, id);
  const earlier = back.type === 'PaymentRefunded' ? refundedOf(before.billing, attempt) : 0n;
  const part = creditsOf(attempt, earlier + amount) - creditsOf(attempt, earlier);
  const revoked = events.find((event) => event.type === 'GrantRevoked')?.data;
  const taken = revoked?.amount ?? microUsd(0n);
  return { id, revoked: taken, ...lackOf(revoked), notRevoked: microUsd(part - taken) };
}

/** Who pays for the part of credits that were revoked which was not there any more. */
export function lackOf(
  revoked: Pick<EventData<'GrantRevoked'>, 'uncovered' | 'setOff'> | undefined,
): Pick<CreditsTaken, 'setOff' | 'owed'> {
  const setOff = microUsd(sumOf(revoked?.setOff ?? []));
  return { setOff, owed: microUsd((revoked?.uncovered ?? 0n) - setOff) };
}

/** In words, behind the sum that was revoked. */
export function sayLack({ setOff, owed }: Pick<CreditsTaken, 'setOff' | 'owed'>): string {
  const others = setOff === 0n ? '' : `, of which ${groupedUsd(setOff)} USD are taken of other credits`;
  return owed === 0n ? others : `${others}, of which ${groupedUsd(owed)} USD are owed now`;
}

type Taking = Extract<AccountEvent, { readonly type: 'PaymentRefunded' | 'PaymentDisputed' | 'DisputeClosed' }>;

const isTaking = (event: AccountEvent): event is Taking =>
  event.type === 'PaymentRefunded' ||
  event.type === 'PaymentDisputed' ||
  (event.type === 'DisputeClosed' && event.data.outcome === 'lost' && event.data.replaces === 'won');

const amountOf = ({ disputes }: PaymentAttempt, id: string): bigint =>
  disputes.find(({ disputeId }) => disputeId === id)?.amount ?? 0n;

/** In words, as the end of a sentence. */
export function sayTaken({ revoked, notRevoked, ...lack }: CreditsTaken): string {
  const rest = notRevoked === 0n ? '' : `; ${groupedUsd(notRevoked)} USD of its credits could not be: they were before`;
  return `${groupedUsd(revoked)} USD of credits revoked${sayLack(lack)}${rest}`;
}
