import type { AccountEvent } from '../../contracts/events.ts';
import type { ApiKey } from './account-state.ts';

/** A key with when the newest request started that came with it; null where there was none. */
export interface UsedKey extends ApiKey {
  readonly lastUsedAt: string | null;
}

/** When each key of an account was last used, from the account's events: no request writes it down, and no view keeps it. */
export class LastUses {
  readonly #byKey = new Map<string, string>();

  take({ type, data }: AccountEvent): void {
    if (type !== 'UsageRecorded') return;
    // They are recorded in the order of their ends.
    const { keyId, startedAt } = data;
    if (startedAt > (this.#byKey.get(keyId) ?? '')) this.#byKey.set(keyId, startedAt);
  }

  of(key: ApiKey): UsedKey {
    return { ...key, lastUsedAt: this.#byKey.get(key.keyId) ?? null };
  }
}
