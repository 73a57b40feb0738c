import type { AccountEvent } from '../contracts/events.ts';
import type { AccountId, KeyId } from '../contracts/ids.ts';
import type { OpenAccount } from '../ledger/account/account-state.ts';

export interface KeyOwner {
  readonly accountId: AccountId;
  readonly keyId: KeyId;
}

/** By the SHA-256 of each secret that a key has, or has had. Whether it may be used stands in the account, so nothing here changes once added. */
export class KeyIndex {
  #owners = new Map<string, KeyOwner>();

  /** @param sha256 hexadecimal */
  find(sha256: string): KeyOwner | null {
    return this.#owners.get(sha256) ?? null;
  }

  addFrom(accountId: AccountId, { keys }: Pick<OpenAccount, 'keys'>): void {
    for (const { sha256, previous, keyId } of Object.values(keys)) {
      const owner = { accountId, keyId };
      this.#owners.set(sha256, owner);
      if (previous !== null) this.#owners.set(previous.sha256, owner);
    }
  }

  observe(accountId: AccountId, event: AccountEvent): void {
    if (event.type === 'ApiKeyIssued' || event.type === 'ApiKeyRotated')
      this.#owners.set(event.data.sha256, { accountId, keyId: event.data.keyId });
  }

  adopt(other: KeyIndex): void {
    this.#owners = other.#owners;
  }

  clear(): void {
    this.#owners.clear();
  }
}
