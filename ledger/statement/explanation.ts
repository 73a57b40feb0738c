import { decodeMetadata, type EventMetadata } from '../../contracts/event-codec.ts';
import type { RecordedEvent } from '../../contracts/event-log.ts';
import type { AccountEvent, CreditsDebited, EventData, UsageRecorded } from '../../contracts/events.ts';
import { type AccountId, commandOfRequest, type RequestId, type Revision } from '../../contracts/ids.ts';
import { accountEventOf } from '../account/account-event.ts';
import { AccountUnreadableError } from '../account/account-unreadable-error.ts';
import { RunningBalance } from './running-balance.ts';
import { gapBefore } from './stream-range.ts';

/** An event of a request, with where and when it stands in the stream. */
interface Stated<T> {
  readonly data: T;
  readonly revision: Revision;
  readonly recordedAt: string;
}

/** All that an account's stream says of one of its requests. */
export interface Explanation {
  readonly account: EventData<'AccountOpened'> | null;
  readonly key: EventData<'ApiKeyIssued'> | null;
  readonly usage: Stated<UsageRecorded>;
  readonly debit: Stated<CreditsDebited> | null;
  /** All of its account: its debit, or its approval, says which of them it has taken from. */
  readonly grants: ReadonlyMap<string, EventData<'CreditsGranted'>>;
  /** Who had leased the credit that it was admitted under; null where it was under no lease. */
  readonly lease: EventData<'CreditsLeased'> | null;
  /** Micro-USD, before its usage and after its debit; null where events before it cannot be read. */
  readonly balanceBefore: bigint | null;
  readonly balanceAfter: bigint | null;
  readonly late: readonly Stated<EventData<'LateUsageReported'>>[];
  readonly approved: Stated<EventData<'ExceptionApproved'>> | null;
  readonly dropped: Stated<EventData<'ExceptionDropped'>> | null;
  readonly reversals: readonly Stated<EventData<'DebitReversed'>>[];
  /** What else its settlement has written: limits of which it reached a part. */
  readonly thresholds: readonly EventData<'SpendThresholdCrossed'>[];
  /** What is amiss with its own events, or missing, for that may have been its. */
  readonly faults: readonly string[];
  /** Other events of the stream that cannot be read. */
  readonly unreadable: readonly string[];
}

/** Takes an account's events, all of them in order: what a request is about may be said long after it. */
export class RequestExplainer {
  readonly #accountId: AccountId;
  readonly #requestId: RequestId;
  readonly #balance = new RunningBalance();
  readonly #keys = new Map<string, EventData<'ApiKeyIssued'>>();
  readonly #granted = new Map<string, EventData<'CreditsGranted'>>();
  readonly #leases = new Map<string, EventData<'CreditsLeased'>>();
  readonly #thresholds: EventData<'SpendThresholdCrossed'>[] = [];
  readonly #late: Stated<EventData<'LateUsageReported'>>[] = [];
  readonly #reversals: Stated<EventData<'DebitReversed'>>[] = [];
  readonly #faults: string[] = [];
  readonly #unreadable: string[] = [];
  #next = 0;
  #account: EventData<'AccountOpened'> | null = null;
  #usage: Stated<UsageRecorded> | null = null;
  #debit: Stated<CreditsDebited> | null = null;
  #approved: Stated<EventData<'ExceptionApproved'>> | null = null;
  #dropped: Stated<EventData<'ExceptionDropped'>> | null = null;
  #balances: Pick<Explanation, 'balanceBefore' | 'balanceAfter'> = { balanceBefore: null, balanceAfter: null };

  constructor(accountId: AccountId, requestId: RequestId) {
    this.#accountId = accountId;
    this.#requestId = requestId;
  }

