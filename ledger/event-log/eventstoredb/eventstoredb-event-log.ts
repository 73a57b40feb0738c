import {
  type AppendResult,
  type EventLog,
  EventLogError,
  type HiddenStream,
  type OnHidden,
  type ProposedEvent,
  type ReadAllOptions,
  type ReadStreamOptions,
  type RecordedEvent,
  type SubscribeAllOptions,
  type Subscription,
} from '../../../contracts/event-log.ts';
import type { Position, Revision, StreamName } from '../../../contracts/ids.ts';
import { BackOff } from '../../back-off.ts';
import { OutageNews } from '../../outage-news.ts';
import { tellStopped } from '../../tell-stopped.ts';
import { charsOf, refuseAppend } from '../append-bounds.ts';
import type { Append, AppendAnswer } from './append-answer.ts';
import { append } from './append-call.ts';
import { AppendGate } from './append-gate.ts';
import { BatchAppends } from './batch-appends.ts';
import { Connection, type Logger } from './connection.ts';
import { appendError, faultOf } from './fault.ts';
import { HiddenStreams } from './hidden-streams.ts';
import { DEFAULT_DEADLINES, type EventStoreDbDeadlines } from './limits.ts';
import { LogReader } from './log-reader.ts';
import { LogSubscription } from './log-subscription.ts';
import { OwnStreams } from './own-streams.ts';
import { readBackAppend } from './read-back-append.ts';
import { checkLog } from './start-check.ts';

export interface EventStoreDbOptions {
  /** `esdb://`, or `esdb+discover://` for a DNS name, with hosts, TLS, credentials, node preference. Never told in an error. */
  readonly connectionString: string;
  readonly logger?: Logger;
  /** What each stream's name begins with on the server; nothing where it is not given. */
  readonly streamPrefix?: string;
  /** Categories of the streams that are the ledger's: names up to the first hyphen. */
  readonly categories?: readonly string[];
  readonly deadlines?: Partial<EventStoreDbDeadlines>;
  /** False: each append is a call of its own, at more than twice the cost. By default only where the server knows no other. */
  readonly batchAppend?: boolean;
  /** Whether opening waits for a start check without faults; else it is made as soon as the server is there. */
  readonly waitForServer?: boolean;
  /** Nothing is appended: whether the user may is not asked, so that one who may only read can use the log. */
  readonly readsOnly?: boolean;
}

export interface EventStoreDbEventLog extends EventLog {
  /** What the start check found, one line each; not settled while the server is away. Empty after `close`, too. */
  readonly startFaults: Promise<readonly string[]>;
}

/**
 * The production event log: EventStoreDB or KurrentDB over gRPC, for any number of proxies.
 *
 *   append ──▶ gate (64 at once, bounded queue) ──▶ append client ──▶ Streams.BatchAppend, or Append each
 *   readStream, readAll, headPosition ────────────▶ read client ────▶ Streams.Read, filtered, paused when not taken
 *   subscribeAll ──▶ one supervised call each ────▶ subscribe client ▶ Streams.Read, subscription
 *
 * It opens also while the server is away: calls then fail as `unavailable`, and subscriptions go on trying.
 *
 * @throws EventLogError `invalid` for a connection string that is none; with `waitForServer` also `unavailable` when the
 *   server is away, and `invalid` with what the start check found
 */
export async function openEventStoreDbEventLog(options: EventStoreDbOptions): Promise<EventStoreDbEventLog> {
  const log = new EventStoreDbLog(options);
  if (!options.waitForServer) {
    log.checkWhenThere();
    return log;
  }
  try {
    const faults = await log.check();
    if (faults.length > 0) throw new EventLogError('invalid', faults.join('; '));
    log.passCheck();
    return log;
  } catch (fault) {
    await log.close();
    throw fault;
  }
}

/** The start check, made now: a line for each thing to mend. @throws EventLogError `unavailable` */
export async function checkEventStoreDb(log: EventStoreDbEventLog): Promise<readonly string[]> {
  if (!(log instanceof EventStoreDbLog)) throw new TypeError('this log was opened by openEventStoreDbEventLog');
  return await log.check();
}

