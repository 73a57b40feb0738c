/** One server-sent event, line by line, as the WHATWG algorithm reads it. */
export class SseEvent {
  /** Of the last `event` field; empty where there is none. */
  name = '';
  /** `data` fields, joined with line feeds; null where there is none. */
  data: string | null = null;

  get isEmpty(): boolean {
    return this.name === '' && this.data === null;
  }

  addLine(line: string): void {
    // A byte order mark can only stand at the very start of a stream, and no field begins with one.
    const text = line.charCodeAt(0) === 0xfeff ? line.slice(1) : line;
    const colon = text.indexOf(':');
    if (colon === 0) return;
    const field = colon === -1 ? text : text.slice(0, colon);
    if (field === 'event') this.name = fieldValue(text, colon);
    else if (field === 'data') {
      const value = fieldValue(text, colon);
      this.data = this.data === null ? value : `${this.data}\n${value}`;
    }
  }
}

function fieldValue(line: string, colon: number): string {
  if (colon === -1) return '';
  return line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
}
