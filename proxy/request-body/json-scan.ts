import assert from 'node:assert/strict';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const COLON = 0x3a;
const COMMA = 0x2c;
/** The one bit in which an array's bracket differs from an object's. */
const BRACKET_CASE = 0x20;

export interface ShapeBounds {
  /** How deep objects and arrays may be nested. */
  readonly depthMax: number;
  /** How many brackets may open and commas stand outside of strings: no fewer than the values are. */
  readonly valuesMax: number;
}

/**
 * Which bound a body's shape exceeds; null where it keeps to both. Works on any bytes, also on what is not JSON: it stands
 * before the parser, which takes seconds and a gigabyte for 32 MiB of brackets, and before what recurses over the value:
 * JSON.stringify overflows the stack at a depth of about 5,000.
 */
export function exceededBound(body: Buffer, bounds: ShapeBounds): keyof ShapeBounds | null {
  const start = skipSpace(body, 0);
  if (!isOpening(body[start])) return null;
  // What follows the first value is no JSON, which the parser tells by the first byte of it.
  const end = skipNested(body, start, bounds);
  return end === TOO_DEEP ? 'depthMax' : end === TOO_MANY ? 'valuesMax' : null;
}

/** Whether it has more values, by the same count, however deep they stand. Looks no further than to the first too many. */
export function hasMoreValues(body: Buffer, valuesMax: number): boolean {
  return exceededBound(body, { ...NO_BOUNDS, valuesMax }) === 'valuesMax';
}

/**
 * Goes over the members of a JSON object without parsing their values: after each `next` that returned true, the places
 * are those of one member. Ends are exclusive. The bytes are valid JSON with an object on top: where they are not, the
 * caller has a bug. @throws AssertionError where that shows
 */
export class TopLevelScan {
  /** After the object's opening brace. */
  readonly inside: number;
  keyStart = 0;
  keyEnd = 0;
  valueStart = 0;
  valueEnd = 0;
  readonly #body: Buffer;
  #at: number;

  constructor(body: Buffer) {
    const open = skipSpace(body, 0);
    assert.equal(body[open], OPEN_OBJECT, 'the body has an object on top');
    this.#body = body;
    this.inside = open + 1;
    this.#at = skipSpace(body, this.inside);
  }

  next(): boolean {
    const body = this.#body;
    if (body[this.#at] === CLOSE_OBJECT) return false;
    assert.equal(body[this.#at], QUOTE, 'a key is a string');
    this.keyStart = this.#at;
    this.keyEnd = skipString(body, this.keyStart);
    const colon = skipSpace(body, this.keyEnd);
    assert.equal(body[colon], COLON, 'a colon follows a key');
    this.valueStart = skipSpace(body, colon + 1);
    this.valueEnd = skipValue(body, this.valueStart);
    this.#at = skipSpace(body, this.valueEnd);
    if (body[this.#at] === COMMA) this.#at = skipSpace(body, this.#at + 1);
    else assert.equal(body[this.#at], CLOSE_OBJECT, 'the object on top is closed');
    return true;
  }

  /** The member's key, unescaped. */
  get key(): string {
    const text = this.#body.toString('utf8', this.keyStart + 1, this.keyEnd - 1);
    return text.includes('\\') ? String(JSON.parse(`"${text}"`)) : text;
  }
}

export function skipSpace(body: Buffer, from: number): number {
  let at = from;
  for (let byte = body[at]; byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09; byte = body[at]) at++;
  return at;
}

/** Most strings are short; for these a loop costs less than a call into native code, which is what long ones want. */
const SHORT_STRING_BYTES = 48;

/** The place after a string's closing quote; the bytes' end where it has none. */
export function skipString(body: Buffer, open: number): number {
  let at = open + 1;
  for (const byHand = Math.min(at + SHORT_STRING_BYTES, body.length); at < byHand; at++) {
    const byte = body[at];
    if (byte === QUOTE) return at + 1;
    if (byte === BACKSLASH) at++;
  }
  return skipLongString(body, at);
}

/** From anywhere in a string but between a backslash and what it escapes. */
function skipLongString(body: Buffer, from: number): number {
  for (let at = from; at < body.length; ) {
    const quote = body.indexOf(QUOTE, at);
    if (quote === -1) break;
    let first = quote;
    while (first > at && body[first - 1] === BACKSLASH) first--;
    if ((quote - first) % 2 === 0) return quote + 1;
    at = quote + 1;
    // Where one quote is escaped more are near, as in JSON within a string.
    for (const byHand = Math.min(at + SHORT_STRING_BYTES, body.length); at < byHand; at++) {
      const byte = body[at];
      if (byte === QUOTE) return at + 1;
      if (byte === BACKSLASH) at++;
    }
  }
  return body.length;
}

export function skipValue(body: Buffer, start: number): number {
  if (body[start] === QUOTE) return skipString(body, start);
  if (!isOpening(body[start])) return skipLiteral(body, start);
  const end = skipNested(body, start, NO_BOUNDS);
  assert(end !== UNCLOSED, 'a value is closed');
  return end;
}

const TOO_DEEP = -1;
const TOO_MANY = -2;
const UNCLOSED = -3;
/** Of a body that has passed the bounds. */
const NO_BOUNDS: ShapeBounds = { depthMax: 2 ** 31 - 1, valuesMax: 2 ** 31 - 1 };

/** The place after an object or array; TOO_DEEP or TOO_MANY as soon as it exceeds a bound, UNCLOSED at the bytes' end. */
function skipNested(body: Buffer, start: number, { depthMax, valuesMax }: ShapeBounds): number {
  let depth = 0;
  let values = 0;
  for (let at = start; at < body.length; ) {
    const byte = body[at] ?? 0;
    if (byte === QUOTE) {
      // Told that this is a small integer, the compiler makes the loop twice as fast; no body has 2^31 bytes.
      at = skipString(body, at) | 0;
      continue;
    }
    at++;
    if (byte < OPEN_ARRAY) {
      if (byte === COMMA && ++values > valuesMax) return TOO_MANY;
      continue;
    }
    if ((byte | BRACKET_CASE) === OPEN_OBJECT) {
      if (++depth > depthMax) return TOO_DEEP;
      if (++values > valuesMax) return TOO_MANY;
    } else if ((byte | BRACKET_CASE) === CLOSE_OBJECT && --depth === 0) return at;
  }
  return UNCLOSED;
}

export const isOpening = (byte: number | undefined): boolean => byte === OPEN_OBJECT || byte === OPEN_ARRAY;

/** A number, true, false or null: up to a comma, a bracket or white space. */
function skipLiteral(body: Buffer, start: number): number {
  let at = start;
  for (let byte = body[at]; byte !== undefined && !endsLiteral(byte); byte = body[at]) at++;
  assert(at > start, 'a member has a value');
  return at;
}

const endsLiteral = (byte: number): boolean =>
  byte <= 0x20 || byte === COMMA || byte === CLOSE_OBJECT || byte === CLOSE_ARRAY;
