import type { AccountEvent } from '../contracts/events.ts';
import type { AccountId } from '../contracts/ids.ts';
import { openAttempts } from '../ledger/account/payments.ts';
import type { PaymentAttempt, PaymentsState } from '../ledger/account/payments-state.ts';

type Begun = Pick<PaymentAttempt, 'provider' | 'startedAtMs'>;

interface OpenOfProvider {
  readonly count: number;
  readonly oldestMs: number;
}

/** Payments of all accounts that are begun and not decided, so that whoever asks how many looks at no account. */
export class OpenPayments {
  #byAccount = new Map<AccountId, Map<string, Begun>>();

  /** Of each provider that any are at. */
  byProvider(): ReadonlyMap<string, OpenOfProvider> {
    const found = new Map<string, OpenOfProvider>();
    for (const ofAccount of this.#byAccount.values())
      for (const { provider, startedAtMs } of ofAccount.values()) {
        const { count, oldestMs } = found.get(provider) ?? { count: 0, oldestMs: startedAtMs };
        found.set(provider, { count: count + 1, oldestMs: Math.min(oldestMs, startedAtMs) });
      }
    return found;
  }

  addFrom(accountId: AccountId, payments: PaymentsState): void {
    for (const attempt of openAttempts(payments)) this.#begun(accountId, attempt.attemptId, attempt);
  }

  observe(accountId: AccountId, event: AccountEvent): void {
    switch (event.type) {
      case 'PurchaseStarted':
      case 'AutoReloadStarted':
      case 'RenewalStarted': {
        const { attemptId, provider, price, startedAt } = event.data;
        if (price > 0n) this.#begun(accountId, attemptId, { provider, startedAtMs: Date.parse(startedAt) });
        return;
      }
      case 'PaymentSucceeded':
      case 'PaymentFailed':
      case 'PaymentAbandoned':
        this.#ended(accountId, event.data.attemptId);
    }
  }

  adopt(other: OpenPayments): void {
    this.#byAccount = other.#byAccount;
  }

  clear(): void {
    this.#byAccount.clear();
  }

  #begun(accountId: AccountId, attemptId: string, begun: Begun): void {
    const ofAccount = this.#byAccount.get(accountId) ?? new Map<string, Begun>();
    this.#byAccount.set(accountId, ofAccount.set(attemptId, begun));
  }

  #ended(accountId: AccountId, attemptId: string): void {
    const ofAccount = this.#byAccount.get(accountId);
    if (ofAccount?.delete(attemptId) === true && ofAccount.size === 0) this.#byAccount.delete(accountId);
  }
}
