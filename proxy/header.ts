import type { IncomingHttpHeaders } from 'node:http';

/** A header that stands once; null where it is not sent. Sent several times, the values are joined with commas. */
export function headerOf(headers: IncomingHttpHeaders, name: string): string | null {
  const value = headers[name];
  return value === undefined ? null : Array.isArray(value) ? value.join(',') : value;
}
