import { MEMBER_BYTES_MAX, MEMBERS_BYTES_MAX } from './limits.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

/**
 * Leaves the long members out of a JSON object that comes in pieces, so that the rest of it can be parsed: of a long
 * answer its `usage`, but not its `content`. It keeps no more than the short ones, and looks at each piece for as long as it
 * has bytes. What is left out is not looked at but for its strings and brackets.
 */
export class ShortMembers {
  readonly #members: string[] = [];
  /** Of the member that has begun, a character a byte; null where it is left out. */
  #member: string | null = '';
  #bytes = 0;
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  #isClosed = false;
  /** It is no object, or its short members are too many. */
  #isUnreadable = false;
  #markBytes = 0;

  /** The object without its long members; empty where it is not whole, or none. */
  get text(): string {
    if (!this.#isClosed || this.#isUnreadable) return '';
    return Buffer.from(`{${this.#members.join(',')}}`, 'latin1').toString('utf8');
  }

  push(chunk: Buffer): void {
    let from = 0;
    for (let at = 0; at < chunk.length && !this.#isUnreadable; at++) {
      const byte = chunk[at] ?? 0;
      if (this.#isInString) this.#passInString(byte);
      else if (this.#depth === 0) {
        this.#takeOutside(byte);
        from = at + 1;
      } else if (byte === QUOTE) this.#isInString = true;
      else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) this.#depth++;
      else if (this.#depth > 1) {
        if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) this.#depth--;
      } else if (byte === COMMA || byte === CLOSE_OBJECT) {
        this.#take(chunk, from, at);
        this.#endMember();
        from = at + 1;
        if (byte === CLOSE_OBJECT) this.#close();
      } else if (byte === CLOSE_ARRAY) this.#isUnreadable = true;
    }
    if (this.#depth > 0) this.#take(chunk, from, chunk.length);
  }

  #passInString(byte: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === BACKSLASH) this.#isEscaped = true;
    else if (byte === QUOTE) this.#isInString = false;
  }

  /** Before the object and after it. */
  #takeOutside(byte: number): void {
    if (byte === OPEN_OBJECT && !this.#isClosed) this.#depth = 1;
    else if (byte === BYTE_ORDER_MARK[this.#markBytes] && !this.#isClosed) this.#markBytes++;
    else if (!isSpace(byte)) this.#isUnreadable = true;
  }

  #close(): void {
    this.#depth = 0;
    this.#isClosed = true;
  }

  #take(chunk: Buffer, from: number, to: number): void {
    if (this.#member === null) return;
    if (this.#member.length + to - from > MEMBER_BYTES_MAX) this.#member = null;
    else this.#member += chunk.toString('latin1', from, to);
  }

  #endMember(): void {
    if (this.#member !== null) {
      this.#members.push(this.#member);
      this.#bytes += this.#member.length + 1;
      if (this.#bytes > MEMBERS_BYTES_MAX) this.#isUnreadable = true;
    }
    this.#member = '';
  }
}

const isSpace = (byte: number): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
