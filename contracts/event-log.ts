import type { EventId, LedgerCategory, Position, Revision, StreamName } from './ids.ts';

/**
 * The event-log port. Two adapters pass one contract suite (test/ledger/event-log): `sqlite` (embedded) and
 * `eventstoredb` (production).
 *
 * A log is one total order of events, each of which belongs to one stream and has the next revision of that stream.
 * Nothing rewrites or deletes an event. An event is visible to a reader only when all events before it are.
 */
export interface EventLog {
  /**
   * Appends all events to one stream, or none of them. The expected revision is always a number; C is the revision
   * of the stream's last event, NO_STREAM (-1) where there is none.
   *
   *   expected = C                                       appended, last revision C + n
   *   expected > C                                       conflict
   *   expected < C, every id sits at expected+1, …        appended: an exact retry, or a retry with a prefix of what was
   *                                                      written, answers with the old last revision and its position
   *   expected < C, any id differs or runs past the end   conflict
   *
   * Of appends to several streams that are under way at once none is promised to stand before another.
   *
   * @throws EventLogError `unavailable`: nothing was written; `ambiguous`: it may have been written, and the same call
   *   again (same ids, same expected revision) finds out; `invalid`: empty append, or one over the limits; `closed`.
   */
  append(stream: StreamName, expectedRevision: Revision, events: readonly ProposedEvent[]): Promise<AppendResult>;

  /**
   * Events of one stream, forwards from `from` (inclusive; default the first) or backwards from `from` (inclusive;
   * default the last). A stream that does not exist has no events. @throws EventLogError as `append`.
   */
  readStream(stream: StreamName, options?: ReadStreamOptions): AsyncIterable<RecordedEvent>;

  /** Events of all streams in log order, after the position (exclusive; null is the beginning). */
  readAll(options?: ReadAllOptions): AsyncIterable<RecordedEvent>;

  /**
   * Every event after a position, then live, in log order, without gap or repeat. Resumes by itself after a drop.
   * `onEvents` is awaited before it is called again; when it throws, the subscription stops and `onStopped` is told:
   * an event is never skipped.
   */
  subscribeAll(options: SubscribeAllOptions): Subscription;

  /** The position of the last event in the log; null when it is empty. */
  headPosition(): Promise<Position | null>;

  /**
   * Tells of each stream of the ledger of which the log's server hides or has deleted events, why in one line, and null when
   * all of them are there again; until the log is closed. Of `known`, asked now and then for what others have found (an
   * earlier process, or whoever read one), it tells in any case when all of them are there. Resolves when all that was so by
   * then has been told. Such a stream is not read as though it had no events, or began later: that is a `HiddenStreamError`.
   * A log that hides nothing has none.
   */
  readonly followHidden?: (onHidden: OnHidden, known?: () => readonly StreamName[]) => Promise<void>;

  /**
   * The streams of the ledger of which the log's server hides or has deleted events by now: `readAll` may still have those
   * events, until the server destroys them. A log that hides nothing has none. @throws EventLogError as `readStream`
   */
  readonly hiddenStreams?: () => Promise<readonly HiddenStream[]>;

  /**
   * Events as leaf hashes of the sealed sequence (ledger/seals), which the log makes beside this thread: up to the next event
   * of the stream `seals`, or fewer. A log that cannot has none. @throws EventLogError as `readStream`
   */
  readonly readLeaves?: (from: LeavesFrom) => Promise<LeafPage>;

  /** What keeps the log, with its version, for operators. @throws EventLogError where it does not tell */
  readonly software?: () => Promise<string>;

  /** Waits for appends under way, then frees what the adapter holds. Idempotent. */
  close(): Promise<void>;
}

/** What only reads a log needs of it. */
export type ReadableLog = Pick<EventLog, 'readAll' | 'readStream' | 'headPosition' | 'hiddenStreams'>;

export interface ProposedEvent {
  /** Deterministic, so that a retry is recognised; a UUID, sortable by time. */
  readonly id: EventId;
  /** PastTense PascalCase. */
  readonly type: string;
  /** JSON text. Text, not a value: the bytes that are hashed and stored are made once, by the caller. */
  readonly data: string;
  /** JSON text. */
  readonly metadata: string;
}

/** What a fold needs of a recorded event: it looks at no ids. */
export type EventWithoutId = Omit<RecordedEvent, 'id'>;

