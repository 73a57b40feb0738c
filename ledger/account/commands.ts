import type { AccountEvent, EventData, UsageRecorded } from '../../contracts/events.ts';
import type {
  AccountId,
  AttemptId,
  GrantId,
  KeyId,
  LeaseId,
  PaymentId,
  ProxyId,
  RequestId,
} from '../../contracts/ids.ts';
import type { MicroUsd } from '../../contracts/money.ts';
import type { Role } from '../../contracts/permissions.ts';
import type { RateCard } from '../../contracts/rate-card.ts';
import type { StatementFigure } from '../../contracts/statement-events.ts';
import type { KnownPlans } from '../catalog/known-plans.ts';
import type { ReturnCommand } from './return-commands.ts';

/** What can be asked of an account. Times and ids are arguments: the decider reads no clock and no randomness. */
export type AccountCommand =
  | {
      readonly type: 'OpenAccount';
      readonly accountId: AccountId;
      readonly kind: 'personal' | 'organization';
      readonly email: string;
      /** Granted for 30 days from now; 0 for none. */
      readonly trial: MicroUsd;
      readonly trialGrantId: GrantId;
      /** DEFAULT_PRODUCT where it is absent. */
      readonly product?: string;
      readonly nowMs: number;
    }
  | ({ readonly type: 'AddMember'; readonly role: Role; readonly nowMs: number } & OfMember)
  | ({ readonly type: 'ChangeMemberRole'; readonly role: Role } & OfMember)
  /** Ends the member's keys, too. */
  | ({ readonly type: 'RemoveMember'; readonly nowMs: number } & OfMember)
  | {
      readonly type: 'GrantCredits';
      readonly grantId: GrantId;
      readonly source: EventData<'CreditsGranted'>['source'];
      readonly amount: MicroUsd;
      readonly costBasis: MicroUsd;
      readonly priority: number;
      readonly effectiveAtMs: number;
      readonly expiresAtMs: number | null;
    }
  | {
      readonly type: 'IssueKey';
      readonly keyId: KeyId;
      readonly name: string;
      readonly sha256: string;
      readonly last4: string;
      readonly issuer: string;
      readonly expiresAtMs: number | null;
      readonly models: readonly string[] | null;
      readonly monthlyLimit: MicroUsd | null;
      /** Whose it is, by e-mail; null or absent is the account's first owner, else the first that there is. */
      readonly member?: string | null;
      readonly nowMs: number;
    }
  /** Another secret for a key; the one before goes on for so long, and the one before that one ends at once. */
  | {
      readonly type: 'RotateKey';
      readonly keyId: KeyId;
      readonly sha256: string;
      readonly last4: string;
      readonly overlapMs: number;
      /** Whoever asks knows that a secret whose end was promised for later may end at once; an overlap of 0 says as much. */
      readonly endsPrevious: boolean;
      readonly by: string;
      readonly nowMs: number;
    }
  | { readonly type: 'RevokeKey'; readonly keyId: KeyId; readonly nowMs: number }
  /** Of a key, of a member (by e-mail), or where neither is named of the account; `limit` null is none. */
  | {
      readonly type: 'SetSpendLimit';
      readonly keyId: KeyId | null;
      readonly member?: string | null;
      readonly limit: MicroUsd | null;
      /** Hard where it is not said. */
      readonly mode?: 'hard' | 'soft';
      /** Those that the limit has where it is not said; of a new one the usual ones. */
      readonly thresholdsPercent?: readonly number[];
      readonly nowMs: number;
    }
  /** A finished request; the card is the one that the usage names, the lease what it was admitted under. */
  | {
      readonly type: 'RecordUsage';
      readonly usage: UsageRecorded;
      readonly card: RateCard;
      readonly leaseId?: LeaseId | null;
    }
  /** Usage that finds its request recorded as `recovered` already; the card is the one that the usage names. */
  | { readonly type: 'ReportLateUsage'; readonly usage: UsageRecorded; readonly card: RateCard }
  /** The account pays what an exception was about. */
  | ({ readonly type: 'ApproveException' } & EndedException)
  /** Nobody pays what an exception was about. */
  | ({ readonly type: 'DropException' } & EndedException)
  /** The first of these, as many as one append takes, in this order; those that are not open any more are left out. */
  | {
      readonly type: 'EndExceptions';
      readonly ending: 'ApproveException' | 'DropException';
      readonly requestIds: readonly RequestId[];
      readonly reason: string;
      readonly actor: string;
    }
  /** A proxy asks for more of the account's free credit, up to an amount (0 only renews); it gets what is free. */
  | {
      readonly type: 'LeaseCredits';
      readonly proxy: ProxyId;
      readonly leaseId: LeaseId;
      /** Of the proxy's claim. */
      readonly epoch: number;
      /** The key whose monthly limit it counts against, too; null for keys without one. */
      readonly keyId: KeyId | null;
      readonly upTo: MicroUsd;
      /** Its requests start from now on and before this; null is without end. */
      readonly requestsBeforeMs: number | null;
      /** How far other proxies may be ahead of this one (LeaseTerms). */
      readonly othersAheadMs: number;
      readonly expiresAtMs: number;
      readonly nowMs: number;
    }
  /** A proxy gives back what it does not need of its lease, at most this much. */
  | { readonly type: 'ReleaseLease'; readonly leaseId: LeaseId; readonly amount: MicroUsd }
  /** A proxy that knows of a key's limit says what its requests from before it could still take of a lease. */
  | { readonly type: 'NarrowLease'; readonly leaseId: LeaseId; readonly keyId: KeyId; readonly atMost: MicroUsd }
  /** Writes down what the clock has made true at least `lateMs` ago. */
  | { readonly type: 'ExpireCredits'; readonly lateMs: number; readonly nowMs: number }
  /** Undoes that. `amount` null is all that has expired of the grant; `expiresAtMs` null leaves the grant its end. */
  | {
      readonly type: 'ReinstateCredits';
      readonly grantId: GrantId;
      readonly amount: MicroUsd | null;
      readonly expiresAtMs: number | null;
      /** How long after its end what is left of a grant is written down as expired. */
      readonly lateMs: number;
      readonly reason: string;
      readonly actor: string;
      readonly nowMs: number;
    }
  /** Takes a grant back, whole or in part; `amount` null is what is left of it. */
  | {
      readonly type: 'RevokeGrant';
      readonly revocationId: string;
      readonly grantId: GrantId;
      readonly amount: MicroUsd | null;
      readonly cause: EventData<'GrantRevoked'>['cause'];
      readonly paymentId: string | null;
      readonly reason: string;
      readonly actor: string;
      readonly nowMs: number;
    }
  /** Undoes that. `amount` null is all that has not come back yet. */
  | {
      readonly type: 'RestoreGrant';
      readonly restorationId: string;
      readonly revocationId: string;
      readonly amount: MicroUsd | null;
      readonly reason: string;
      readonly actor: string;
      readonly nowMs: number;
    }
  /** Somebody is about to pay a price for so much credit. The same id again begins nothing more. */
  | {
      readonly type: 'StartPurchase';
      readonly attemptId: AttemptId;
      readonly provider: string;
      readonly amount: MicroUsd;
      readonly price: MicroUsd;
      readonly by: string;
      readonly nowMs: number;
    }
  /** What became of an attempt, as its provider says it; in any order, and more than once. */
  | {
      readonly type: 'RecordPayment';
      readonly attemptId: AttemptId;
      readonly provider: string;
      readonly paymentId: PaymentId;
      /** What was paid. */
      readonly amount: MicroUsd;
      readonly paidAtMs: number;
      readonly nowMs: number;
    }
  | {
      readonly type: 'RecordPaymentFailure';
      readonly attemptId: AttemptId;
      readonly code: string;
      readonly isTerminal: boolean;
      /** The payment method that was declined; absent is the one with which it was begun. */
      readonly declinedMethodId?: string;
      readonly nowMs: number;
    }
  | {
      readonly type: 'RequirePaymentAction';
      readonly attemptId: AttemptId;
      readonly paymentId: PaymentId;
      readonly nowMs: number;
    }
  /** It has provably charged nothing, and never will. Where an operator has not ended it, its provider has. */
  | (EndOf<'AbandonPayment'> & { readonly endedBy?: 'operator' })
  /** Whoever wanted to pay does not any more; its provider has ended it already, unless it cannot be asked to. */
  | (EndOf<'EndPurchase'> & { readonly isUnasked?: boolean })
  /** May be charged from here on without its owner being there, who has consented to that. */
  | {
      readonly type: 'SavePaymentMethod';
      readonly provider: string;
      readonly customerId: string;
      readonly paymentMethodId: string;
      readonly brand: string;
      readonly last4: string;
      readonly consentedAtMs: number;
      readonly by: string;
    }
  | ReturnCommand
  /** `consentedAtMs` null turns it off. */
  | {
      readonly type: 'ConfigureAutoReload';
      readonly threshold: MicroUsd;
      readonly target: MicroUsd;
      readonly monthlyCap: MicroUsd;
      readonly consentedAtMs: number | null;
      readonly by: string;
    }
  /** Begins one where it is time, under this id. */
  | {
      readonly type: 'StartAutoReload';
      readonly attemptId: AttemptId;
      readonly provider: string;
      readonly nowMs: number;
    }
  /** `plan` none ends the one there is as its period does. */
  | ({
      readonly type: 'ChangePlan';
      readonly plan: string;
      readonly reason: string;
      readonly by: string;
    } & Renewing)
  /** Begins the payment of a period where it is time, or ends a plan. */
  | ({ readonly type: 'StartRenewal' } & Renewing)
  | { readonly type: 'EndPlan'; readonly reason: string; readonly by: string; readonly nowMs: number }
  | { readonly type: 'RemovePaymentMethod'; readonly by: string; readonly nowMs: number }
  /** `amount` null is all that was not reversed before. */
  | {
      readonly type: 'ReverseDebit';
      readonly reversalId: string;
      readonly requestId: RequestId;
      readonly amount: MicroUsd | null;
      /** What the stream says of the request's money, in its order. */
      readonly debits: readonly MoneyOfRequest[];
      readonly reason: string;
      readonly actor: string;
      readonly nowMs: number;
    }
  | {
      readonly type: 'AdjustBalance';
      readonly adjustmentId: GrantId;
      readonly direction: EventData<'BalanceAdjusted'>['direction'];
      readonly amount: MicroUsd;
      readonly reason: string;
      readonly actor: string;
      readonly nowMs: number;
    }
  /** What its events add up to, read up to the very revision that it is decided at. */
  | {
      readonly type: 'CloseStatement';
      readonly month: string;
      readonly sums: Readonly<Record<StatementFigure, MicroUsd>>;
      /** What later months have added to the balance. */
      readonly later: bigint;
      readonly firstRevision: number;
      readonly lastRevision: number;
      /** How long after its end at the earliest. */
      readonly graceMs: number;
      readonly nowMs: number;
    }
  | { readonly type: 'SuspendAccount'; readonly reason: string }
  | { readonly type: 'ReinstateAccount'; readonly reason: string };

