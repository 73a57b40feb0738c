/** Of a stream of events (HTML Living Standard, 9.2). */
export const EVENT_STREAM_MEDIA_TYPE = 'text/event-stream';

/** The content type of every answer of our own. */
export const JSON_TYPE = 'application/json; charset=utf-8';
export const EVENT_STREAM_TYPE = `${EVENT_STREAM_MEDIA_TYPE}; charset=utf-8`;

/** Of a content type, without its parameters, in small letters: media types have no case (RFC 9110, 8.3.1). '' where there is none; of a type that was sent twice the first. */
export const mediaTypeOf = (contentType: string): string =>
  (contentType.toLowerCase().split(/[;,]/, 1)[0] ?? '').trim();
