import assert from 'node:assert/strict';

/** The events that say something about usage or about the stream's end. */
export const USAGE_EVENTS = ['message_start', 'message_delta', 'message_stop', 'error'] as const;
export type UsageEvent = (typeof USAGE_EVENTS)[number];

export const isUsageEvent = (name: unknown): name is UsageEvent => USAGE_EVENTS.some((known) => known === name);

export interface EventRange {
  readonly from: number;
  /** Exclusive; after the event's blank line. */
  readonly to: number;
}

/**
 * Calls back with the place of each event that may be a usage event, in order. The bytes are whole events: from the
 * start of one to the blank line after one; lines end in LF.
 *
 * Events are neither split into lines nor parsed. One regular expression finds the few words that a usage event has in
 * its `event` field or as a JSON string, and a look at the bytes before tells them from the same words in a model's
 * text: there a quote has a backslash before it, and a line feed is an escape. As one pass over a Latin-1 string, in
 * which a character is a byte, this takes a quarter of the time of a native search for each word. An event without a
 * name whose `type` is spelled with escapes would be missed; no JSON writer escapes letters.
 */
export function findUsageEvents(bytes: Buffer, found: (bytes: Buffer, event: EventRange) => void): void {
  const text = bytes.toString('latin1');
  WORD.lastIndex = 0;
  while (WORD.test(text)) {
    const after = WORD.lastIndex;
    const isError = text.charCodeAt(after - 1) < LETTERS_FROM;
    const at = after - (isError ? ERROR_WORD_LENGTH : MESSAGE_WORD_LENGTH);
    if (!isValueStart(text, at)) continue;
    const before = text.lastIndexOf(BLANK_LINE, at);
    const start = before === -1 ? 0 : before + BLANK_LINE.length;
    const end = text.indexOf(BLANK_LINE, at);
    assert(end !== -1, 'what is searched ends with a blank line');
    found(bytes, { from: start, to: end + BLANK_LINE.length });
    WORD.lastIndex = end;
  }
}

/**
 * The kind of an overlong event by its beginning, without parsing it: by its `event` field, or, where none has come yet,
 * by the first `type` in its data. Null where neither names a usage event.
 */
export function overlongUsageEvent(beginning: Buffer): UsageEvent | null {
  const text = beginning.toString('latin1');
  const name = NAME_LINE.exec(text)?.[1] ?? FIRST_TYPE.exec(text)?.[1];
  return isUsageEvent(name) ? name : null;
}

const BLANK_LINE = '\n\n';
/** `message_start`, `_stop` or `_delta`; `error` that ends a line or a JSON string. */
const WORD = /message_[sd]|error["\n]/g;
const MESSAGE_WORD_LENGTH = 'message_s'.length;
const ERROR_WORD_LENGTH = 'error"'.length;
const LETTERS_FROM = 0x61;
const NAME_LINE = /(?:^|\n)event: ?([^\n]*)\n/;
const FIRST_TYPE = /"type"\s*:\s*"([^"]*)"/;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;
const COLON = 0x3a;
const LF = 0x0a;

/** Whether a word begins a JSON string or the value of an `event` field. */
function isValueStart(text: string, at: number): boolean {
  const before = text.charCodeAt(at - 1);
  if (before === QUOTE) return text.charCodeAt(at - 2) !== BACKSLASH;
  if (before !== SPACE && before !== COLON) return false;
  const line = at - (before === SPACE ? 'event: ' : 'event:').length;
  return text.startsWith('event:', line) && (line === 0 || text.charCodeAt(line - 1) === LF);
}
