import type { RecordedEvent } from '../../contracts/event-log.ts';
import { isObject, jsonOf } from '../../contracts/json-object.ts';
import type { Fault } from './fault.ts';

const FIRST_WORDS = 1 << 12;

/**
 * What must stand once in a whole ledger (ids of events, requests, secrets of keys, payments), kept as 64 bits of each: some eight
 * bytes an event, whoever has read which part. Two that have the same are only suspected; who looks again says which (`Repeats`).
 */
export class Prints {
  #words = new Uint32Array(FIRST_WORDS);
  #length = 0;

  add(text: string): void {
    if (this.#length === this.#words.length) {
      const larger = new Uint32Array(2 * this.#words.length);
      larger.set(this.#words);
      this.#words = larger;
    }
    const [low, high] = wordsOf(text);
    this.#words[this.#length++] = low;
    this.#words[this.#length++] = high;
  }

  all(): BigUint64Array<ArrayBuffer> {
    return new BigUint64Array(this.#words.buffer.slice(0, this.#length * Uint32Array.BYTES_PER_ELEMENT));
  }
}

/** Those that stand more than once in any of the parts, or in two of them. */
export function repeatedPrints(parts: readonly BigUint64Array[]): ReadonlySet<bigint> {
  const all = new BigUint64Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  all.sort();
  const repeated = new Set<bigint>();
  for (let index = 1; index < all.length; index++) {
    const print = all[index];
    if (print !== undefined && print === all[index - 1]) repeated.add(print);
  }
  return repeated;
}

/** A second look at a ledger in which prints stand twice: tells of each event that has an id, or something else, which another had before. */
export class Repeats {
  readonly #prints: ReadonlySet<bigint>;
  readonly #onFault: (fault: Fault) => void;
  readonly #places = new Map<string, string>();

  constructor(prints: ReadonlySet<bigint>, onFault: (fault: Fault) => void) {
    this.#prints = prints;
    this.#onFault = onFault;
  }

  take(event: RecordedEvent): void {
    this.#look(event, 'event id', event.id);
    // That it cannot be read is told already.
    const stored = jsonOf(event.data);
    if (!isObject(stored)) return;
    for (const [what, text] of onceOnlyIn(event.type, stored)) this.#look(event, what, text);
  }

  /** Each is told as it is met. */
  end(): void {}

  #look({ stream, revision }: RecordedEvent, what: string, text: string): void {
    if (!this.#prints.has(printOf(text))) return;
    const before = this.#places.get(text);
    const place = `${stream} ${revision}`;
    if (before === undefined) this.#places.set(text, place);
    else
      this.#onFault({
        stream,
        revision,
        what: `${what} ${text} stands twice, first at`,
        found: before,
        expected: null,
      });
  }
}

/** What no other event of a ledger may have, whichever account's it is, by the data of one: its name for people, and itself. */
export function onceOnlyIn(
  type: string,
  data: Readonly<Record<string, unknown>>,
): readonly (readonly [string, string])[] {
  switch (type) {
    case 'UsageRecorded':
      return [['request', String(data.requestId)]];
    case 'ApiKeyIssued':
    case 'ApiKeyRotated':
      return [['the secret of a key, by its SHA-256', String(data.sha256)]];
    case 'PaymentSucceeded':
      return [['payment', `${data.provider} ${data.paymentId}`]];
    default:
      return [];
  }
}

function printOf(text: string): bigint {
  const [low, high] = wordsOf(text);
  return new BigUint64Array(Uint32Array.of(low, high).buffer)[0] ?? 0n;
}

/** Two multiplicative hashes of the characters, stirred at the end (as in MurmurHash3). */
function wordsOf(text: string): [low: number, high: number] {
  let low = 0x811c9dc5;
  let high = 0x9747b28c;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    low = Math.imul(low ^ code, 0x01000193);
    high = Math.imul(high ^ code, 0x5bd1e995);
    high ^= high >>> 15;
  }
  return [stirred(low ^ Math.imul(high, 0x85ebca6b)), stirred(high ^ Math.imul(low, 0xc2b2ae35))];
}

function stirred(word: number): number {
  let stirring = word ^ (word >>> 16);
  stirring = Math.imul(stirring, 0x85ebca6b);
  stirring ^= stirring >>> 13;
  stirring = Math.imul(stirring, 0xc2b2ae35);
  return (stirring ^ (stirring >>> 16)) >>> 0;
}
