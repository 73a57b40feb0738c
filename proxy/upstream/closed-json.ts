import type { ShapeBounds } from '../request-body/json-scan.ts';

/**
 * The beginning of a JSON text, closed so that it can be read: an open string, arrays and objects end where the text
 * does, or where it exceeds a bound. A name without its whole value is left out, and so is a number or a word at the
 * end, of which more may have been to come. Empty where the text begins no array or object.
 */
export function closedJson(text: string, { depthMax, valuesMax }: ShapeBounds): string {
  const closers: string[] = [];
  let values = 0;
  /** What stands before it can be closed as it is. */
  let safe = 0;
  let isName = false;
  for (let at = 0; at < text.length; at++) {
    const sign = text[at];
    if (sign === '{' || sign === '[') {
      if (closers.length >= depthMax || ++values > valuesMax) break;
      closers.push(sign === '{' ? '}' : ']');
      isName = sign === '{';
      safe = at + 1;
    } else if (sign === '}' || sign === ']') {
      closers.pop();
      safe = at + 1;
    } else if (sign === ',') {
      isName = closers.at(-1) === '}';
      if (safe < at) safe = at;
      if (++values > valuesMax) break;
    } else if (sign === ':') isName = false;
    else if (sign === '"') {
      const end = endOfString(text, at + 1);
      const isOpen = text[end] !== '"';
      if (isOpen && !isName) return `${text.slice(0, end)}"${endOf(closers)}`;
      if (isOpen) break;
      at = end;
      if (!isName) safe = at + 1;
    }
  }
  return text.slice(0, safe) + endOf(closers);
}

/** Where the closing quote of a string stands; of an open one, where its last whole character ends. */
function endOfString(text: string, from: number): number {
  let at = from;
  while (at < text.length && text[at] !== '"') {
    const length = text[at] !== '\\' ? 1 : text[at + 1] === 'u' ? UNICODE_ESCAPE_LENGTH : SHORT_ESCAPE_LENGTH;
    if (at + length > text.length) return at;
    at += length;
  }
  return at;
}

const UNICODE_ESCAPE_LENGTH = '\\u0000'.length;
const SHORT_ESCAPE_LENGTH = '\\n'.length;

const endOf = (closers: readonly string[]): string => closers.toReversed().join('');
