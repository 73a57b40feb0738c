import assert from 'node:assert/strict';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const COLON = 0x3a;
const COMMA = 0x2c;

/** A member of the object on top, by its places in the bytes; ends are exclusive. */
export interface Member {
  readonly key: string;
  readonly keyStart: number;
  readonly valueStart: number;
  readonly valueEnd: number;
}

export interface TopLevel {
  /** Where the object's brace stands. */
  readonly open: number;
  readonly members: readonly Member[];
}

/** Finds the members of a JSON object without parsing their values. The bytes are valid JSON with an object on top. */
export function scanTopLevel(body: Buffer): TopLevel {
  const open = skipSpace(body, 0);
  assert.equal(body[open], OPEN_OBJECT, 'the body has an object on top');
  const members: Member[] = [];
  let at = skipSpace(body, open + 1);
  while (body[at] !== CLOSE_OBJECT) {
    const keyStart = at;
    const keyEnd = skipString(body, at);
    at = skipSpace(body, keyEnd);
    assert.equal(body[at], COLON, 'a colon follows a key');
    const valueStart = skipSpace(body, at + 1);
    const valueEnd = skipValue(body, valueStart);
    members.push({ key: JSON.parse(body.toString('utf8', keyStart, keyEnd)), keyStart, valueStart, valueEnd });
    at = skipSpace(body, valueEnd);
    if (body[at] === COMMA) at = skipSpace(body, at + 1);
    assert(at < body.length, 'the object on top is closed');
  }
  return { open, members };
}

/**
 * Whether objects and arrays are nested deeper than a bound. Works on any bytes, also on what is not JSON: it stands
 * before the parser, which takes seconds and a gigabyte for 32 MiB of brackets.
 */
export function exceedsDepth(body: Buffer, depthMax: number): boolean {
  let depth = 0;
  for (let at = 0; at < body.length; at++) {
    const byte = body[at];
    if (byte === QUOTE) at = skipString(body, at) - 1;
    else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      depth++;
      if (depth > depthMax) return true;
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) depth--;
  }
  return false;
}

export function skipSpace(body: Buffer, from: number): number {
  let at = from;
  for (let byte = body[at]; byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09; byte = body[at]) at++;
  return at;
}

/** The place after a string's closing quote; the bytes' end where it has none. */
function skipString(body: Buffer, open: number): number {
  for (let at = body.indexOf(QUOTE, open + 1); at !== -1; at = body.indexOf(QUOTE, at + 1)) {
    let backslashes = 0;
    while (body[at - 1 - backslashes] === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return at + 1;
  }
  return body.length;
}

function skipValue(body: Buffer, start: number): number {
  const first = body[start];
  if (first === QUOTE) return skipString(body, start);
  if (first !== OPEN_OBJECT && first !== OPEN_ARRAY) return skipLiteral(body, start);
  let depth = 0;
  for (let at = start; at < body.length; at++) {
    const byte = body[at];
    if (byte === QUOTE) at = skipString(body, at) - 1;
    else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) depth++;
    else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      depth--;
      if (depth === 0) return at + 1;
    }
  }
  throw new assert.AssertionError({ message: 'a value is closed' });
}

/** A number, true, false or null: up to a comma, a brace or white space. */
function skipLiteral(body: Buffer, start: number): number {
  let at = start;
  for (
    let byte = body[at];
    byte !== undefined && byte !== COMMA && byte !== CLOSE_OBJECT && byte > 0x20;
    byte = body[at]
  )
    at++;
  return at;
}
