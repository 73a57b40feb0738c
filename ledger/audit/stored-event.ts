/**
 * Events as they are stored, their JSON parsed and no more: the auditor reads them with its own eyes. It has the schemas
 * (contracts/) tell which it can read, and turns decimal strings into bigint itself.
 */
export interface StoredEvent {
  readonly revision: number;
  readonly position: number;
  readonly id: string;
  readonly type: string;
  readonly data: unknown;
  readonly metadata?: StoredMetadata;
}

/** What stands beside it. Tests of single rules leave out who wrote it. */
export interface StoredMetadata {
  readonly recordedAt: string;
  readonly commandId?: string;
  readonly actor?: string;
  readonly ended?: unknown;
}

/** Prices in pico-USD a token, and a use by its name. */
export interface OwnCard extends Readonly<Record<(typeof TOKEN_CLASSES)[number], bigint>> {
  readonly hasFastLane: boolean;
  readonly uses: ReadonlyMap<string, bigint>;
}

/** The prices that a usage is to be billed by; in words, why there are none. */
export type CardOf = (usage: UsageData) => OwnCard | string;

export const TOKEN_CLASSES = ['input', 'output', 'cacheRead', 'cacheWrite5m', 'cacheWrite1h'] as const;
export type Tokens = Readonly<Record<(typeof TOKEN_CLASSES)[number], number>>;

export interface UsageData {
  readonly requestId: string;
  readonly keyId: string;
  readonly model: string;
  readonly upstream: { readonly requestId: string | null };
  readonly tokens: Tokens;
  /** Events of the first version have none of the three. */
  readonly uses?: Readonly<Record<string, number>>;
  readonly unpriced?: readonly string[];
  readonly hold?: string | null;
  readonly lane: string;
  readonly outcome: string;
  readonly source: string;
  readonly billable: boolean;
  readonly startedAt: string;
  readonly finishedAt: string;
  readonly rateCard: { readonly id: string; readonly version: number; readonly hash: string };
}

/** What is billed by the use; the rate is in pico-USD a use. */
export interface OwnUse {
  readonly use: string;
  readonly count: number;
  readonly rate: string;
  readonly cost: string;
}

export interface DebitData {
  readonly requestId: string;
  readonly keyId: string;
  readonly model: string;
  readonly lane: string;
  readonly cost: string;
  readonly carryBefore: string;
  readonly carryAfter: string;
  readonly amount: string;
  /** Events of the first version have neither. */
  readonly leftOut?: string;
  readonly uses?: readonly OwnUse[];
  /** Absent where one proxy has all credit to itself. */
  readonly leaseId?: string;
  readonly lines: readonly {
    readonly tokenClass: string;
    readonly tokens: number;
    readonly rate: string;
    readonly cost: string;
  }[];
  readonly grants: readonly { readonly grantId: string; readonly amount: string }[];
  readonly uncovered: string;
  readonly balanceAfter: string;
  readonly month: string;
  readonly monthToDateAfter: string;
  readonly keyMonthToDateAfter: string;
}

export interface OpenedData {
  readonly product?: string;
  readonly accountId: string;
  readonly openedAt: string;
  readonly kind: string;
  readonly email: string;
}

export interface MemberData {
  readonly email: string;
  readonly role: string;
}

export interface RemovedData {
  readonly email: string;
  readonly removedAt: string;
}

export interface IssuedData {
  readonly keyId: string;
  readonly expiresAt: string | null;
  readonly models: readonly string[] | null;
  readonly monthlyLimit: string | null;
  readonly sha256: string;
  /** Events of the first version are of the first owner. */
  readonly member?: string | null;
}

export interface RotatedData {
  readonly keyId: string;
  readonly sha256: string;
  readonly previousUntil: string;
  readonly rotatedAt: string;
}

export interface RevokedData {
  readonly keyId: string;
  readonly revokedAt: string;
}

export interface LimitSetData {
  readonly scope: string;
  readonly keyId: string | null;
  readonly limit: string | null;
  /** Events of the first version have none of these. */
  readonly member?: string | null;
  readonly mode?: string;
  readonly thresholdsPercent?: readonly number[];
}

export interface GrantData {
  readonly grantId: string;
  readonly source: string;
  readonly amount: string;
  readonly costBasis: string;
  readonly priority: number;
  readonly effectiveAt: string;
  readonly expiresAt: string | null;
}

export interface PurchaseData {
  readonly attemptId: string;
  readonly provider: string;
  readonly amount: string;
  readonly price: string;
  readonly startedAt: string;
}

export interface MethodSavedData {
  readonly provider: string;
  readonly paymentMethodId: string;
  readonly consentedAt: string;
}
export type MethodRemovedData = Pick<RemovedData, 'removedAt'>;
export interface PaidData extends Pick<PurchaseData, 'attemptId' | 'provider' | 'amount'> {
  readonly paymentId: string;
  readonly paidAt: string;
}

export interface FailedData extends UnpaidData {
  readonly code: string;
  readonly isTerminal: boolean;
  readonly failedAt: string;
  readonly nextAttemptAt: string | null;
  readonly declinedMethodId?: string;
}

export interface GivenUpData extends UnpaidData {
  readonly at: string;
  /** Null where it is not said; events of the first version have none. */
  readonly endedBy?: string | null;
}

interface ReturnedData {
  readonly paymentId: string;
  /** Null where a provider tells it; events of the first version have none. */
  readonly reason?: string | null;
}

export interface RefundedData extends ReturnedData {
  readonly refundId: string;
  readonly amount: string;
}

export interface DisputedData extends ReturnedData {
  readonly disputeId: string;
  readonly amount: string;
}

