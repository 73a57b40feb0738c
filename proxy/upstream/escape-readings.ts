/** What may be read at a place of a text, and where the text goes on behind it. */
export interface Reading {
  /** In lower case; a space for what is neither a letter nor a sign, ANY_SIGN for a sign by its name. */
  readonly characters: string;
  readonly end: number;
}

/** Stands for each sign: which of HTML's names is which is not asked, but for those below. */
export const ANY_SIGN = '\0';

/**
 * At each place of a text, without what is no printable ASCII, all that may be read there: its character as it is, and what
 * each escape that may begin there stands for; the characters of an escape may be spelled with others. Null for a text with
 * more ways to read it than are looked at, as only one that is made for it has.
 */
export function allReadings(text: string): readonly (readonly Reading[])[] | null {
  const plain = text.replace(/[^ -~]+/g, '').toLowerCase();
  const escapes = new EscapesFromTheEnd(plain.length);
  for (let at = plain.length - 1; at >= 0; at--) if (!escapes.readAt(at, plain.charAt(at))) return null;
  return escapes.readings;
}

/** How an escape is written: `begins`, digits, `ends`. What it stands for, where no digits say it. */
interface Form {
  readonly begins: string;
  readonly base: number;
  readonly digitsMin: number;
  readonly digitsMax: number;
  readonly ends: readonly string[];
  readonly characters?: string;
}

const form = (begins: string, base: number, digits: [number, number], ends = ['']): Form => ({
  begins,
  base,
  digitsMin: digits[0],
  digitsMax: digits[1],
  ends,
});

/** Of programs, JSON, CSS, URLs, quoted-printable, HTML. In lower case, as what they are looked for in. */
const FORMS: readonly Form[] = [
  form('\\u', 16, [4, 4]),
  form('\\u', 16, [8, 8]),
  form('\\u{', 16, [1, Infinity], ['}']),
  form('\\x', 16, [1, 2]),
  form('\\x{', 16, [1, Infinity], ['}']),
  form('\\', 8, [1, 3]),
  // In CSS a blank behind it belongs to it.
  form('\\', 16, [1, 6], ['', ' ']),
  // A line's end, and what else has a letter of its own.
  { ...form('\\', 36, [1, 1]), characters: ' ' },
  form('%', 16, [2, 2]),
  form('%u', 16, [4, 4]),
  form('=', 16, [2, 2]),
  form('&#', 10, [1, Infinity], ['', ';']),
  form('&#x', 16, [1, Infinity], ['', ';']),
  { ...form('&', 36, [2, 31], [';']), characters: ANY_SIGN },
  // Of HTML's names one alone has letters in what it stands for, and these are of signs that escapes are made of.
  ...Object.entries({
    fjlig: 'fj',
    amp: '&',
    percnt: '%',
    equals: '=',
    bsol: '\\',
    num: '#',
    semi: ';',
    lcub: '{',
    lbrace: '{',
    rcub: '}',
    rbrace: '}',
  }).map(([name, characters]) => ({ ...form(`&${name}`, 36, [0, 0], [';']), characters })),
];
const FORMS_OF = new Map(['\\', '%', '=', '&'].map((sign) => [sign, FORMS.filter(({ begins }) => begins[0] === sign)]));

/** One way through an escape: what its digits have come to, and where it goes on. */
interface Way {
  readonly value: number;
  readonly at: number;
}

const LOOKS_A_CHARACTER_MAX = 32;
const PAST_ASCII = 0x7f;

/** From the end, so that what begins later, which may be a part of an escape, is known. */
class EscapesFromTheEnd {
  readonly readings: Reading[][];
  #looksLeft: number;

  constructor(length: number) {
    this.readings = Array.from({ length }, () => []);
    this.#looksLeft = length * LOOKS_A_CHARACTER_MAX;
  }

  /** @returns false where there are too many ways */
  readAt(at: number, character: string): boolean {
    const ways: Reading[] = [{ characters: character, end: at + 1 }];
    this.readings[at] = ways;
    if (!FORMS_OF.has(character)) return true;
    const known = new Set<string>();
    // What is undone may begin an escape in its turn: the list grows.
    for (const { characters, end } of ways)
      for (const one of FORMS_OF.get(characters) ?? [])
        for (const reading of this.#undone(one, end)) {
          const key = `${reading.characters}${reading.end}`;
          if (!known.has(key)) ways.push(reading);
          known.add(key);
        }
    return this.#looksLeft > 0;
  }

  #undone({ begins, base, digitsMin, digitsMax, ends, characters }: Form, begun: number): Reading[] {
    const undone: Reading[] = [];
    let ways: Way[] = [{ value: 0, at: begun }];
    for (const sign of begins.slice(1)) ways = this.#past(sign, ways);
    for (let digits = 0; digits <= digitsMax && ways.length > 0; digits++) {
      if (digits > 0) ways = this.#pastDigit(base, ways);
      if (digits < digitsMin) continue;
      for (const end of ends)
        for (const { value, at } of end === '' ? ways : this.#past(end, ways))
          undone.push({ characters: characters ?? characterOf(value), end: at });
    }
    return undone;
  }

  #past(sign: string, ways: readonly Way[]): Way[] {
    const past: Way[] = [];
    for (const { value, at } of ways)
      for (const { characters, end } of this.#readingsAt(at)) if (characters === sign) past.push({ value, at: end });
    return past;
  }

  #pastDigit(base: number, ways: readonly Way[]): Way[] {
    const past = new Map<number, Way>();
    for (const { value, at } of ways)
      for (const { characters, end } of this.#readingsAt(at)) {
        const digit = characters.length === 1 ? Number.parseInt(characters, base) : Number.NaN;
        if (Number.isNaN(digit)) continue;
        const longer = Math.min(value * base + digit, PAST_ASCII);
        past.set(end * (PAST_ASCII + 1) + longer, { value: longer, at: end });
      }
    return [...past.values()];
  }

  #readingsAt(at: number): readonly Reading[] {
    const readings = this.#looksLeft > 0 ? (this.readings[at] ?? []) : [];
    this.#looksLeft -= Math.max(1, readings.length);
    return readings;
  }
}

const characterOf = (value: number): string =>
  value > 0x20 && value < PAST_ASCII ? String.fromCharCode(value).toLowerCase() : ' ';
