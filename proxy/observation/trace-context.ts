import type { IncomingHttpHeaders } from 'node:http';

/** Which trace a request is part of, as its headers say it (W3C Trace Context). */
export interface TraceContext {
  readonly traceparent: string;
  readonly tracestate: string | null;
}

/** Version, trace, parent span and flags; a version after 00 may say more. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:$|-[\x21-\x7e]*$)/;
const VERSION_0 = '00-';
const VERSION_0_CHARS = 55;
const TRACEPARENT_CHARS_MAX = 200;
/** Whoever passes a `tracestate` on passes at least so much of it; of a longer one, nothing. */
const TRACESTATE_CHARS_MAX = 512;

/**
 * What the caller says of its trace, to be passed on as it came; null where it says nothing, or what cannot be. A
 * `tracestate` that is none, or too long, is left out by itself.
 */
export function traceContextOf({ traceparent, tracestate }: IncomingHttpHeaders): TraceContext | null {
  if (typeof traceparent !== 'string' || !isTraceparent(traceparent)) return null;
  const state = Array.isArray(tracestate) ? tracestate.join(',') : (tracestate ?? '');
  return { traceparent, tracestate: isTracestate(state) ? state : null };
}

function isTraceparent(text: string): boolean {
  if (text.length > TRACEPARENT_CHARS_MAX || !TRACEPARENT.test(text)) return false;
  return !text.startsWith(VERSION_0) || text.length === VERSION_0_CHARS;
}

const isTracestate = (text: string): boolean =>
  text !== '' && text.length <= TRACESTATE_CHARS_MAX && /^[\x20-\x7e\t]*$/.test(text);
