import type { PaymentId } from '../../contracts/ids.ts';
import type { MicroUsd } from '../../contracts/money.ts';

/** What became of money that was paid. */
export type ReturnCommand =
  /** So much of a payment went back, which had its credits. */
  | (OfReturn<'RecordRefund'> & {
      readonly refundId: string;
      readonly amount: MicroUsd;
      readonly refundedAtMs: number;
      /** The last that was told as this one, and is withdrawn. */
      readonly stood?: string | null;
    })
  /** It did not: that was written down by mistake, or, as its provider tells, has failed. */
  | (OfReturn<'WithdrawRefund'> & {
      readonly refundId: string;
      /** As its provider says, where that tells it; absent: failed. */
      readonly became?: 'failed' | 'canceled';
    })
  | (OfReturn<'RecordDispute'> & {
      readonly disputeId: string;
      readonly amount: MicroUsd;
      readonly openedAtMs: number;
      /** The last that was told as this one, and was won with another amount. */
      readonly stood?: string | null;
    })
  /** Also where it was said to have ended otherwise: what is said last counts. */
  | (OfReturn<'CloseDispute'> & {
      readonly disputeId: string;
      readonly outcome: 'won' | 'lost';
      readonly closedAtMs: number;
      /** How it had ended. */
      readonly stood?: 'won' | 'lost' | null;
    });

/**
 * What a provider tells replaces what stood here before it was asked (`stood`; absent and null is nothing), and nothing else: that may have
 * been told later. By hand what is said last counts.
 */
interface OfReturn<Type> {
  readonly type: Type;
  readonly paymentId: PaymentId;
  readonly actor: string;
  /** Of what is written down by hand; what a provider tells has none. */
  readonly reason?: string;
  readonly nowMs: number;
}
