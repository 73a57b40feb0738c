/** One event of a stream, as the WHATWG event stream algorithm reads it. */
export interface StreamEvent {
  /** Of the last `event` field; empty where there is none. */
  readonly name: string;
  /** The `data` fields, joined with line feeds. */
  readonly data: string;
}

/**
 * Reads the text of one event, whose lines end in LF and which holds no byte order mark. Null where it has no data:
 * such an event is not dispatched. Comments, `id`, `retry` and unknown fields say nothing here.
 */
export function readStreamEvent(text: string): StreamEvent | null {
  let name = '';
  let data: string | null = null;
  for (const line of text.split('\n')) {
    const colon = line.indexOf(':');
    const field = colon === -1 ? line : line.slice(0, colon);
    if (field === 'event') name = fieldValue(line, colon);
    else if (field === 'data') data = data === null ? fieldValue(line, colon) : `${data}\n${fieldValue(line, colon)}`;
  }
  return data === null ? null : { name, data };
}

function fieldValue(line: string, colon: number): string {
  if (colon === -1) return '';
  return line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
}