export interface RecordedEvent extends ProposedEvent {
  readonly stream: StreamName;
  readonly revision: Revision;
  readonly position: Position;
  /** When the log's server took it, by its clock, in ms since 1970. Absent where only the writer has a clock. */
  readonly stampedAtMs?: number;
}

export type AppendResult =
  | { readonly type: 'appended'; readonly lastRevision: Revision; readonly position: Position }
  | { readonly type: 'conflict'; readonly actualRevision: Revision };

export interface ReadStreamOptions {
  readonly direction?: 'forwards' | 'backwards';
  readonly from?: Revision;
  readonly limit?: number;
}

export interface ReadAllOptions {
  readonly after?: Position | null;
  readonly limit?: number;
  /** Only of this category's streams (`proxy`: `proxy-…`). All events are looked through: not to be asked often. */
  readonly category?: LedgerCategory;
  /** For whoever only compares where events stand: a log that can leaves their data and metadata out, as empty text. */
  readonly placesOnly?: boolean;
}

export interface SubscribeAllOptions {
  /** Exclusive; null is the beginning of the log. */
  readonly after: Position | null;
  readonly onEvents: (events: readonly RecordedEvent[]) => void | Promise<void>;
  /** Called each time everything that was in the log has been handed over; the first time marks the end of catch-up. */
  readonly onCaughtUp?: () => void;
  /** Called each time the log is lost from sight; the subscription resumes by itself, and `onCaughtUp` tells when. */
  readonly onDropped?: (error: Error) => void;
  /** Called at most once, with what ended the subscription. Not called after `close`. */
  readonly onStopped?: (error: Error) => void;
}

export interface LeavesFrom {
  /** Exclusive; null is the beginning of the log. */
  readonly after: Position | null;
  /** In the sealed sequence, of the first event behind it. */
  readonly ordinal: number;
  /** Of the first that no seal covers. */
  readonly rangeFirst: number;
  /** At least 1. */
  readonly limit: number;
}

/** The root of a full tree over so many leaves. */
export interface Subtree<Root extends string = string> {
  readonly root: Root;
  readonly leaves: number;
}

export interface LeafPage {
  /** SHA-256 behind one another: 32 characters each, of which each is a byte. */
  readonly leaves: string;
  /** Of the first of them; the others follow without gaps. */
  readonly firstPosition: Position | null;
  /** The same leaves as the largest full trees of which they are made in the whole tree, and in that of the range. */
  readonly inWhole: readonly Subtree[];
  readonly inRange: readonly Subtree[];
  /** The event of the stream `seals` behind them; null where the page ends otherwise. */
  readonly seal: RecordedEvent | null;
  /** There was nothing more when the page was read. */
  readonly isEnd: boolean;
}

export interface HiddenStream {
  readonly stream: StreamName;
  /** In one line, with what to do. */
  readonly why: string;
}

export type OnHidden = (stream: StreamName, why: string | null) => void;

export interface Subscription {
  /** Resolves when no call of `onEvents` is under way and none will follow. Idempotent. */
  close(): Promise<void>;
}

/** Whether the log did not answer, so that the same call can succeed when it is back. */
export const isLogAway = (error: unknown): error is EventLogError => error instanceof EventLogError && error.canRetry;

export type EventLogErrorKind = 'unavailable' | 'ambiguous' | 'invalid' | 'closed';

export class EventLogError extends Error {
  override readonly name = 'EventLogError';
  readonly kind: EventLogErrorKind;

  constructor(kind: EventLogErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }

  /** Whether the same call again can succeed. */
  get canRetry(): boolean {
    return this.kind === 'unavailable' || this.kind === 'ambiguous';
  }
}

/** An event's form is not adopted yet, and the one that is cannot say it: nothing was written. */
export class UnadoptedFormError extends EventLogError {
  readonly type: string;

  constructor(type: string, why: string) {
    super('invalid', why);
    this.type = type;
  }
}

/** The log's server hides events of the stream, or has deleted it: what is read of it would be a part taken for the whole. */
export class HiddenStreamError extends EventLogError {
  readonly stream: StreamName;

  constructor(stream: StreamName, why: string, options?: ErrorOptions) {
    super('invalid', why, options);
    this.stream = stream;
  }
}

/** What was read, or what stands for a stream of which the log's server hides events. @throws as the reading otherwise */
export async function unlessHidden<T, H>(reading: Promise<T>, hidden: H): Promise<T | H> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof HiddenStreamError) return hidden;
    throw error;
  }
}
