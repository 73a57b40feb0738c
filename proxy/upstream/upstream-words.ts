import { readable } from '../../contracts/printable.ts';

/**
 * What a provider has said, made fit for an event, a log line, a header or an error message: without the
 * credential that it was called with, which some echo, of a bounded length, and in printable ASCII, so that no terminal
 * obeys it. The bytes of an answer with status 200 are not words: they pass as they are.
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
    return this.#redacted(beginning)
      .slice(0, charsMax)
      .replace(/[\t\n\v\f\r]/g, ' ')
      .replace(NOT_PRINTABLE, '?');
  }

  /** What a caller is to read, in any script: without control and format characters. */
  sentence(text: string, charsMax: number): string {
    return readable(this.#redacted(text).replace(/\s+/g, ' ').slice(0, charsMax).toWellFormed());
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