export interface DisputeClosedData extends Omit<DisputedData, 'amount'> {
  readonly outcome: string;
  readonly replaces?: string | null;
}

export interface ReloadSetData {
  readonly threshold: string;
  readonly target: string;
  readonly monthlyCap: string;
  readonly consentedAt: string | null;
}

export interface ReloadStartedData extends PurchaseData {
  readonly balance: string;
  readonly pending: string;
  readonly monthTotal: string;
  readonly startedAt: string;
}

export interface PlanChangedData {
  readonly plan: string;
  /** Events of the first version have none. */
  readonly terms?: {
    readonly catalogVersion: number | null;
    readonly effectiveAt: string;
    readonly anchorAt: string;
    readonly periodEnd: string;
  } | null;
}

export interface RenewalData {
  readonly attemptId: string;
  readonly kind: string;
  readonly provider: string;
  readonly plan: string;
  readonly catalogVersion: number;
  readonly periodStart: string;
  readonly periodEnd: string;
  readonly price: string;
  readonly credits: string;
  readonly overdraft: string;
  readonly graceUntil: string;
  readonly startedAt: string;
}

export interface PlanEndedData {
  readonly plan: string;
  readonly reason: string;
  readonly at: string;
}

/** A month's statement: what moved the balance, and what it was before and after. */
export interface StatementData
  extends Readonly<
    Record<
      | 'granted'
      | 'reinstated'
      | 'restored'
      | 'reversed'
      | 'adjustedUp'
      | 'debited'
      | 'expired'
      | 'revoked'
      | 'adjustedDown',
      string
    >
  > {
  readonly month: string;
  readonly product: string;
  readonly opening: string;
  readonly closing: string;
  readonly firstRevision: number;
  readonly lastRevision: number;
  readonly closedAt: string;
}

export interface SkippedData {
  readonly reason: string;
  readonly at: string;
}

/** Whatever else became of an attempt. */
export interface UnpaidData {
  readonly attemptId: string;
}

/** Usage of a request that was recorded as `recovered` before: what it would have cost. */
export interface LateData {
  readonly requestId: string;
  readonly usage: UsageData;
  readonly cost: string;
  readonly lines: DebitData['lines'];
  readonly uses: readonly OwnUse[];
}

/** What an operator debits after all, with the figures of a debit. */
export type ApprovedData = Omit<DebitData, 'leftOut' | 'uses' | 'lines' | 'leaseId'> & { readonly reason?: string };

export interface LeasedData {
  readonly proxy: string;
  readonly leaseId: string;
  /** Events of earlier versions have none. */
  readonly epoch?: number;
  /** Absent for keys without a limit. */
  readonly keyId?: string;
  readonly amount: string;
  readonly expiresAt: string;
  /** Events of earlier versions have neither. */
  readonly requestsFrom?: string | null;
  readonly requestsBefore?: string | null;
}

export type ReleasedData = Pick<LeasedData, 'proxy' | 'leaseId' | 'amount'>;

export interface NarrowedData {
  readonly proxy: string;
  readonly leaseId: string;
  readonly keyId: string;
  readonly atMost: string;
}

export interface CrossedData {
  readonly scope: string;
  readonly keyId: string | null;
  readonly month: string;
  readonly thresholdPercent: number;
  readonly limit: string;
  readonly spent: string;
  /** Events of the first version have none. */
  readonly member?: string | null;
}

export interface DroppedData {
  readonly requestId: string;
  readonly amount: string;
  readonly reason?: string;
}

export interface ExpiredData {
  readonly grantId: string;
  readonly amount: string;
  readonly expiredAt: string;
}

/** An expiry that is undone. */
export interface ReinstatedData extends Omit<ExpiredData, 'expiredAt'> {
  readonly expiresAt: string;
}

/** Credit that is taken back; the grant pays as far as it can. */
export interface RevokedGrantData {
  readonly revocationId: string;
  readonly grantId: string;
  readonly amount: string;
  readonly taken: string;
  readonly uncovered: string;
  readonly setOff?: DebitData['grants'];
  readonly cause: string;
  readonly revokedAt: string;
  readonly reason: string;
  readonly balanceAfter: string;
}

/** What comes back of what was taken, by whichever correction. Without `setOff` it is of before other debts were paid by it. */
export interface ComeBackData {
  readonly amount: string;
  readonly uncovered: string;
  readonly owedLess: string;
  readonly setOff?: DebitData['grants'];
  readonly reinstated: readonly {
    readonly grantId: string;
    readonly amount: string;
    readonly expiresAt: string | null;
  }[];
  readonly reason: string;
  readonly balanceAfter: string;
}

/** A debit that is undone, or a part of it. */
export interface ReversedData
  extends ComeBackData,
    Pick<DebitData, 'requestId' | 'keyId' | 'model' | 'lane' | 'month' | 'monthToDateAfter' | 'keyMonthToDateAfter'> {
  readonly reversalId: string;
  readonly reversedAt: string;
}

export interface AdjustedData extends Pick<DebitData, 'amount' | 'uncovered' | 'balanceAfter'> {
  readonly adjustmentId: string;
  readonly direction: string;
  readonly shares: DebitData['grants'];
  readonly setOff?: DebitData['grants'];
  readonly adjustedAt: string;
  readonly reason: string;
}

export interface RestoredData extends ComeBackData, Pick<RevokedGrantData, 'revocationId' | 'grantId' | 'cause'> {
  readonly restorationId: string;
  readonly restoredAt: string;
}

export interface SuspensionData {
  readonly reason: string;
}
