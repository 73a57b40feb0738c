import type { Entry } from '../postings/bookkeeper.ts';

/** What an entry is about, beside its money: for whoever looks for one. Empty where it has none. */
interface EntryFacts {
  readonly request: string;
  readonly key: string;
  readonly model: string;
  readonly grant: string;
}

const NONE: EntryFacts = { request: '', key: '', model: '', grant: '' };

export function factsOf({ event, bought }: Pick<Entry, 'event' | 'bought'>): EntryFacts {
  switch (event.type) {
    case 'CreditsDebited':
    case 'ExceptionApproved':
    case 'DebitReversed':
      return { ...NONE, request: event.data.requestId, key: event.data.keyId, model: event.data.model };
    case 'CreditsGranted':
    case 'CreditsExpired':
    case 'CreditsReinstated':
    case 'GrantRevoked':
    case 'GrantRestored':
      return { ...NONE, grant: event.data.grantId };
    case 'BalanceAdjusted':
      return { ...NONE, grant: event.data.adjustmentId };
    case 'PaymentRefunded':
    case 'RefundWithdrawn':
    case 'PaymentDisputed':
    case 'DisputeClosed':
      return { ...NONE, grant: bought ?? '' };
    default:
      return event satisfies never;
  }
}
