import type { AccountId, PaymentId } from '../../contracts/ids.ts';
import type { MicroUsd } from '../../contracts/money.ts';
import type { PaymentAttempt, PaymentsState } from '../account/payments-state.ts';

/** What a provider is asked about. Account and attempt together are the key under which it is asked, always the same. */
export interface AskedPayment {
  readonly accountId: AccountId;
  readonly attempt: PaymentAttempt;
  /** What may be charged without its owner being there. */
  readonly method: PaymentsState['method'];
}

/** What a provider says of an attempt. */
export type PaymentOutcome =
  | { readonly type: 'paid'; readonly paymentId: PaymentId; readonly amount: MicroUsd; readonly paidAtMs: number }
  | { readonly type: 'failed'; readonly code: string; readonly isTerminal: boolean }
  | { readonly type: 'action required'; readonly paymentId: PaymentId }
  /** It has charged nothing, and never will. */
  | { readonly type: 'abandoned'; readonly reason: string }
  /** It is there and not decided; whoever pays does so at the address, where there is one. */
  | { readonly type: 'waits'; readonly url: string | null };

/** Where money comes from. Built where the program is built; everything else has this. */
export interface PaymentProvider {
  /** As events name it. */
  readonly name: string;
  /**
   * Begins what was claimed by an event, or finds out what became of it: under the attempt's own key, so that asking again
   * charges nothing again. @throws Error where it cannot be told: the attempt stays open
   */
  ask(asked: AskedPayment): Promise<PaymentOutcome>;
  /** What is being asked fails, its outcome unknown. Absent: nothing is asked of anybody. */
  close?(): void;
}