interface Renewing {
  readonly provider: string;
  readonly catalog: KnownPlans;
  readonly nowMs: number;
}

interface EndOf<Type> {
  readonly type: Type;
  readonly attemptId: AttemptId;
  readonly reason: string;
  readonly nowMs: number;
}

interface OfMember {
  readonly email: string;
  readonly by: string;
}

export type MoneyOfRequest = Extract<
  AccountEvent,
  { readonly type: 'CreditsDebited' | 'ExceptionApproved' | 'DebitReversed' }
>;

interface EndedException {
  readonly requestId: RequestId;
  readonly reason: string;
  readonly actor: string;
}

export type CommandRefusalCode =
  | 'account_exists'
  | 'account_not_found'
  | 'key_exists'
  | 'key_not_found'
  | 'key_already_revoked'
  | 'ambiguous_scope'
  | 'invalid_thresholds'
  | 'grant_exists'
  | 'grant_id_reserved'
  | 'too_many_grants'
  | 'grant_not_found'
  | 'nothing_expired'
  | 'not_written_off'
  | 'attempt_not_found'
  | 'payment_not_found'
  | 'plan_not_found'
  | 'refund_not_found'
  | 'dispute_not_found'
  | 'attempt_open'
  | 'payment_method_declined'
  | 'payment_differs'
  | 'paid_here'
  | 'id_reused'
  | 'invalid_amount'
  | 'invalid_period'
  | 'already_suspended'
  | 'not_suspended'
  | 'exception_not_found'
  | 'exception_ended'
  | 'reason_missing'
  | 'not_permitted'
  | 'revocation_not_found'
  | 'restoration_id_reserved'
  | 'personal_account'
  | 'member_exists'
  | 'member_not_found'
  | 'too_many_members'
  | 'too_many_keys'
  | 'last_owner'
  | 'key_ended'
  | 'previous_secret_works'
  | 'debit_not_found'
  | 'account_changed'
  | 'told_meanwhile'
  | 'statement_closed'
  | 'month_not_over';

export interface CommandRefusal {
  readonly type: 'refused';
  readonly code: CommandRefusalCode;
  /** What is wrong with one value of the command begins with its name: `amount: …`. */
  readonly message: string;
}

/** What is to be appended, nothing where all of it is so already; or why it is refused. */
export type Decision = AccountEvent[] | CommandRefusal;

/** What stands against it passes: a request is under way that burns of what it would give back. */
export const isRefusedForNow = ({ code }: CommandRefusal): boolean => code === 'not_written_off';

export const commandRefused = (code: CommandRefusalCode, message: string): CommandRefusal => ({
  type: 'refused',
  code,
  message,
});

/** No correction is without. */
export const unreasoned = (): CommandRefusal =>
  commandRefused('reason_missing', 'reason: say why; it stands in the ledger');

/** Also for who is no member of one that is there. */
export const accountNotFound = (): CommandRefusal => commandRefused('account_not_found', 'there is no such account');

export type CommandOf<T extends AccountCommand['type']> = Extract<AccountCommand, { type: T }>;
