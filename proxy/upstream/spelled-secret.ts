import { ANY_SIGN, allReadings } from './escape-readings.ts';

/**
 * Whether a secret is spelled in a text. Its letters and digits alone are compared, without case: what a writer makes of
 * other characters (names, escapes, nothing) and what it puts between is not asked. Where something may be an escape it is
 * looked at both with it undone and with it left, each for itself, in every nesting.
 */
export class SpelledSecret {
  readonly #compared: RegExp;
  /** Of each character the places that it has in the secret, as bits. */
  readonly #places = new Map<string, bigint>();
  readonly #whole: bigint;

  constructor(secret: string) {
    const seen = secret.replace(/[^!-[\]-~]/g, '').toLowerCase();
    const letters = seen.replace(/[^a-z\d]/g, '');
    const isOfLetters = letters.length >= CHARACTERS_MIN;
    const compared = isOfLetters ? letters : seen;
    this.#compared = isOfLetters ? LETTER : SEEN;
    for (const [place, character] of [...compared].entries()) {
      this.#add(character, place);
      if (!LETTER.test(character)) this.#add(ANY_SIGN, place);
    }
    this.#whole = compared.length < CHARACTERS_MIN ? 0n : 1n << BigInt(compared.length);
  }

  isIn(text: string): boolean {
    if (this.#whole === 0n || !MAY_SPELL.test(text)) return false;
    const readings = allReadings(text);
    if (readings === null) return true;
    // For each place of the text, as bits, how many characters of the secret may end there (shift-and). None always may.
    const reached = Array.from({ length: readings.length + 1 }, () => 1n);
    for (const [at, ways] of readings.entries())
      for (const { characters, end } of ways) {
        const ending = (reached[end] ?? 1n) | this.#after(reached[at] ?? 1n, characters);
        if (ending >= this.#whole) return true;
        reached[end] = ending;
      }
    return false;
  }

  #after(reached: bigint, characters: string): bigint {
    if (!this.#compared.test(characters)) return reached;
    let ending = reached;
    for (const character of characters) ending = (ending & (this.#places.get(character) ?? 0n)) << 1n;
    return ending;
  }

  #add(character: string, place: number): void {
    this.#places.set(character, (this.#places.get(character) ?? 0n) | (1n << BigInt(place)));
  }
}

/** Fewer would be found in other words: of a secret with fewer letters and digits, signs are compared as well. */
const CHARACTERS_MIN = 8;
const LETTER = /[a-z\d]/;
/** JSON writes a backslash before some. */
const SEEN = /[^ \\]/;
/**
 * What begins an escape, which may be the beginning of another; and what is no printable ASCII, which parts what a reader
 * sees as one. Most words have neither. Spaces, dashes and the like spell nothing: a secret in pieces between them is not
 * looked for where there is nothing else.
 */
const MAY_SPELL = /[^ -~]|\\|[%=][\da-f\\%&=]|%u|&[#a-z\d\\%&=]/i;
