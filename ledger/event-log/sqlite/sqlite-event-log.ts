import {
  type AppendResult,
  type EventLog,
  EventLogError,
  type LeafPage,
  type LeavesFrom,
  type ProposedEvent,
  type ReadAllOptions,
  type ReadStreamOptions,
  type RecordedEvent,
  type SubscribeAllOptions,
  type Subscription,
} from '../../../contracts/event-log.ts';
import type { Position, Revision, StreamName } from '../../../contracts/ids.ts';
import { SQLITE_LIMITS } from './limits.ts';
import { LogReader, type PageSource, type ReaderThread } from './log-reader.ts';
import { LogThread } from './log-thread.ts';
import { LogWriter, type WriterThread } from './log-writer.ts';
import type { ThreadData } from './messages.ts';
import { readHere } from './read-here.ts';
import { SCHEMA_VERSION } from './schema.ts';
import { Subscribers } from './subscribers.ts';

export interface SqliteEventLogOptions {
  /** The file; made where it is missing. Its folder must exist. */
  readonly path: string;
  /** How often it is looked for what other processes have written, while there are subscribers. */
  readonly pollIntervalMs?: number;
  /** How long an append waits for another process's transaction before it is `unavailable`. */
  readonly busyMs?: number;
  /** Its events are counted before it is opened, whatever lies beside it: about a second a gigabyte. */
  readonly isServedFrom?: boolean;
  /** It is read in this thread, not in one of its own. */
  readonly readsHere?: boolean;
  /** Told when one of its threads has ended by itself: what it is asked then is refused, for ever. */
  readonly onLost?: (error: Error) => void;
}

/**
 * The embedded event log: one SQLite file (schema.ts) that any process of this machine may open at the same time.
 *
 *   main thread                                                       writer thread
 *     append ──▶ outbox ──a group at a time──────────────────────────▶ BEGIN IMMEDIATE, append table, COMMIT ──▶ file
 *                resolve ◀──outcomes of the group────────────────────── (WAL, synced)                             │
 *                   └─▶ recent events ─┐                              reader thread                               │
 *     subscribers ◀────────────────────┴◀──pages, and the head for────  SELECT … LIMIT ◀──────────────────────────┘
 *     readStream, readAll ◀──────────────── what others have written
 *
 * While the file is not at its path any more, everything is `unavailable`, and subscriptions are dropped; it goes on when
 * that very file is back. Another file in its place ends subscriptions with a LedgerLostError. None is ever made anew.
 *
 * @throws EventLogError `invalid` for a file of another program or version, one that is not whole or lies beside the -wal of
 *   another (check-file.ts), or a SQLite that is too old; `unavailable` when the file cannot be opened
 */
export async function openSqliteEventLog(options: SqliteEventLogOptions): Promise<EventLog> {
  const { path, pollIntervalMs = SQLITE_LIMITS.pollIntervalMs, busyMs = SQLITE_LIMITS.busyMs } = options;
  const data = { path, busyMs, isServedFrom: options.isServedFrom ?? false };
  const writer: WriterThread = new LogThread(new URL('./writer-thread.ts', import.meta.url), data);
  const thread = options.readsHere === true ? null : readerThread(data);
  let reader: PageSource | null = thread;
  try {
    // The writer makes the file that the reader opens.
    const written = await writer.open();
    const read = thread === null ? readHere(data) : { source: thread, file: await thread.open() };
    reader = read.source;
    if (read.file !== written) throw new EventLogError('unavailable', `${path} was replaced while it was opened`);
    writer.watch((cause) => options.onLost?.(lost('writes', path, cause)));
    thread?.watch((cause) => options.onLost?.(lost('reads', path, cause)));
    return new SqliteEventLog(writer, reader, pollIntervalMs);
  } catch (fault) {
    await reader?.close();
    await writer.close();
    throw fault;
  }
}

const readerThread = (data: ThreadData): ReaderThread =>
  new LogThread(new URL('./reader-thread.ts', import.meta.url), data);

const lost = (does: 'reads' | 'writes', path: string, cause: Error): Error =>
  new Error(`the thread that ${does} ${path} has ended: ${cause.message}`, { cause });

class SqliteEventLog implements EventLog {
  readonly #writer: LogWriter;
  readonly #reader: LogReader;
  readonly #subscribers: Subscribers;
  #closing: Promise<void> | null = null;

  constructor(writer: WriterThread, reader: PageSource, pollIntervalMs: number) {
    this.#reader = new LogReader(reader);
    this.#subscribers = new Subscribers(this.#reader, pollIntervalMs);
    this.#writer = new LogWriter(writer, (appends) => this.#subscribers.add(appends));
  }

  append(stream: StreamName, expected: Revision, events: readonly ProposedEvent[]): Promise<AppendResult> {
    return this.#writer.append(stream, expected, events);
  }

  readStream(stream: StreamName, options?: ReadStreamOptions): AsyncIterable<RecordedEvent> {
    return this.#reader.readStream(stream, options);
  }

  readAll(options?: ReadAllOptions): AsyncIterable<RecordedEvent> {
    return this.#reader.readAll(options);
  }

  subscribeAll(options: SubscribeAllOptions): Subscription {
    return this.#subscribers.subscribe(options);
  }

  /** Close behind the head without the file. */
  async readLeaves({ after, limit, ...place }: LeavesFrom): Promise<LeafPage> {
    const most = Math.min(limit, SQLITE_LIMITS.leafPageEvents);
    const query = { type: 'leaves', after: after ?? 0, limit: most, ...place } as const;
    return (await this.#writer.leaves(query)) ?? (await this.#reader.leaves(query));
  }

  headPosition(): Promise<Position | null> {
    return this.#reader.head();
  }

  async software(): Promise<string> {
    return `SQLite ${process.versions.sqlite}, schema ${SCHEMA_VERSION}`;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** The writer is the last to let go of the file: it moves the write-ahead log into it and removes it. */
  async #close(): Promise<void> {
    const hasEnded = Promise.all([this.#writer.drain(), this.#subscribers.close()]);
    this.#reader.refuse();
    await hasEnded;
    await this.#reader.close();
    await this.#writer.close();
  }
}
