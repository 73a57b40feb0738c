import type { IncomingHttpHeaders } from 'node:http';
import type { RequestSpans } from './observed-request.ts';

/** Where spans go. A port: what it is made of is loaded only where the configuration asks for it. */
export interface Tracing {
  /** Begins the span of a request, below its caller's own where the headers name that. */
  begin(headers: IncomingHttpHeaders): RequestSpans;
  /** Spans that were lost since the start: too many waited, or nobody took them. */
  readonly lost: number;
  /** Sends what waits, where it is taken in time. @throws Error where it is refused */
  close(): Promise<void>;
}
