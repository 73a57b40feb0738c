import { randomUUID } from 'node:crypto';
import type { AppendOutcome, Expected } from './append-outcome.ts';
import { checkAppend } from './check-append.ts';
import { LogFile, type LogRecord } from './log-file.ts';
import { metastreamOf, type ProposedRecord, type StoredEvent, sizeOf, TOMBSTONE_TYPE } from './stored-event.ts';
import { DELETED_SOFTLY, parseStreamMetadata, StoredStream } from './stored-stream.ts';
import { systemRecords } from './system-records.ts';

interface StoredLogOptions {
  /** Keeps what is stored in this file, and begins with what it holds. */
  readonly file?: string;
  /** MaxAppendSize; default 1 MiB, as in servers before 25.1. */
  readonly appendBytesMax?: number;
  /** The clock, in milliseconds, for `created` and $maxAge. */
  readonly now?: () => number;
}

const APPEND_BYTES_MAX = 1_048_576;
/** What the server writes around an event: header, ids, flags, lengths. Makes the positions realistic, no more. */
const RECORD_OVERHEAD_BYTES = 97;
/** A log begins with records that are no events. */
const FIRST_POSITION = 201;

/** What a node, or the nodes of a cluster, have stored. Appends and lookups are O(1); a position is found in O(log n). */
export class StoredLog {
  readonly appendBytesMax: number;
  readonly now: () => number;
  readonly #events: StoredEvent[] = [];
  readonly #streams = new Map<string, StoredStream>();
  readonly #file: LogFile | null;
  readonly #onStored = new Set<() => void>();
  #nextPosition = FIRST_POSITION;

  constructor(options: StoredLogOptions = {}) {
    this.appendBytesMax = options.appendBytesMax ?? APPEND_BYTES_MAX;
    this.now = options.now ?? Date.now;
    this.#file = options.file === undefined ? null : new LogFile(options.file);
    for (const record of this.#file?.read() ?? []) this.#apply(record);
    // Every server has events of its own in $all from its first start: a client that forgets to filter meets them.
    if (this.#events.length === 0) for (const record of systemRecords(this.now())) this.#store(record);
  }

  /** Everything in log order: what a read of $all gives. */
  get events(): readonly StoredEvent[] {
    return this.#events;
  }

  stream(name: string): StoredStream | undefined {
    return this.#streams.get(name);
  }

  /** Appends all events or none. */
  append(name: string, expected: Expected, events: readonly ProposedRecord[]): AppendOutcome {
    const stream = this.#streams.get(name);
    const refused = this.refuse(events) ?? this.#check(name, expected, events);
    if (refused !== null) return refused;
    if (stream?.metadata.deletedSoftly) this.#setTruncateBefore(name, String(stream.lastRevision + 1));
    if (events.length > 0) this.#store({ type: 'append', stream: name, createdMs: this.now(), events });
    const last = this.#streams.get(name)?.events.at(-1);
    return { type: 'success', written: true, revision: last?.revision ?? -1, position: last?.position ?? null };
  }

  /** What an append of these events may not be, whatever its stream. */
  refuse(events: readonly ProposedRecord[]): AppendOutcome | null {
    let bytes = 0;
    for (const event of events) bytes += sizeOf(event);
    return bytes > this.appendBytesMax ? { type: 'too-large', appendBytesMax: this.appendBytesMax } : null;
  }

  /** Hides the stream's events ($tb), so that it reads as one that does not exist; $all shows them still. */
  deleteSoftly(name: string, expected: Expected): AppendOutcome {
    const refused = this.#check(name, expected, []);
    if (refused !== null) return refused;
    return this.#setTruncateBefore(name, DELETED_SOFTLY.toString());
  }

  /** Ends the stream for ever. */
  tombstone(name: string, expected: Expected): AppendOutcome {
    const refused = this.#check(name, expected, []);
    if (refused !== null) return refused;
    this.#store({ type: 'tombstone', stream: name, createdMs: this.now() });
    const last = this.#events.at(-1);
    return { type: 'success', written: true, revision: -1, position: last?.position ?? null };
  }

  /** Puts $maxAge, $maxCount, $tb or anything else on a stream, as an operator would. */
  setMetadata(name: string, metadata: Readonly<Record<string, unknown>>): AppendOutcome {
    return this.#setMetadataText(name, JSON.stringify(metadata));
  }

  /**
   * Destroys what the metadata of a stream hides by count or number, but for the last event, as a scavenge does. One with a
   * threshold leaves chunks in which there is little to destroy: `from` is the first revision behind those.
   */
  scavenge(name: string, from = 0): void {
    const stream = this.#streams.get(name);
    if (stream === undefined) return;
    const before = Math.min(stream.firstRevision, stream.lastRevision);
    for (let revision = from; revision < before; revision++) stream.scavenged.add(revision);
  }

  /** The index of the first event at or after the position; the number of events where there is none. */
  indexAt(position: number): number {
    let low = 0;
    let high = this.#events.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#events[middle]?.position ?? 0) < position) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Calls back after each append that stored something; returns what ends that. */
  onStored(callback: () => void): () => void {
    this.#onStored.add(callback);
    return () => this.#onStored.delete(callback);
  }

  /** Subscriptions that wait for what is stored next. */
  get watchers(): number {
    return this.#onStored.size;
  }

  close(): void {
    this.#file?.close();
  }

  #check(name: string, expected: Expected, events: readonly ProposedRecord[]): AppendOutcome | null {
    const stream = this.#streams.get(name);
    const hasMetadata = this.#streams.has(metastreamOf(name));
    const verdict = checkAppend({ stream, hasMetadata, expected, events });
    if (verdict === 'write') return null;
    if (verdict === 'stream-deleted') return { type: 'stream-deleted' };
    if (verdict === 'wrong-expected-version')
      return { type: 'wrong-expected-version', current: stream?.lastRevision ?? -1, expected };
    const last = stream?.events[verdict.lastRevision];
    return { type: 'success', written: false, revision: verdict.lastRevision, position: last?.position ?? null };
  }

  #setTruncateBefore(name: string, revision: string): AppendOutcome {
    return this.#setMetadataText(name, `{"$tb":${revision}}`);
  }

  #setMetadataText(name: string, text: string): AppendOutcome {
    const data = Buffer.from(text);
    const event = { id: randomUUID(), type: '$metadata', contentType: 'application/json', data, metadata: NO_BYTES };
    return this.append(metastreamOf(name), 'any', [event]);
  }

