import { isEncoded, type UpstreamHeaders } from '../upstream/upstream.ts';

/** By what a head with status 200 says that its answer cannot be read; null where it may be. */
export function unreadableBy(
  headers: UpstreamHeaders,
  asksForStream: boolean,
): { readonly [name: string]: string | null } | null {
  const { contentEncoding, contentType } = headers;
  // Only what can be read can be metered; it was asked for unencoded.
  if (isEncoded(headers)) return { contentEncoding };
  return isAsAsked(contentType, asksForStream) ? null : { contentType };
}

/**
 * Whether it is a stream of events where one was asked for, and none where none was: SDKs read nothing else. Media types have
 * no case (RFC 9110, 8.3.1). An answer without one is what was asked for.
 */
function isAsAsked(contentType: string, asksForStream: boolean): boolean {
  const [beforeParameters = ''] = contentType.toLowerCase().split(';', 1);
  const type = beforeParameters.trim();
  return type === '' || (type === 'text/event-stream') === asksForStream;
}
