import { EVENT_STREAM_MEDIA_TYPE, mediaTypeOf } from '../../contracts/media-types.ts';
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
 * Whether it is a stream of events where one was asked for, and none where none was: SDKs read nothing else. An answer without a
 * type is what was asked for; of another that is none the body says whether it is a Message.
 */
function isAsAsked(contentType: string, asksForStream: boolean): boolean {
  const type = mediaTypeOf(contentType);
  return type === '' || (type === EVENT_STREAM_MEDIA_TYPE) === asksForStream;
}
