import assert from 'node:assert/strict';
import { LIMITS } from '../../contracts/limits.ts';
import { messageRequestSchema } from '../../contracts/messages.ts';
import { DATA_FIELDS, DECIDING_FIELDS } from '../../contracts/nested-fields.ts';
import { isOpening, skipSpace, skipString, skipValue, TopLevelScan } from './json-scan.ts';
import { type TopLevel, TopLevelPlaces } from './top-level.ts';

export interface DuplicateKey {
  /** As it is compared. */
  readonly key: string;
  /** The field of the request in which it stands twice in one object; null where it is a field of the request. */
  readonly within: string | null;
}

/**
 * The first key that stands twice in one object, or where none does the places of the members on top, for they are gone
 * over anyway. Any field of the request, and further inside those that decide
 * what is held or billed. Parsers differ in which of two they take, so a caller could be billed for one model, or tool, and
 * served another. What is the client's own data is not gone into. The body is valid JSON with an object on top, nested no
 * deeper than LIMITS.requestDepthMax.
 *
 * Keys are compared without regard to case, for so do some parsers: to Go's encoding/json, `MODEL` is another `model`.
 *
 * The scan goes over strings by native search and parses nothing.
 */
export function readTopLevel(body: Buffer): DuplicateKey | TopLevel {
  const seen = new Set<string>();
  const places = new TopLevelPlaces();
  const scan = new TopLevelScan(body);
  while (scan.next()) {
    const field = fieldAt(body, scan);
    const name = field ?? scan.key;
    const key = field ?? folded(name);
    if (seen.has(key)) return { key: key.slice(0, KEY_SHOWN_MAX), within: null };
    seen.add(key);
    places.see(name, scan);
    if (DATA_FIELDS.has(name)) continue;
    const inside = duplicateIn(body, scan.valueStart, scan.valueEnd);
    if (inside !== null) return { key: inside, within: key.slice(0, KEY_SHOWN_MAX) };
  }
  return places.of(scan);
}

const KEY_SHOWN_MAX = 64;
const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const CLOSE_ARRAY = 0x5d;

/** Both ways, because some letters meet in one case alone, such as s and the long s. */
const folded = (key: string): string => key.toUpperCase().toLowerCase();

/** The key on top where it is a field that we know, and is folded already: of most requests no text is made of any key. */
function fieldAt(body: Buffer, { keyStart, keyEnd }: TopLevelScan): string | null {
  const [from, to] = [keyStart + 1, keyEnd - 1];
  const hash = to - from > FIELD_LENGTH_MAX ? null : hashOfPlain(body, from, to);
  const field = hash === null ? undefined : FIELDS_BY_HASH.get(hash);
  return field !== undefined && isNameAt(field, body, from, to) ? field : null;
}

/** A name that is looked for. */
interface WatchedName {
  readonly name: string;
  /** Of what one object was seen to have; 0 where it may stand twice. */
  readonly bit: number;
  readonly isData: boolean;
}

const WATCHED: ReadonlyMap<string, WatchedName> = new Map(
  [...new Set([...DECIDING_FIELDS, ...DATA_FIELDS])].map((name) => {
    const index = DECIDING_FIELDS.indexOf(name);
    return [name, { name, bit: index === -1 ? 0 : 1 << index, isData: DATA_FIELDS.has(name) }];
  }),
);
assert(DECIDING_FIELDS.length < 31, 'what an object has fits a number without its sign');
const ARRAY = -1;
/** By depth: the bits of an object, or ARRAY. Used by one scan after the other. */
const levels = new Int32Array(LIMITS.requestDepthMax + 1);

/** Goes over the keys in a value. */
function duplicateIn(body: Buffer, from: number, to: number): string | null {
  if (!isOpening(body[from])) return null;
  let depth = -1;
  let isKey = false;
  for (let at = from; at < to; ) {
    const byte = body[at];
    if (byte === QUOTE) {
      const end = skipString(body, at);
      if (!isKey) {
        at = end;
        continue;
      }
      isKey = false;
      const found = watchedIn(body, at, end);
      at = end;
      if (found === undefined) continue;
      const seen = levels[depth] ?? 0;
      if ((seen & found.bit) !== 0) return found.name;
      levels[depth] = seen | found.bit;
      if (found.isData) at = pastValue(body, end);
      continue;
    }
    at++;
    if (isOpening(byte)) {
      depth++;
      isKey = byte === OPEN_OBJECT;
      levels[depth] = isKey ? 0 : ARRAY;
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      depth--;
      isKey = false;
    } else if (byte === COMMA) isKey = levels[depth] !== ARRAY;
  }
  return null;
}

const NAME_LENGTH_MAX = Math.max(...[...WATCHED.keys()].map((name) => name.length));
/** No name that is looked for has more bytes, be all its letters escaped. */
const KEY_BYTES_MAX = '""'.length + '\\u0000'.length * NAME_LENGTH_MAX;

/** The name that a key is, as it is compared; what only folds to a name of data is none of data. */
function watchedIn(body: Buffer, open: number, end: number): WatchedName | undefined {
  const hash = end - open - 2 > NAME_LENGTH_MAX ? null : hashOfPlain(body, open + 1, end - 1);
  if (hash !== null) {
    const watched = BY_HASH.get(hash);
    return watched !== undefined && isNameAt(watched.name, body, open + 1, end - 1) ? watched : undefined;
  }
  if (end - open > KEY_BYTES_MAX) return undefined;
  const text = body.toString('utf8', open + 1, end - 1);
  const key = text.includes('\\') ? String(JSON.parse(`"${text}"`)) : text;
  const watched = WATCHED.get(folded(key));
  return watched?.isData === true && key !== watched.name ? { ...watched, isData: false } : watched;
}

/** Of a key that is folded already, as nearly all are; null of any other. By hand: native calls cost more for few bytes. */
function hashOfPlain(body: Buffer, from: number, to: number): number | null {
  let hash = to - from;
  for (let at = from; at < to; at++) {
    const byte = body[at] ?? 0;
    if (IS_PLAIN[byte] === 0) return null;
    hash = (Math.imul(hash, 31) + byte) | 0;
  }
  return hash;
}

const IS_PLAIN = new Uint8Array(256);
for (const byte of Buffer.from('abcdefghijklmnopqrstuvwxyz0123456789_')) IS_PLAIN[byte] = 1;

/** @throws AssertionError where two names, which are plain, have one hash */
function byHash<T>(named: ReadonlyMap<string, T>): ReadonlyMap<number, T> {
  const hashed = new Map<number, T>();
  for (const [name, one] of named) hashed.set(hashOfPlain(Buffer.from(name), 0, name.length) ?? 0, one);
  assert(hashed.size === named.size, 'each name has a hash of its own');
  return hashed;
}

const BY_HASH = byHash(WATCHED);
const FIELDS = Object.keys(messageRequestSchema.shape);
const FIELDS_BY_HASH = byHash(new Map(FIELDS.map((name) => [name, name])));
const FIELD_LENGTH_MAX = Math.max(...FIELDS.map((name) => name.length));

function isNameAt(name: string, body: Buffer, from: number, to: number): boolean {
  if (to - from !== name.length) return false;
  for (let at = 0; at < name.length; at++) if (body[from + at] !== name.charCodeAt(at)) return false;
  return true;
}

/** The place after the value of a key that ends here. */
const pastValue = (body: Buffer, keyEnd: number): number =>
  skipValue(body, skipSpace(body, skipSpace(body, keyEnd) + 1));
