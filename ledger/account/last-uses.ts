import type { AccountEvent } from '../../contracts/events.ts';
import type { KeyId } from '../../contracts/ids.ts';
import type { ApiKey } from './account-state.ts';

/** A key with when the newest request started that came with it; null where there was none. */
export interface UsedKey extends ApiKey {
  readonly lastUsedAt: string | null;
}

/** When each key of an account was last used: a fold of its events, for no request writes it down. */
export class LastUses {
  readonly #byKey: Map<KeyId, string>;

  /** @param known up to where the events begin (RFC 3339) */
  constructor(known: Iterable<readonly [keyId: KeyId, lastUsedAt: string]> = []) {
    this.#byKey = new Map(known);
  }

  /** Whose last use the event is; null where it is none, or not the newest. */
  take({ type, data }: AccountEvent): KeyId | null {
    if (type !== 'UsageRecorded') return null;
    // They are recorded in the order of their ends.
    const { keyId, startedAt } = data;
    if (startedAt <= (this.#byKey.get(keyId) ?? '')) return null;
    this.#byKey.set(keyId, startedAt);
    return keyId;
  }

  /** Null where the key was not used. */
  at(keyId: KeyId): string | null {
    return this.#byKey.get(keyId) ?? null;
  }

  of(key: ApiKey): UsedKey {
    return { ...key, lastUsedAt: this.at(key.keyId) };
  }

  [Symbol.iterator](): Iterator<readonly [keyId: KeyId, lastUsedAt: string]> {
    return this.#byKey.entries();
  }
}
