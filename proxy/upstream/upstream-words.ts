import { readable } from '../../contracts/printable.ts';

/**
 * What a provider has said, made fit for an event, a log line, a header or an error message: without the
 * credential that it was called with, which some echo, of a bounded length, and in printable ASCII, so that no terminal
 * obeys it. Of words that spell it with escapes none are told: what of them is the credential is not asked. The bytes of an
 * answer with status 200 are not words: they pass as they are.
 */
export class UpstreamWords {
  readonly #secret: RegExp | null;
  readonly #secretCharsMax: number;

  /** @param given what the provider is called with; empty where it is called with none */
  constructor(given: string) {
    const key = given.length < SECRET_CHARS_MIN ? '' : given;
    // As it is sent, and as JSON may spell it; a name of a use comes in any case.
    const spelled = [key, JSON.stringify(key).slice(1, -1), key.replaceAll('/', '\\/')];
    const forms = key === '' ? [] : [...new Set(spelled)].map((form) => `(?:bearer )?${RegExp.escape(form)}`);
    this.#secret = key === '' ? null : new RegExp(forms.join('|'), 'gi');
    this.#secretCharsMax = Math.max(...spelled.map((form) => 'Bearer '.length + form.length));
  }

  /** One word or line, of so many characters at the most. */
  clean(text: string, charsMax: number): string {
    // A secret that is cut would not be known for one. Each that is replaced shortens the text, so what is looked through
    // is as long as comes to enough characters whatever is in it, and what its cut halves is past them.
    const beginning = text.slice(0, (charsMax + 1) * this.#secretCharsMax);
    return this.#told(this.#redacted(beginning), charsMax)
      .replace(/[\t\n\v\f\r]/g, ' ')
      .replace(NOT_PRINTABLE, '?');
  }

  /** What a caller is to read, in any script: without control and format characters. */
  sentence(text: string, charsMax: number): string {
    return readable(this.#told(this.#redacted(text).replace(/\s+/g, ' '), charsMax).toWellFormed());
  }

  /** What is cut off is looked through as far as a credential goes on in it. */
  #told(redacted: string, charsMax: number): string {
    const looked = redacted.slice(0, charsMax + this.#secretCharsMax * SPELLED_CHARS_MAX);
    return (this.#isSpelledIn(looked) ? REDACTED : redacted).slice(0, charsMax);
  }

  #isSpelledIn(text: string): boolean {
    if (this.#secret === null || !MAY_HIDE.test(text)) return false;
    let plain = text;
    for (let depth = 0; depth < SPELLED_DEPTH_MAX; depth++) {
      if (plain.replace(BETWEEN, '').search(this.#secret) >= 0) return true;
      const undone = plain.replace(SPELLED, characterOf);
      if (undone === plain) return false;
      plain = undone;
    }
    return true;
  }

  #redacted(text: string): string {
    return this.#secret === null ? text : text.replace(this.#secret, REDACTED);
  }
}

/** A shorter one (`x`, `none`, for a server that asks for any) guards nothing, and is part of words such as `text/event-stream`. */
const SECRET_CHARS_MIN = 8;

/** Of an upstream that is called with no credential. */
export const NO_SECRETS = new UpstreamWords('');

const REDACTED = '[redacted]';
const NOT_PRINTABLE = /[^\x20-\x7e]/g;

/** As of most words there is nothing in which it could be spelled otherwise, or stand in pieces. */
const MAY_HIDE = /[^!-$'-[\]-~]/;
/** How JSON, programs, URLs and HTML spell a character of a credential, which is printable ASCII, or one between two. */
const SPELLED =
  /[\\%]u([\da-f]{4})|(?:\\x|%)([2-7][\da-f])|&#(?:x0*([\da-f]{1,6})|0*(\d{1,7}));?|&(amp|lt|gt|quot|apos);|\\(.)/gi;
const NAMED: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };
/** What is spelled more often (JSON in JSON in HTML) is not asked for its meaning. */
const SPELLED_DEPTH_MAX = 8;
const SPELLED_CHARS_MAX = 16;
/** What a reader does not see or leaves out: the zeros of UTF-16, joiners, the ends of lines. */
const BETWEEN = /[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]/gu;

function characterOf(_: string, ...[json, byte, html, decimal, name, itself]: (string | undefined)[]): string {
  if (name !== undefined) return NAMED[name.toLowerCase()] ?? '';
  if (itself !== undefined) return 'bfnrt'.includes(itself) ? ' ' : itself;
  return String.fromCharCode(decimal === undefined ? Number.parseInt(json ?? byte ?? html ?? '', 16) : Number(decimal));
}