  take(recorded: RecordedEvent): void {
    const gap = gapBefore(this.#next, recorded);
    this.#next = recorded.revision + 1;
    if (gap !== null) {
      this.#faults.push(gap);
      this.#balance.lose();
    }
    try {
      const event = accountEventOf(this.#accountId, recorded);
      const before = this.#balance.value;
      const { fault } = this.#balance.take(event);
      this.#takeOfAccount(event);
      if (this.#isOfRequest(event)) this.#takeOfRequest(event, recorded, { before, fault });
      else this.#takeBeside(event, recorded);
    } catch (error) {
      if (!(error instanceof AccountUnreadableError)) throw error;
      (recorded.data.includes(this.#requestId) ? this.#faults : this.#unreadable).push(error.message);
      this.#balance.lose();
    }
  }

  /** As the explanation's. */
  get faults(): readonly string[] {
    return this.#faults;
  }

  /** Null where the stream has no usage of the request. */
  explanation(): Explanation | null {
    const [usage, debit] = [this.#usage, this.#debit];
    if (usage === null) return null;
    const leaseId = debit?.data.leaseId;
    return {
      ...{ account: this.#account, key: this.#keys.get(usage.data.keyId) ?? null, usage, debit },
      ...{ grants: this.#granted, lease: leaseId === undefined ? null : (this.#leases.get(leaseId) ?? null) },
      ...this.#balances,
      ...{ late: this.#late, approved: this.#approved, dropped: this.#dropped, thresholds: this.#thresholds },
      reversals: this.#reversals,
      ...{ faults: this.#faults, unreadable: this.#unreadable },
    };
  }

  #takeOfAccount(event: AccountEvent): void {
    if (event.type === 'AccountOpened') this.#account = event.data;
    else if (event.type === 'ApiKeyIssued') this.#keys.set(event.data.keyId, event.data);
    else if (event.type === 'CreditsGranted') this.#granted.set(event.data.grantId, event.data);
    else if (event.type === 'CreditsLeased' && !this.#leases.has(event.data.leaseId))
      this.#leases.set(event.data.leaseId, event.data);
  }

  #isOfRequest = (event: AccountEvent): event is RequestEvent =>
    'requestId' in event.data && event.data.requestId === this.#requestId;

  #takeOfRequest(
    event: RequestEvent,
    recorded: RecordedEvent,
    { before, fault }: { readonly before: bigint | null; readonly fault: string | null },
  ): void {
    const { revision } = recorded;
    const { recordedAt } = decodeMetadata(recorded);
    const again = (known: Stated<unknown> | null): void => {
      if (known !== null)
        this.#faults.push(`revision ${revision} is its second ${event.type}; the first is revision ${known.revision}`);
    };
    if (fault !== null) this.#faults.push(`revision ${revision}: ${fault}`);
    switch (event.type) {
      case 'UsageRecorded':
        again(this.#usage);
        this.#usage ??= { data: event.data, revision, recordedAt };
        this.#balances = { balanceBefore: before, balanceAfter: before };
        break;
      case 'CreditsDebited':
        again(this.#debit);
        this.#debit ??= { data: event.data, revision, recordedAt };
        // What a debit says of itself stands also where nothing before it can be read.
        this.#balances = {
          balanceBefore: event.data.balanceAfter + event.data.amount,
          balanceAfter: event.data.balanceAfter,
        };
        break;
      case 'LateUsageReported':
        this.#late.push({ data: event.data, revision, recordedAt });
        break;
      case 'ExceptionApproved':
        again(this.#approved);
        this.#approved = { data: event.data, revision, recordedAt };
        break;
      case 'ExceptionDropped':
        again(this.#dropped);
        this.#dropped = { data: event.data, revision, recordedAt };
        break;
      case 'DebitReversed':
        this.#reversals.push({ data: event.data, revision, recordedAt });
        break;
      default:
        event satisfies never;
    }
  }

  #takeBeside(event: AccountEvent, recorded: RecordedEvent): void {
    if (event.type !== 'SpendThresholdCrossed') return;
    const { commandId }: EventMetadata = decodeMetadata(recorded);
    if (commandId === commandOfRequest(this.#requestId)) this.#thresholds.push(event.data);
  }
}

type RequestEvent = Extract<AccountEvent, { readonly data: { readonly requestId: RequestId } }>;
