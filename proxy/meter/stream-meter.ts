import assert from 'node:assert/strict';
import type { UpstreamWords } from '../upstream/upstream-words.ts';
import { EVENT_BYTES_MAX } from './limits.ts';
import { LineEnds } from './line-ends.ts';
import { PartialEvent } from './partial-event.ts';
import { noteMalformed, type SeenUsage } from './seen-usage.ts';
import { readStreamEvent } from './stream-event.ts';
import { StreamReading, type UpstreamErrorEvent } from './stream-reading.ts';
import { type EventRange, type StreamFindings, StreamSearch } from './stream-search.ts';
import { overlongUsageEvent } from './usage-events.ts';

const LF = 0x0a;
const BLANK_LINE = Buffer.from('\n\n');
const BYTE_ORDER_MARK = Buffer.from('\ufeff');

/**
 * Looks at a stream of the Messages protocol. Plain deltas are neither parsed nor split into lines: whole chunks are
 * searched for the few other events, and only those are read; of a delta's text only its weight is kept.
 */
export class StreamMeter {
  readonly kind = 'stream';
  readonly #reading: StreamReading;
  readonly usage: SeenUsage;
  readonly #lineEnds = new LineEnds();
  readonly #partial = new PartialEvent();
  readonly #stream = new StreamSearch();
  readonly #found: StreamFindings = {
    event: (bytes, event) => this.#read(bytes, event),
    text: (millitokens) => {
      if (!this.#reading.isOver) this.usage.textMillitokens += millitokens;
    },
  };
  /** Nothing has ended yet, so that what comes next begins the stream: a byte order mark may stand there. */
  #isAtStart = true;
  #hasEnded = false;

  /** @param words makes fit for the ledger what is said in words */
  constructor(words: UpstreamWords) {
    this.#reading = new StreamReading(words);
    this.usage = this.#reading.usage;
  }

  /** `message_stop` was seen, whole; or the stream has ended and its `stop_reason` is known. */
  get complete(): boolean {
    const { isStopped, isOver, stopReason } = this.#reading;
    return isStopped || (this.#hasEnded && !isOver && stopReason !== null);
  }

  /** The usage is the upstream's last word. */
  get isFinal(): boolean {
    return this.#reading.isFinal;
  }

  /** The upstream's own `error` event, if it sent one before `message_stop`. */
  get errorEvent(): UpstreamErrorEvent | null {
    return this.#reading.errorEvent;
  }

  get messageId(): string | null {
    return this.#reading.messageId;
  }

  /** An event that is appended to the bytes so far cannot run into one that has begun: they end between two events. */
  get atBoundary(): boolean {
    return (
      this.#partial.isEmpty || (!this.#partial.isOverlong && isBetweenEvents(this.#withoutMark(this.#partial.kept)))
    );
  }

  /** The chunk is looked at before this returns, and not kept. */
  push(chunk: Buffer): void {
    assert(!this.#hasEnded, 'no bytes come after the end');
    this.usage.bytes += chunk.length;
    const text = this.#lineEnds.toLf(chunk);
    const start = this.#partial.isEmpty ? 0 : this.#endPartial(text);
    if (start !== -1) this.#search(text, start);
  }

  /** No more bytes come: what is whole but for its blank line is read, too. Idempotent. */
  end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    if (this.#partial.isEmpty) return;
    if (this.#partial.isOverlong) {
      this.#noteOverlong(this.#partial.kept);
      return;
    }
    this.#searchEvents(Buffer.concat([this.#partial.kept, BLANK_LINE]));
  }

  /** Reads the partial event with its end in this chunk. Returns where it ends, or -1 where it does not. */
  #endPartial(chunk: Buffer): number {
    const end = this.#partial.endOfEventIn(chunk);
    if (chunk.length > 0) this.#partial.add(chunk, 0, end === -1 ? chunk.length : end);
    if (end === -1) return -1;
    if (this.#partial.isOverlong) this.#noteOverlong(this.#partial.kept);
    else this.#searchEvents(this.#partial.kept);
    this.#partial.clear();
    this.#isAtStart = false;
    return end;
  }

  /** Searches the events that end in a chunk, from where one begins,and keeps what is left. */
  #search(chunk: Buffer, from: number): void {
    let start = from;
    const end = endOfLastEvent(chunk);
    if (end > start) {
      this.#searchEvents(start === 0 && end === chunk.length ? chunk : chunk.subarray(start, end));
      this.#isAtStart = false;
      start = end;
    }
    if (start < chunk.length) this.#partial.add(chunk, start, chunk.length);
  }

  #searchEvents(events: Buffer): void {
    this.#stream.search(this.#withoutMark(events), this.#found);
  }

  #read(bytes: Buffer, { from, to }: EventRange): void {
    if (to - from > EVENT_BYTES_MAX) {
      this.#noteOverlong(bytes.subarray(from, from + EVENT_BYTES_MAX));
      return;
    }
    const event = readStreamEvent(bytes.toString('utf8', from, to));
    if (event === null) return;
    if (this.#hasEnded) this.#reading.takeUnended(event);
    else this.#reading.take(event);
  }

  /** What an overlong event said of usage is lost, and that is told; what it says of an answer is weighed as far as it is kept. */
  #noteOverlong(kept: Buffer): void {
    if (this.#reading.isOver) return;
    const beginning = this.#withoutMark(kept);
    const kind = overlongUsageEvent(beginning);
    if (kind !== null) noteMalformed(this.usage, `${kind}.data`);
    const event = kind === null ? readStreamEvent(beginning.toString('utf8')) : null;
    if (event !== null) this.#reading.takeBeginning(event);
  }

  #withoutMark(bytes: Buffer): Buffer {
    if (!this.#isAtStart || bytes[0] !== BYTE_ORDER_MARK[0]) return bytes;
    const mark = bytes.subarray(0, BYTE_ORDER_MARK.length);
    return mark.equals(BYTE_ORDER_MARK) ? bytes.subarray(BYTE_ORDER_MARK.length) : bytes;
  }
}

/** The place after the last blank line; most chunks end with one. */
function endOfLastEvent(chunk: Buffer): number {
  const { length } = chunk;
  if (chunk[length - 1] === LF && chunk[length - 2] === LF) return length;
  const at = chunk.lastIndexOf(BLANK_LINE);
  return at === -1 ? 0 : at + BLANK_LINE.length;
}

/** Whether what follows the last event is no part of one: whole comment lines and nothing else. */
function isBetweenEvents(kept: Buffer): boolean {
  const lines = kept.toString('latin1').split('\n');
  return lines.pop() === '' && lines.every((line) => line === '' || line.startsWith(':'));
}
