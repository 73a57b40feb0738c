import type { AccountId, AttemptId, PaymentId } from '../../contracts/ids.ts';
import type { MicroUsd } from '../../contracts/money.ts';
import type { PaymentAttempt, PaymentsState } from '../account/payments-state.ts';

/** What a provider is asked about. Account and attempt together are the key under which it is asked, always the same. */
export interface AskedPayment {
  readonly accountId: AccountId;
  readonly attempt: PaymentAttempt;
  /** What may be charged without its owner being there; asked for as it is charged, for what was so a moment ago may be no more. */
  readonly method: () => PaymentsState['method'];
  /** What is saved, also where it may not be charged: whom it may have been charged to before. */
  readonly saved: () => PaymentsState['method'];
  /** It was begun a moment ago, by who asks: nobody has been asked of it before. */
  readonly isFirst: boolean;
  /** Whether what a provider finds of such an attempt, by such a name of its own, is that of another one that is known, or has paid one. */
  readonly isAnothers: (attempt: string, paymentId: string) => boolean;
}

/** The same of what is ended. */
export interface WithdrawnPayment extends AskedPayment {
  /** An operator ends it, and its provider keeps that: it is so whoever is told first. Absent: nobody wants it any more. */
  readonly endedBy?: 'operator';
}

export interface Question {
  /** It is of what is asked of by itself, and holds up nothing that somebody waits for. */
  readonly isByItself: boolean;
}

interface Declined {
  readonly type: 'failed';
  readonly code: string;
  readonly isTerminal: boolean;
  /** What was declined, where that is another than the one with which the attempt was begun, and which is saved: that was not charged. */
  readonly declinedMethodId?: string;
}

/** What a provider says of an attempt. */
export type PaymentOutcome =
  | { readonly type: 'paid'; readonly paymentId: PaymentId; readonly amount: MicroUsd; readonly paidAtMs: number }
  | Declined
  | { readonly type: 'action required'; readonly paymentId: PaymentId }
  /** It has charged nothing, and never will; where the provider knows that an operator has ended it, by that. */
  | { readonly type: 'abandoned'; readonly reason: string; readonly endedBy?: 'operator' }
  /** The same, since the provider does not do what it was asked to, as things are: nobody has declined anything. */
  | { readonly type: 'refused'; readonly reason: string }
  /** It is there and not decided; whoever pays does so at the address, where there is one. */
  | { readonly type: 'waits'; readonly url: string | null };

/** What a provider knows, also of what nobody here has asked it. */
export type PaymentFact =
  | { readonly type: 'attempt'; readonly attemptId: AttemptId; readonly outcome: PaymentOutcome }
  | {
      readonly type: 'refund';
      readonly paymentId: PaymentId;
      readonly refundId: string;
      readonly amount: MicroUsd;
      readonly refundedAtMs: number;
    }
  /** Its money never went back, or is here again. */
  | {
      readonly type: 'failed refund';
      readonly paymentId: PaymentId;
      readonly refundId: string;
      readonly became: 'failed' | 'canceled';
    }
  | {
      readonly type: 'dispute';
      readonly paymentId: PaymentId;
      readonly disputeId: string;
      readonly amount: MicroUsd;
      readonly openedAtMs: number;
      /** Null while it is open. */
      readonly outcome: 'won' | 'lost' | null;
    }
  | ({ readonly type: 'method' } & SavedMethod);

/** What its owner has consented may be charged. */
export interface SavedMethod {
  readonly customerId: string;
  readonly paymentMethodId: string;
  readonly brand: string;
  readonly last4: string;
  readonly consentedAtMs: number;
  /** Who has asked the owner for it. */
  readonly by: string;
}

export interface AccountFacts {
  readonly accountId: AccountId;
  /** In an order in which they can be written down: a payment before what became of it, and refunds that have failed before those that were made in their place. */
  readonly facts: readonly PaymentFact[];
}

/** Where money comes from. Built where the program is built; everything else has this. */
export interface PaymentProvider {
  /** As events name it. */
  readonly name: string;
  /** Why it never takes such a price, null where it does: told before anything is begun. Absent: it takes any. */
  declines?(price: MicroUsd): string | null;
  /**
   * Begins what was claimed by an event, or finds out what became of it: under the attempt's own key, so that asking again
   * charges nothing again. @throws Error where it cannot be told: the attempt stays open
   */
  ask(asked: AskedPayment): Promise<PaymentOutcome>;
  /**
   * Ends what nobody wants any more: from its answer on nothing is charged for it, and what was before is found. Waits where that is
   * being decided. @throws Error where it cannot be told: the attempt stays open
   */
  withdraw(asked: WithdrawnPayment): Promise<PaymentOutcome>;
  /** What is being asked fails, its outcome unknown. Absent: nothing is asked of anybody. */
  close?(): void;
}

/** Something of a provider's, such as a payment: what a message of its is about, or what we know of it. */
export interface Notice {
  readonly kind: string;
  readonly id: string;
  /** What the provider calls the message, where it was one: for who looks for it there. */
  readonly messageId?: string;
}

/** The provider's signature does not prove a message, which is believed in nothing then. */
export class UnprovenError extends Error {
  override readonly name = 'UnprovenError';
}

/** What a provider answers cannot be read, or is of something else than it was asked about: nothing of it is believed. */
export class UnfitAnswerError extends Error {
  override readonly name = 'UnfitAnswerError';
}

/** A message is the provider's and cannot be read, however often it is told: of a form that is not known, or none. Its message names what of it. */
export class UnreadableMessageError extends Error {
  override readonly name = 'UnreadableMessageError';
}

/** A provider on line: it tells by itself when something has changed (webhooks), and keeps what may be charged. */
export interface TellingProvider extends PaymentProvider {
  /** What it calls payments, and pages on which owners consent. */
  readonly kinds: { readonly payment: string; readonly consent: string };
  /**
   * What a message is about; all else of it is left, for the provider is asked. Null: nothing that matters here.
   * @param body its bytes as they came @throws UnprovenError, UnreadableMessageError
   */
  about(body: Buffer, signature: string): Notice | null;
  /**
   * All that it knows of the payment, or the method, now. Null: of no account of this ledger.
   *
   * @throws Error where it cannot be told
   */
  factsOf(notice: Notice, question?: Question): Promise<AccountFacts | null>;
  /** Where an owner consents that a method is charged without them. @param customerId of the one of before */
  beginMethod(asked: {
    accountId: AccountId;
    by: string;
    customerId: string | null;
  }): Promise<{ readonly id: string; readonly url: string }>;
  /** May not be charged any more, there either. */
  forgetMethod(method: Pick<SavedMethod, 'paymentMethodId'>): Promise<void>;
}

export const isTelling = (provider: PaymentProvider): provider is TellingProvider => 'factsOf' in provider;
