/** The content type of every answer of our own. */
export const JSON_TYPE = 'application/json; charset=utf-8';
/** Of a stream of events (HTML Living Standard, 9.2). */
export const EVENT_STREAM_TYPE = 'text/event-stream; charset=utf-8';
