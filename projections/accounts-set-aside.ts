import type { AccountId } from '../contracts/ids.ts';

/**
 * Accounts whose events cannot be relied on: they are refused, with why, and the others go on. No view holds it: whoever
 * sets an account aside finds it so again at the next start.
 */
export class AccountsSetAside {
  readonly #whys = new Map<AccountId, string>();

  /** In one line; null where it is not. */
  whyOf(accountId: AccountId): string | null {
    return this.#whys.get(accountId) ?? null;
  }

  /** Null takes it back. */
  set(accountId: AccountId, why: string | null): void {
    if (why === null) this.#whys.delete(accountId);
    else this.#whys.set(accountId, why);
  }

  get count(): number {
    return this.#whys.size;
  }
}
