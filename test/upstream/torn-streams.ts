import { text } from './content.ts';
import { comment, streamEvents } from './stream-events.ts';

const form = { tokens: { input: 1_000, output: 40 }, blocks: [text('one ', 'Grüße 漢字 👩‍💻')] };

/** Its delta with the characters of several bytes, and all before that. */
function partsOf(lineEnd: '\n' | '\r\n'): { readonly before: Buffer; readonly delta: Buffer } {
  const events = streamEvents(form, { lineEnd });
  const at = events.findIndex((event) => event.includes('漢'));
  return { before: Buffer.concat(events.slice(0, at)), delta: events[at] ?? Buffer.alloc(0) };
}

const { before, delta } = partsOf('\n');
const crlf = partsOf('\r\n');
const upTo = (bytes: Buffer, part: string, more = 0): Buffer => bytes.subarray(0, bytes.indexOf(part) + more);

/** A stream that its provider has broken off, at each kind of place where it may be torn. */
export const TORN_STREAMS: ReadonlyMap<string, Buffer> = new Map([
  ['before its first byte', Buffer.alloc(0)],
  ['between two events', before],
  ['in the name of a field', Buffer.concat([before, delta.subarray(0, 3)])],
  ['in the name of an event', Buffer.concat([before, upTo(delta, 'block_delta')])],
  ['behind the name of an event', Buffer.concat([before, upTo(delta, '\ndata')])],
  ['behind the line of its name', Buffer.concat([before, upTo(delta, 'data')])],
  ['in its data', Buffer.concat([before, upTo(delta, '漢')])],
  ['in a character of two bytes', Buffer.concat([before, upTo(delta, 'ü', 1)])],
  ['in a character of three bytes', Buffer.concat([before, upTo(delta, '漢', 1)])],
  ['at the end of a character of three bytes', Buffer.concat([before, upTo(delta, '漢', 2)])],
  ['in a character of four bytes', Buffer.concat([before, upTo(delta, '👩', 1)])],
  ['behind its data', Buffer.concat([before, delta.subarray(0, -2)])],
  ['behind the line of its data', Buffer.concat([before, delta.subarray(0, -1)])],
  ['in a comment', Buffer.concat([before, comment('a ping').subarray(0, 4)])],
  ['behind a comment', Buffer.concat([before, comment('a ping')])],
  ['between two events, with CRLF', crlf.before],
  ['in its data, with CRLF', Buffer.concat([crlf.before, upTo(crlf.delta, '漢')])],
  ['in the CRLF of its name', Buffer.concat([crlf.before, upTo(crlf.delta, '\r', 1)])],
  ['in the CRLF of its data', Buffer.concat([crlf.before, crlf.delta.subarray(0, -3)])],
  ['behind the CRLF of its data', Buffer.concat([crlf.before, crlf.delta.subarray(0, -2)])],
  ['in the CRLF of its blank line', Buffer.concat([crlf.before, crlf.delta.subarray(0, -1)])],
]);
