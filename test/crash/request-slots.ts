import type { ClientKey } from './post-planned.ts';

/** A key and a model that go together for one request and never again. */
interface RequestSlot {
  readonly key: ClientKey;
  readonly model: string;
}

/**
 * Hands out each model once with each of its keys, in order. Key and model stand in every `UsageRecorded`, so the
 * ledger's record of a request can be told from all others even where the gateway died before the upstream answered.
 */
export class RequestSlots {
  readonly accountId: string;
  readonly #models: readonly string[];
  readonly #keys: ClientKey[];
  #taken = 0;

  constructor(key: ClientKey, models: readonly string[]) {
    this.accountId = key.accountId;
    this.#models = models;
    this.#keys = [key];
  }

  get left(): number {
    return this.#keys.length * this.#models.length - this.#taken;
  }

  addKey(key: ClientKey): void {
    this.#keys.push(key);
  }

  /** The key that the next request takes; null where none is left. */
  get current(): ClientKey | null {
    return this.#keys[Math.floor(this.#taken / this.#models.length)] ?? null;
  }

  /** Goes on with the next key, whatever is left of the current one. */
  skipKey(): void {
    this.#taken = (Math.floor(this.#taken / this.#models.length) + 1) * this.#models.length;
  }

  /** Null where none is left. */
  take(): RequestSlot | null {
    const key = this.#keys[Math.floor(this.#taken / this.#models.length)];
    const model = this.#models[this.#taken % this.#models.length];
    if (key === undefined || model === undefined) return null;
    this.#taken++;
    return { key, model };
  }
}
