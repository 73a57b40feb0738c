import type {
  AppendResult,
  EventLog,
  ProposedEvent,
  ReadAllOptions,
  ReadStreamOptions,
  RecordedEvent,
  SubscribeAllOptions,
  Subscription,
} from '../../../contracts/event-log.ts';
import { type Position, type Revision, revision, type StreamName } from '../../../contracts/ids.ts';
import { SQLITE_LIMITS } from './limits.ts';
import { LogReader } from './log-reader.ts';
import { LogSubscription } from './log-subscription.ts';
import { LogWriter } from './log-writer.ts';
import { prepareFile } from './schema.ts';

export interface SqliteEventLogOptions {
  /** The file; made where it is missing. Its folder must exist. */
  readonly path: string;
}

/**
 * The embedded event log: one SQLite file that any process of this machine may open at the same time.
 *
 *   main thread ──appends, once a turn──▶ writer thread ──group commit, WAL, synced──▶ file
 *        ▲  └───────pages─────▶ reader thread ◀──────────────────────────────────────┘
 *        └── subscriptions: own commits from memory, other processes' by polling the file's head
 *
 * @throws EventLogError `unavailable` when the file cannot be used.
 */
export async function openSqliteEventLog({ path }: SqliteEventLogOptions): Promise<EventLog> {
  prepareFile(path);
  return new SqliteEventLog(path);
}

class SqliteEventLog implements EventLog {
  readonly #writer: LogWriter;
  readonly #reader: LogReader;
  readonly #subscriptions = new Set<LogSubscription>();
  #poll: NodeJS.Timeout | null = null;
  #isPolling = false;
  #closing: Promise<void> | null = null;

  constructor(path: string) {
    this.#reader = new LogReader(path);
    this.#writer = new LogWriter(path, (events) => {
      for (const subscription of this.#subscriptions) subscription.offer(events);
    });
  }

  append(stream: StreamName, expected: Revision, events: readonly ProposedEvent[]): Promise<AppendResult> {
    return this.#writer.append(stream, expected, events);
  }

  readStream(stream: StreamName, options: ReadStreamOptions = {}): AsyncIterable<RecordedEvent> {
    const { direction = 'forwards', limit = Number.MAX_SAFE_INTEGER } = options;
    const from = options.from ?? revision(direction === 'forwards' ? 0 : Number.MAX_SAFE_INTEGER);
    return this.#reader.read({ type: direction, stream, from, limit });
  }

  readAll({ after = null, limit = Number.MAX_SAFE_INTEGER }: ReadAllOptions = {}): AsyncIterable<RecordedEvent> {
    return this.#reader.read({ type: 'all', after: after ?? 0, limit });
  }

  subscribeAll(options: SubscribeAllOptions): Subscription {
    const subscription: LogSubscription = new LogSubscription(this.#reader, options, () => {
      this.#subscriptions.delete(subscription);
      this.#pollWhileNeeded();
    });
    this.#subscriptions.add(subscription);
    this.#pollWhileNeeded();
    return subscription;
  }

  headPosition(): Promise<Position | null> {
    return this.#reader.head();
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await Promise.all([...this.#subscriptions].map((subscription) => subscription.close()));
    await this.#writer.close();
    await this.#reader.close();
  }

  #pollWhileNeeded(): void {
    if (this.#subscriptions.size > 0)
      this.#poll ??= setInterval(() => void this.#lookForOthers(), SQLITE_LIMITS.pollMs);
    else if (this.#poll !== null) {
      clearInterval(this.#poll);
      this.#poll = null;
    }
  }

  async #lookForOthers(): Promise<void> {
    if (this.#isPolling) return;
    this.#isPolling = true;
    try {
      const head = await this.#reader.head();
      for (const subscription of this.#subscriptions) subscription.offerHead(head);
    } catch {
      // Each subscription reads by itself and tells of the failure there.
      for (const subscription of this.#subscriptions) subscription.offerFailure();
    } finally {
      this.#isPolling = false;
    }
  }
}
