import type { SubscribeAllOptions, Subscription } from '../../../contracts/event-log.ts';
import type { LogReader } from './log-reader.ts';
import { LogSubscription } from './log-subscription.ts';
import type { CommittedAppend } from './outcomes.ts';
import { RecentEvents } from './recent-events.ts';

/** All who follow the log in this process: keeps recent events for them, looks for what other processes wrote. */
export class Subscribers {
  readonly #reader: LogReader;
  readonly #pollIntervalMs: number;
  readonly #subscriptions = new Set<LogSubscription>();
  readonly #recent = new RecentEvents();
  #poll: NodeJS.Timeout | null = null;
  #isPolling = false;

  constructor(reader: LogReader, pollIntervalMs: number) {
    this.#reader = reader;
    this.#pollIntervalMs = pollIntervalMs;
  }

  subscribe(options: SubscribeAllOptions): Subscription {
    const subscription: LogSubscription = new LogSubscription(
      {
        reader: this.#reader,
        recent: this.#recent,
        onDelivered: () => this.#dropDelivered(),
        onEnded: () => this.#end(subscription),
      },
      options,
    );
    this.#subscriptions.add(subscription);
    this.#poll ??= setInterval(() => void this.#lookForOthers(), this.#pollIntervalMs);
    return subscription;
  }

  add(appends: readonly CommittedAppend[]): void {
    if (this.#subscriptions.size === 0) return;
    this.#recent.add(appends);
    for (const subscription of this.#subscriptions) subscription.wake();
  }

  async close(): Promise<void> {
    await Promise.all([...this.#subscriptions].map((subscription) => subscription.close()));
  }

  #end(subscription: LogSubscription): void {
    this.#subscriptions.delete(subscription);
    this.#dropDelivered();
    if (this.#subscriptions.size > 0 || this.#poll === null) return;
    clearInterval(this.#poll);
    this.#poll = null;
  }

  /** Somebody who still reads the file will need the recent events when he comes to its end. */
  #dropDelivered(): void {
    let delivered = Number.MAX_SAFE_INTEGER;
    for (const { livePosition } of this.#subscriptions) {
      if (livePosition === null) return;
      delivered = Math.min(delivered, livePosition);
    }
    this.#recent.dropUpTo(delivered);
  }

  async #lookForOthers(): Promise<void> {
    if (this.#isPolling) return;
    this.#isPolling = true;
    try {
      this.#recent.noteHead((await this.#reader.head()) ?? 0);
      for (const subscription of this.#subscriptions) subscription.wake();
    } catch (error) {
      for (const subscription of this.#subscriptions) subscription.fail(error);
    } finally {
      this.#isPolling = false;
    }
  }
}
