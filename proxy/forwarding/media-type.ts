/** Media types have no case (RFC 9110, 8.3.1). An answer without one is what was asked for. */
export function isEventStream(contentType: string, asksForStream: boolean): boolean {
  const [type = ''] = contentType.toLowerCase().split(';', 1);
  return type.trim() === '' ? asksForStream : type.trim() === 'text/event-stream';
}