class EventStoreDbLog implements EventStoreDbEventLog {
  readonly #connections: { readonly append: Connection; readonly read: Connection; readonly subscribe: Connection };
  readonly #streams: OwnStreams;
  readonly #deadlines: EventStoreDbDeadlines;
  readonly #logger: Logger | null;
  readonly #gate: AppendGate;
  readonly #appends: BatchAppends;
  readonly #reader: LogReader;
  readonly #subscriptions = new Set<LogSubscription>();
  readonly #checked = Promise.withResolvers<readonly string[]>();
  readonly #hidden: HiddenStreams[] = [];
  readonly #closed = new AbortController();
  readonly #readsOnly: boolean;
  #closing: Promise<void> | null = null;

  constructor(options: EventStoreDbOptions) {
    const { connectionString, logger, streamPrefix, categories, deadlines, batchAppend, readsOnly } = options;
    this.#readsOnly = readsOnly ?? false;
    this.#logger = logger ?? null;
    this.#streams = new OwnStreams(streamPrefix, categories);
    this.#deadlines = { ...DEFAULT_DEADLINES, ...deadlines };
    const outage = new OutageNews();
    const connect = (role: string): Connection =>
      new Connection(role, connectionString, { logger: this.#logger, outage });
    this.#connections = { append: connect('append'), read: connect('read'), subscribe: connect('subscribe') };
    this.#gate = new AppendGate(this.#deadlines.appendTurnMs);
    this.#appends = new BatchAppends({
      connection: this.#connections.append,
      deadlines: this.#deadlines,
      appendPlainly: (one) => append(this.#connections.append, one, this.#deadlines),
      logger: this.#logger,
      isWanted: batchAppend ?? true,
    });
    this.#reader = new LogReader(this.#connections.read, this.#streams, this.#deadlines);
  }

  get startFaults(): Promise<readonly string[]> {
    return this.#checked.promise;
  }

  async append(stream: StreamName, expected: Revision, events: readonly ProposedEvent[]): Promise<AppendResult> {
    if (this.#closing !== null) throw closedError();
    if (this.#readsOnly) throw new EventLogError('invalid', 'the event log was opened to be read alone');
    const refusal = refuseAppend(stream, expected, events);
    if (refusal !== null) throw refusal;
    let chars = 0;
    for (const event of events) chars += charsOf(event);
    return await this.#gate.run(chars, () => this.#append(stream, expected, events));
  }

  readStream(stream: StreamName, options: ReadStreamOptions = {}): AsyncIterable<RecordedEvent> {
    return this.#unlessClosed(() => this.#reader.readStream(stream, options));
  }

  readAll(options: ReadAllOptions = {}): AsyncIterable<RecordedEvent> {
    return this.#unlessClosed(() => this.#reader.readAll(options));
  }

  subscribeAll(options: SubscribeAllOptions): Subscription {
    if (this.#closing !== null) {
      // Never before the caller has its handle.
      queueMicrotask(() => tellStopped(closedError(), options.onStopped));
      return { close: async () => undefined };
    }
    const subscription: LogSubscription = new LogSubscription(
      {
        connection: this.#connections.subscribe,
        streams: this.#streams,
        deadlines: this.#deadlines,
        readHead: () => this.#reader.head(),
        onEnded: () => this.#subscriptions.delete(subscription),
      },
      options,
    );
    this.#subscriptions.add(subscription);
    return subscription;
  }

  followHidden(onHidden: OnHidden, known?: () => readonly StreamName[]): Promise<void> {
    if (this.#closing !== null) return Promise.reject(closedError());
    const hidden = new HiddenStreams(
      {
        connection: this.#connections.subscribe,
        streams: this.#streams,
        deadlines: this.#deadlines,
        logger: this.#logger,
        readHead: () => this.#reader.head(),
        whyNotWhole: (stream) => this.#reader.whyNotWhole(stream),
        whyUnread: (stream) => this.#reader.whyUnread(stream),
      },
      onHidden,
      known,
    );
    this.#hidden.push(hidden);
    return hidden.looked;
  }

  async hiddenStreams(): Promise<readonly HiddenStream[]> {
    if (this.#closing !== null) throw closedError();
    return await this.#reader.hiddenStreams();
  }

  async headPosition(): Promise<Position | null> {
    if (this.#closing !== null) throw closedError();
    return await this.#reader.head();
  }

  async software(): Promise<string> {
    if (this.#closing !== null) throw closedError();
    return `EventStoreDB ${await this.#connections.read.serverVersion(this.#deadlines.connectMs)}`;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async check(): Promise<readonly string[]> {
    if (this.#closing !== null) throw closedError();
    return await checkLog({
      append: this.#readsOnly ? null : (one) => this.#call(one).catch(throwAppendError),
      onServer: (stream) => this.#streams.onServer(stream),
      readHead: () => this.#reader.head(),
      streamMetadata: (stream) => this.#reader.streamMetadata(stream),
    });
  }

  passCheck(): void {
    this.#checked.resolve([]);
  }

  /** Tries until the server has answered, or the log is closed. */
  checkWhenThere(): void {
    void this.#checkUntilAnswered().then(this.#checked.resolve, this.#checked.reject);
    // Whoever asks is told; and it has been logged.
    this.#checked.promise.catch(() => undefined);
  }

  async #checkUntilAnswered(): Promise<readonly string[]> {
    const { backoffMs, backoffMaxMs } = this.#deadlines;
    const { signal } = this.#closed;
    const backOff = new BackOff({ firstMs: backoffMs, maxMs: backoffMaxMs });
    const outage = new OutageNews();
    while (!signal.aborted) {
      try {
        const faults = await this.check();
        for (const fault of faults) this.#logger?.error({ check: 'eventstoredb' }, fault);
        return faults;
      } catch (error) {
        const { canRetry, message } = appendError(error);
        if (!signal.aborted && !canRetry) {
          this.#logger?.error({ check: 'eventstoredb' }, message);
          return [message];
        }
        const level = outage.isNews(message) ? 'warn' : 'debug';
        if (!signal.aborted) this.#logger?.[level]({ reason: message }, 'EventStoreDB could not be checked yet');
      }
      await backOff.wait(signal);
    }
    return [];
  }

  async #append(stream: StreamName, expected: Revision, events: readonly ProposedEvent[]): Promise<AppendResult> {
    const one = { stream, expected, events };
    const answer = await this.#call(one).catch(async (error: unknown) => {
      const settled = faultOf(error).isAborted ? await this.#settled(one) : null;
      if (settled === null) throw appendError(error);
      return settled;
    });
    if (answer.type === 'conflict') return answer;
    const { lastRevision } = answer;
    return {
      type: 'appended',
      lastRevision,
      position: answer.position ?? (await this.#positionOf(stream, lastRevision)),
    };
  }

  #call(one: Append): Promise<AppendAnswer> {
    return this.#appends.append({ ...one, onServer: this.#streams.onServer(one.stream) });
  }

  /** What the stream says of an append of unknown outcome; null where it says nothing, or does not answer either. */
  async #settled(one: Append): Promise<AppendAnswer | null> {
    try {
      return await readBackAppend(this.#reader, one);
    } catch (error) {
      this.#logger?.warn({ reason: appendError(error).message }, 'what became of an append cannot be read');
      return null;
    }
  }

  /** A server that does not tell the position of what is written has it in the stream. */
  async #positionOf(stream: StreamName, at: Revision): Promise<Position> {
    try {
      for await (const { position } of this.#reader.readStream(stream, { from: at, limit: 1 })) return position;
    } catch (cause) {
      throw new EventLogError('ambiguous', 'written, but its position cannot be read', { cause });
    }
    throw new EventLogError('ambiguous', `${stream} has no revision ${at}, which was just written`);
  }

  async *#unlessClosed(read: () => AsyncIterable<RecordedEvent>): AsyncGenerator<RecordedEvent, void, undefined> {
    if (this.#closing !== null) throw closedError();
    yield* read();
  }

  async #close(): Promise<void> {
    this.#closed.abort();
    const subscriptions = [...this.#subscriptions, ...this.#hidden].map((subscription) => subscription.close());
    await Promise.all([this.#gate.drain(this.#deadlines.closeMs), ...subscriptions]);
    this.#checked.resolve([]);
    this.#appends.close();
    for (const connection of Object.values(this.#connections)) connection.close();
  }
}

function throwAppendError(error: unknown): never {
  throw appendError(error);
}

const closedError = (): EventLogError => new EventLogError('closed', 'the event log is closed');
