import { decodeEvent } from '../../contracts/event-codec.ts';
import type { RecordedEvent } from '../../contracts/event-log.ts';
import type { CreditsDebited, UsageRecorded } from '../../contracts/events.ts';
import { type AccountId, accountOfStream } from '../../contracts/ids.ts';

/** What a request used of a provider, and what that costs at its rate card; no lines where it is not charged. */
export interface OurUsage {
  readonly usage: UsageRecorded;
  readonly lines: CreditsDebited['lines'];
}

/** After one of these the account's last usage may be still without its debit. */
const USAGE = new Set(['UsageRecorded', 'CreditsDebited', 'LateUsageReported']);

/**
 * The usage of one provider, of every event of the log in log order: each request once. A debit stands behind its usage, so an
 * account has at most one that waits for it. Usage that a crash has left has no tokens: what is reported late has them.
 */
export class OurUsages {
  readonly #provider: string;
  readonly #take: (used: OurUsage) => void;
  /** Of all usage that was seen. */
  readonly providers = new Set<string>();
  readonly #waiting = new Map<AccountId, UsageRecorded>();

  constructor(provider: string, take: (used: OurUsage) => void) {
    this.#provider = provider;
    this.#take = take;
  }

  /** @throws UnreadableEventError */
  add(recorded: RecordedEvent): void {
    const account = accountOfStream(recorded.stream);
    if (account === null || !USAGE.has(recorded.type)) return;
    const event = decodeEvent(recorded);
    if (event.type === 'CreditsDebited') {
      const usage = this.#waiting.get(account);
      if (usage?.requestId !== event.data.requestId) return;
      this.#waiting.delete(account);
      this.#take({ usage, lines: event.data.lines });
    } else if (event.type === 'UsageRecorded') {
      this.#tellWaiting(account);
      this.providers.add(event.data.upstream.provider);
      if (event.data.upstream.provider === this.#provider) this.#waiting.set(account, event.data);
    } else if (event.type === 'LateUsageReported') {
      const { usage, lines } = event.data;
      this.providers.add(usage.upstream.provider);
      if (usage.upstream.provider === this.#provider) this.#take({ usage, lines });
    }
  }

  /** What waits for nothing any more. */
  end(): void {
    for (const account of [...this.#waiting.keys()]) this.#tellWaiting(account);
  }

  #tellWaiting(account: AccountId): void {
    const usage = this.#waiting.get(account);
    if (usage === undefined) return;
    this.#waiting.delete(account);
    this.#take({ usage, lines: [] });
  }
}
