import { CARRY_BYTES_MAX } from './event-carry.ts';
import { SseEvent } from './sse-event.ts';

const LF = 0x0a;
const CR = 0x0d;

/** Splits a stream into lines that end in LF, CR or CRLF, cut anywhere, and lines into events. The slow, general way. */
export class LineSplitter {
  readonly #onEvent: (event: SseEvent) => void;
  readonly #onTooLong: (problem: string) => void;
  #line: Buffer[] = [];
  #lineBytes = 0;
  #event = new SseEvent();
  #eventBytes = 0;
  #endedInCr = false;
  #isTooLong = false;

  constructor(onEvent: (event: SseEvent) => void, onTooLong: (problem: string) => void) {
    this.#onEvent = onEvent;
    this.#onTooLong = onTooLong;
  }

  get atBoundary(): boolean {
    return this.#lineBytes === 0 && this.#eventBytes === 0;
  }

  push(chunk: Buffer): void {
    let start = this.#endedInCr && chunk[0] === LF ? 1 : 0;
    if (chunk.length > 0) this.#endedInCr = false;
    for (let at = start; at < chunk.length; at++) {
      const byte = chunk[at];
      if (byte !== LF && byte !== CR) continue;
      this.#keep(chunk.subarray(start, at));
      this.#endLine();
      if (byte === CR && at + 1 === chunk.length) this.#endedInCr = true;
      if (byte === CR && chunk[at + 1] === LF) at++;
      start = at + 1;
    }
    if (start < chunk.length) this.#keep(chunk.subarray(start));
  }

  #keep(part: Buffer): void {
    this.#lineBytes += part.length;
    this.#eventBytes += part.length;
    if (this.#eventBytes > CARRY_BYTES_MAX) this.#isTooLong = true;
    else this.#line.push(part);
  }

  #endLine(): void {
    const isBlank = this.#lineBytes === 0;
    const line = this.#isTooLong || isBlank ? '' : Buffer.concat(this.#line).toString('utf8');
    this.#line = [];
    this.#lineBytes = 0;
    if (!isBlank) {
      if (!this.#isTooLong) this.#event.addLine(line);
      return;
    }
    if (this.#isTooLong && /^message_|^error$/.test(this.#event.name))
      this.#onTooLong('an event that is too long to be read');
    if (!this.#isTooLong && !this.#event.isEmpty) this.#onEvent(this.#event);
    this.#event = new SseEvent();
    this.#eventBytes = 0;
    this.#isTooLong = false;
  }
}
