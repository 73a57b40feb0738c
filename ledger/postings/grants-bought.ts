import type { DomainEvent } from '../../contracts/events.ts';
import { isBoughtBy } from '../../contracts/ids.ts';

export type PaymentMade = Extract<DomainEvent, { readonly type: 'PaymentSucceeded' }>;

/** Which payment has bought a grant: the last one before the credits, which stand behind it in its append, if they are called after it. */
export class GrantsBought {
  #paid: PaymentMade | null = null;

  /** An account's events, from its first. Returns of credits that were bought what has paid for them; null of all else. */
  take(event: DomainEvent): PaymentMade | null {
    if (event.type === 'PaymentSucceeded') this.#paid = event;
    if (event.type !== 'CreditsGranted') return null;
    const paid = this.#paid;
    this.#paid = null;
    return paid !== null && isBoughtBy(paid.data.paymentId, event.data.grantId) ? paid : null;
  }
}
