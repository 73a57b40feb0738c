import { setTimeout as delay } from 'node:timers/promises';
import type { ClientKey } from './post-planned.ts';

interface MeWatchOptions {
  /** One key for each account is enough. */
  readonly keys: readonly ClientKey[];
  /** Where the gateways are at this moment. */
  readonly urls: () => readonly string[];
  /** How far below zero the plans let an account go, in micro-USD. */
  readonly overdraftMicroUsd?: bigint;
}

const PAUSE_MS = 60;
const ANSWER_MS_MAX = 60_000;
/** Of one kind: the first ones tell what there is to tell. */
const FAULTS_MAX = 20;
/** A key that was revoked or is new, and a gateway that is not ready: nothing is told then. */
const SILENT = new Set([401, 529]);

/** Looks at `/me` of every account beside the load, at every gateway in turn, and keeps the least that it was told. */
export class MeWatch {
  readonly faults: string[] = [];
  /** The least that `available_credits` was, by account, in micro-USD. */
  readonly lowest = new Map<string, bigint>();
  looks = 0;
  readonly #options: MeWatchOptions;
  readonly #stopping = new AbortController();
  readonly #watching: Promise<void>;

  constructor(options: MeWatchOptions) {
    this.#options = options;
    this.#watching = this.#watch();
    // Told by `stop`.
    this.#watching.catch(() => undefined);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#watching;
  }

  async #watch(): Promise<void> {
    const { keys, urls } = this.#options;
    const { signal } = this.#stopping;
    for (let turn = 0; !signal.aborted; turn++) {
      const all = urls();
      const url = all[turn % Math.max(1, all.length)];
      if (url !== undefined) for (const key of keys) await this.#look(url, key);
      await delay(PAUSE_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  async #look(url: string, { key, accountId }: ClientKey): Promise<void> {
    const text = await this.#textOf(url, key, accountId);
    if (text === null) return;
    this.looks++;
    const credits = /"available_credits":(-?\d+)[,}]/.exec(text)?.[1];
    if (credits === undefined) {
      this.#note(`/me of ${accountId} has no whole available_credits: ${text}`);
      return;
    }
    const available = BigInt(credits);
    if (BigInt(Number(credits)) !== available) this.#note(`/me of ${accountId} loses precision in ${credits}`);
    if (available < -(this.#options.overdraftMicroUsd ?? 0n)) this.#note(`/me of ${accountId} falls to ${credits}`);
    const lowest = this.lowest.get(accountId);
    if (lowest === undefined || available < lowest) this.lowest.set(accountId, available);
  }

  /** Null where there is nothing to be told: the gateway was killed, or does not answer this key now. */
  async #textOf(url: string, key: string, accountId: string): Promise<string | null> {
    try {
      const signal = AbortSignal.timeout(ANSWER_MS_MAX);
      const answer = await fetch(`${url}/me`, { headers: { 'x-api-key': key }, signal });
      const text = await answer.text();
      if (answer.status === 200) return text;
      if (!SILENT.has(answer.status)) this.#note(`/me of ${accountId} is answered with ${answer.status}: ${text}`);
      return null;
    } catch (error) {
      if (error instanceof Error && error.name === 'TimeoutError') this.#note(`/me of ${accountId} is not answered`);
      return null;
    }
  }

  #note(fault: string): void {
    if (this.faults.length < FAULTS_MAX) this.faults.push(fault);
  }
}
