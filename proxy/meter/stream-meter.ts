import { EventCarry } from './event-carry.ts';
import { LineSplitter } from './line-splitter.ts';
import { isObject, nothingSeen, type SeenUsage, takeUsage } from './seen-usage.ts';
import { SseEvent } from './sse-event.ts';

/**
 * Looks at a stream of the Messages protocol. Deltas are neither parsed nor split into lines: whole chunks are searched
 * for the few events that say something about usage, and only those are read.
 */
export interface StreamMeter {
  readonly kind: 'stream';
  readonly usage: SeenUsage;
  /** `message_stop` was seen, whole. */
  readonly complete: boolean;
  /** The upstream's own `error` event, if it sent one. */
  readonly errorEvent: { readonly type: string; readonly message: string } | null;
  readonly messageId: string | null;
  /** The bytes so far end between two events. */
  readonly atBoundary: boolean;
  push(chunk: Buffer): void;
  /** An event without its blank line is not an event (WHATWG), so there is nothing left to look at. */
  end(): void;
}

export const createStreamMeter = (): StreamMeter => new SearchingStreamMeter();

const LF = 0x0a;
const CR = 0x0d;
const BOUNDARY = Buffer.from('\n\n');
/** Every event that is of interest has one of these words in it; a delta that has one is looked at for nothing. */
const WORDS = [Buffer.from('message_'), Buffer.from('error')] as const;
const NAMES = new Set(['message_start', 'message_delta', 'message_stop', 'error']);

class SearchingStreamMeter implements StreamMeter {
  readonly kind = 'stream';
  readonly usage = nothingSeen();
  readonly #carry = new EventCarry();
  #complete = false;
  #errorEvent: StreamMeter['errorEvent'] = null;
  #messageId: string | null = null;
  /** Null so long as lines end in LF alone, which is the fast way. */
  #splitter: LineSplitter | null = null;

  get complete(): boolean {
    return this.#complete;
  }

  get errorEvent(): StreamMeter['errorEvent'] {
    return this.#errorEvent;
  }

  get messageId(): string | null {
    return this.#messageId;
  }

  get atBoundary(): boolean {
    return this.#splitter?.atBoundary ?? this.#carry.isEmpty;
  }

  push(chunk: Buffer): void {
    this.usage.bytes += chunk.length;
    if (this.#splitter === null && chunk.indexOf(CR) !== -1) this.#splitLinesFromHere();
    if (this.#splitter !== null) this.#splitter.push(chunk);
    else this.#search(chunk);
  }

  end(): void {
    // Nothing: see the interface.
  }

  /** A CR cannot stand inside JSON text, so it ends a line: from here on all three line ends are understood. */
  #splitLinesFromHere(): void {
    this.#splitter = new LineSplitter(
      (event) => this.#read(event),
      (problem) => this.usage.malformed.push(problem),
    );
    const carried = this.#carry.take();
    if (carried !== null) this.#splitter.push(carried);
  }

  #search(chunk: Buffer): void {
    let start = 0;
    if (!this.#carry.isEmpty) {
      start = this.#carry.endOfEventIn(chunk);
      if (start === -1) {
        this.#keep(chunk);
        return;
      }
      this.#keep(chunk.subarray(0, start));
      const carried = this.#carry.take();
      if (carried !== null) this.#searchEvents(carried, 0, carried.length);
    }
    const last = chunk.lastIndexOf(BOUNDARY);
    if (last >= start) {
      this.#searchEvents(chunk, start, last + 2);
      start = last + 2;
    }
    // Blank lines between events belong to none.
    while (start < chunk.length && chunk[start] === LF) start++;
    if (start < chunk.length) this.#keep(chunk.subarray(start));
  }

  #keep(part: Buffer): void {
    if (this.#carry.add(part)) return;
    const dropped = this.#carry.startSkipping();
    if (WORDS.some((word) => dropped.includes(word))) this.usage.malformed.push('an event that is too long to be read');
  }

  /** Looks into whole events only: from the start of one to the blank line after one. */
  #searchEvents(bytes: Buffer, from: number, to: number): void {
    for (const word of WORDS) {
      let at = bytes.indexOf(word, from);
      while (at !== -1 && at < to) {
        const before = bytes.lastIndexOf(BOUNDARY, at);
        const start = before === -1 || before < from ? from : before + 2;
        const boundary = bytes.indexOf(BOUNDARY, at);
        const end = boundary === -1 ? to : boundary;
        this.#readLines(bytes, start, end);
        at = bytes.indexOf(word, end);
      }
    }
  }

  #readLines(bytes: Buffer, start: number, end: number): void {
    const event = new SseEvent();
    for (const line of bytes.toString('utf8', start, end).split('\n')) event.addLine(line);
    this.#read(event);
  }

  #read({ name, data }: SseEvent): void {
    if (data === null || (name !== '' && !NAMES.has(name))) return;
    const value = parse(data);
    if (!isObject(value)) {
      if (name !== '') this.usage.malformed.push(`${name}: its data is not a JSON object`);
      return;
    }
    switch (name === '' ? value.type : name) {
      case 'message_start': {
        const message = isObject(value.message) ? value.message : {};
        if (typeof message.id === 'string') this.#messageId = message.id;
        takeUsage(this.usage, message.usage, 'message_start.message.usage');
        return;
      }
      case 'message_delta':
        takeUsage(this.usage, value.usage, 'message_delta.usage');
        return;
      case 'message_stop':
        this.#complete = true;
        return;
      case 'error': {
        const error = isObject(value.error) ? value.error : {};
        this.#errorEvent = { type: String(error.type ?? ''), message: String(error.message ?? '') };
        return;
      }
    }
  }
}

function parse(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    // Told as malformed by the caller, where it matters.
    return null;
  }
}
