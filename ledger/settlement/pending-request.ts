import type { UsageRecorded } from '../../contracts/events.ts';
import type { AccountId, LeaseId } from '../../contracts/ids.ts';
import type { RateCard } from '../../contracts/rate-card.ts';
import type { AccountCommand } from '../account/commands.ts';
import { rateUsage } from '../rating.ts';

/** A request that has ended and is not in the ledger yet. */
export interface PendingRequest {
  readonly accountId: AccountId;
  readonly usage: UsageRecorded;
  readonly card: RateCard;
  /** What it was admitted under; null where one proxy has all of an account's credit. */
  readonly leaseId: LeaseId | null;
  /** The ledger has the request as `recovered`, and this usage says more: it is reported as late. */
  isLate: boolean;
  /** Seen in the ledger: what is left is to see its debit, too, where it has one. */
  recorded: boolean;
  /** Whether a debit belongs to it; null until it is decided. */
  hasDebit: boolean | null;
}

/** A request of an earlier run, with what it is priced by. */
export interface EarlierRequest extends Pick<PendingRequest, 'accountId' | 'usage' | 'card' | 'leaseId' | 'isLate'> {}

/** A request of any run: of this one it is known here whether it is late. */
export type EndedRequest = Omit<EarlierRequest, 'isLate'> & Partial<Pick<EarlierRequest, 'isLate'>>;

/** What the account decides on. */
export const commandOf = ({ usage, card, leaseId, isLate }: EarlierRequest): AccountCommand =>
  isLate ? { type: 'ReportLateUsage', usage, card } : { type: 'RecordUsage', usage, card, leaseId };

/** For a request that the ledger had before it was decided here. */
export const hasDebit = ({ usage, card }: PendingRequest): boolean =>
  usage.billable && rateUsage(usage, card).cost > 0n;
