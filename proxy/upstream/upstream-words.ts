import { readable } from '../../contracts/printable.ts';
import { SpelledSecret } from './spelled-secret.ts';

/**
 * What a provider has said, made fit for an event, a log line, a header or an error message: without the
 * credential that it was called with, which some echo, of a bounded length, and in printable ASCII, so that no terminal
 * obeys it. Of words that spell it with escapes none are told: what of them is the credential is not asked. The bytes of an
 * answer with status 200 are not words: they pass as they are.
 */
export class UpstreamWords {
  readonly #secret: RegExp | null;
  readonly #spelled: SpelledSecret;
  readonly #secretCharsMax: number;

  /** @param given what the provider is called with; empty where it is called with none */
  constructor(given: string) {
    const key = given.length < SECRET_CHARS_MIN ? '' : given;
    // As it is sent, and as JSON may spell it; a name of a use comes in any case.
    const spelled = [key, JSON.stringify(key).slice(1, -1), key.replaceAll('/', '\\/')];
    const forms = key === '' ? [] : [...new Set(spelled)].map((form) => `(?:bearer )?${RegExp.escape(form)}`);
    this.#secret = key === '' ? null : new RegExp(forms.join('|'), 'gi');
    this.#spelled = new SpelledSecret(key);
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
    // A line's end is kept until it is looked at: what it parts is not parted for a reader.
    const lines = this.#redacted(text).replace(/\s{2,}|[^\S ]/g, '\n');
    return readable(this.#told(lines, charsMax).replaceAll('\n', ' ').toWellFormed());
  }

  /** What is cut off is looked through as far as a credential goes on in it. */
  #told(redacted: string, charsMax: number): string {
    const looked = redacted.slice(0, charsMax + this.#secretCharsMax * SPELLED_CHARS_MAX);
    return (this.#spelled.isIn(looked) ? REDACTED : redacted).slice(0, charsMax);
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
/** How many stand for a character, also where one escape is in another. */
const SPELLED_CHARS_MAX = 32;
