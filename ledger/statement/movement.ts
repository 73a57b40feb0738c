import type { AccountEvent } from '../../contracts/events.ts';

/** What an event of an account adds to its balance (granted less expired and debited); null where it moves no money. */
export function movementOf(event: AccountEvent): bigint | null {
  switch (event.type) {
    case 'CreditsGranted':
    case 'CreditsReinstated':
      return event.data.amount;
    case 'CreditsExpired':
    case 'CreditsDebited':
    case 'ExceptionApproved':
      return -event.data.amount;
    case 'AccountOpened':
    case 'ApiKeyIssued':
    case 'ApiKeyRevoked':
    case 'PlanChanged':
    case 'UsageRecorded':
    case 'LateUsageReported':
    case 'ExceptionDropped':
    case 'CreditsLeased':
    case 'LeaseReleased':
    case 'LeaseNarrowed':
    case 'SpendLimitSet':
    case 'SpendThresholdCrossed':
    case 'AccountSuspended':
    case 'AccountReinstated':
      return null;
    default:
      return event satisfies never;
  }
}

/** What an event says that the balance is after it; null where it does not say. */
export const balanceSaidBy = (event: AccountEvent): bigint | null =>
  event.type === 'CreditsDebited' || event.type === 'ExceptionApproved' ? event.data.balanceAfter : null;
