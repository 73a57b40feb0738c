import type { AccountEvent } from '../../contracts/events.ts';
import { groupedUsd } from '../../contracts/money.ts';

/** What an event has moved, in micro-USD; null where no money moves. */
interface Movement {
  readonly amount: bigint | null;
  /** How what the event says differs from what those before it make; null where it does not. */
  readonly fault: string | null;
}

/** An account's balance (granted less expired and debited) from event to event. */
export class RunningBalance {
  #value: bigint | null = 0n;

  /** Micro-USD; null where it is not known. */
  get value(): bigint | null {
    return this.#value;
  }

  /** Of an event that cannot be read nobody knows what it moves: until one says what the balance is after it. */
  lose(): void {
    this.#value = null;
  }

  take(event: AccountEvent): Movement {
    const amount = movementOf(event);
    const sum = this.#value === null || amount === null ? this.#value : this.#value + amount;
    const said = balanceSaidBy(event);
    this.#value = said ?? sum;
    if (said === null || sum === null || said === sum) return { amount, fault: null };
    const both = `${groupedUsd(said)} USD as the balance after it; by the events before it is ${groupedUsd(sum)}`;
    return { amount, fault: `It says ${both}` };
  }
}

/** What an event adds to its account's balance, in micro-USD; null where no money moves. */
export function movementOf(event: AccountEvent): bigint | null {
  switch (event.type) {
    case 'CreditsGranted':
    case 'CreditsReinstated':
    case 'GrantRestored':
    case 'DebitReversed':
      return event.data.amount;
    case 'CreditsExpired':
    case 'CreditsDebited':
    case 'ExceptionApproved':
    case 'GrantRevoked':
      return -event.data.amount;
    case 'BalanceAdjusted':
      return event.data.direction === 'up' ? event.data.amount : -event.data.amount;
    case 'AccountOpened':
    case 'ApiKeyIssued':
    case 'ApiKeyRotated':
    case 'ApiKeyRevoked':
    case 'MemberAdded':
    case 'MemberRoleChanged':
    case 'MemberRemoved':
    case 'PlanChanged':
    case 'RenewalStarted':
    case 'PlanEnded':
    case 'UsageRecorded':
    case 'LateUsageReported':
    case 'ExceptionDropped':
    case 'CreditsLeased':
    case 'LeaseReleased':
    case 'LeaseNarrowed':
    case 'PaymentMethodSaved':
    case 'PaymentMethodRemoved':
    case 'PurchaseStarted':
    case 'PaymentSucceeded':
    case 'PaymentFailed':
    case 'PaymentActionRequired':
    case 'PaymentAbandoned':
    case 'PaymentRefunded':
    case 'RefundWithdrawn':
    case 'PaymentDisputed':
    case 'DisputeClosed':
    case 'AutoReloadConfigured':
    case 'AutoReloadStarted':
    case 'AutoReloadSkipped':
    case 'AutoReloadPaused':
    case 'StatementClosed':
    case 'SpendLimitSet':
    case 'SpendThresholdCrossed':
    case 'AccountSuspended':
    case 'AccountReinstated':
      return null;
    default:
      return event satisfies never;
  }
}

const balanceSaidBy = (event: AccountEvent): bigint | null =>
  'balanceAfter' in event.data ? event.data.balanceAfter : null;
