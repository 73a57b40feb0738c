import type { EventWithoutId } from '../contracts/event-log.ts';
import type { AccountEvent, EventType } from '../contracts/events.ts';
import type { AccountId, KeyId } from '../contracts/ids.ts';
import { accountEventOf } from '../ledger/account/account-event.ts';
import type { ApiKey } from '../ledger/account/account-state.ts';
import { AccountUnreadableError } from '../ledger/account/account-unreadable-error.ts';

/** Of events that give a key a secret. */
export const KEY_EVENTS: readonly EventType[] = ['ApiKeyIssued', 'ApiKeyRotated'];

export const isOfKey = (type: string): boolean => KEY_EVENTS.some((one) => one === type);

export interface KeyOwner {
  readonly accountId: AccountId;
  readonly keyId: KeyId;
}

/**
 * By the SHA-256 of each secret that a key has, or has had. Whether it may be used stands in the account, so nothing here changes once
 * added: a secret is that of the key that was given it first in the log, whoever says so later.
 */
export class KeyIndex {
  #owners = new Map<string, KeyOwner>();

  /** @param sha256 hexadecimal */
  find(sha256: string): KeyOwner | null {
    return this.#owners.get(sha256) ?? null;
  }

  /** Of a key's row. @throws Error where another key has one of the secrets: whose it was first, only the log says */
  addFrom(accountId: AccountId, { sha256, previous, keyId }: Pick<ApiKey, 'sha256' | 'previous' | 'keyId'>): void {
    const owner = { accountId, keyId };
    const isOwn = this.#add(sha256, owner) && (previous === null || this.#add(previous.sha256, owner));
    if (!isOwn) throw new Error(`two keys have one secret: ${keyId} of account ${accountId}, and another one`);
  }

  /** Of events in the order of the log. Why it cannot be, where it gives a key what another one has, which keeps it; else null. */
  observe(accountId: AccountId, event: AccountEvent): string | null {
    if (event.type !== 'ApiKeyIssued' && event.type !== 'ApiKeyRotated') return null;
    const { sha256, keyId } = event.data;
    // The other may be of another account, which the reason that this one's callers are told says nothing of.
    return this.#add(sha256, { accountId, keyId }) ? null : `key ${keyId} has the secret that another key had first`;
  }

  /** Of an event that is not folded: where it gives the account a key, that has its secret. */
  note(accountId: AccountId, recorded: EventWithoutId): void {
    if (!isOfKey(recorded.type)) return;
    try {
      this.observe(accountId, accountEventOf(accountId, recorded));
    } catch (error) {
      if (!(error instanceof AccountUnreadableError)) throw error;
    }
  }

  adopt(other: KeyIndex): void {
    this.#owners = other.#owners;
  }

  clear(): void {
    this.#owners.clear();
  }

  /** Whether it is the owner's. */
  #add(sha256: string, owner: KeyOwner): boolean {
    const first = this.#owners.get(sha256);
    if (first === undefined) this.#owners.set(sha256, owner);
    return first === undefined || (first.accountId === owner.accountId && first.keyId === owner.keyId);
  }
}