  #store(record: LogRecord): void {
    this.#file?.write(record);
    this.#apply(record);
    for (const callback of this.#onStored) callback();
  }

  #apply(record: LogRecord): void {
    const stream = this.#streams.get(record.stream) ?? new StoredStream();
    this.#streams.set(record.stream, stream);
    if (record.type === 'tombstone') {
      stream.tombstoned = true;
      this.#events.push(this.#place(record, TOMBSTONE, Number(DELETED_SOFTLY)));
      return;
    }
    for (const event of record.events) {
      const stored = this.#place(record, event, stream.events.length);
      stream.events.push(stored);
      this.#events.push(stored);
    }
    const last = stream.events.at(-1);
    if (record.stream.startsWith('$$') && last !== undefined) this.#readMetadata(record.stream.slice(2), last);
  }

  #readMetadata(name: string, event: StoredEvent): void {
    const stream = this.#streams.get(name) ?? new StoredStream();
    this.#streams.set(name, stream);
    stream.metadata = parseStreamMetadata(event.data);
  }

  #place(record: LogRecord, event: ProposedRecord, revision: number): StoredEvent {
    const position = this.#nextPosition;
    this.#nextPosition += RECORD_OVERHEAD_BYTES + record.stream.length + sizeOf(event);
    const { id, type, contentType, data, metadata } = event;
    const { stream, createdMs } = record;
    return { id, type, contentType, data, metadata, stream, revision, position, createdMs };
  }
}

const NO_BYTES = new Uint8Array();
const TOMBSTONE: ProposedRecord = {
  id: '00000000-0000-4000-8000-000000000000',
  type: TOMBSTONE_TYPE,
  contentType: 'application/octet-stream',
  data: NO_BYTES,
  metadata: NO_BYTES,
};
