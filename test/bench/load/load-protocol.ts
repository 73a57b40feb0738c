/** What the benchmark tells its load generator over IPC, and hears from it. */
export interface Load {
  readonly port: number;
  /** Whole requests with their heads; connection i sends number i modulo their count, again and again. */
  readonly requests: readonly string[];
  readonly connections: number;
  /** Events of each answer; 0 for a JSON answer. */
  readonly eventsPerAnswer: number;
  /** Whether events count as they come (long streams) or with their answer's end. */
  readonly countsEventsAsTheyCome: boolean;
  /** Requests a second, spread evenly; null for as many as the connections can carry. */
  readonly requestsPerS: number | null;
  /** The connections begin spread over this time; at once where it is left out. */
  readonly spreadMs?: number;
  /** Whether the events say when they were sent (stamps.ts), and are to be timed by that. */
  readonly readsStamps?: boolean;
}

export type LoadCommand =
  | { readonly type: 'start'; readonly load: Load }
  /** Starts a window: the counters begin at 0. */
  | { readonly type: 'mark' }
  /** Ends the window: the counters come back. */
  | { readonly type: 'read' }
  /** Ends the load and closes its connections. */
  | { readonly type: 'stop' };

export interface Window {
  readonly seconds: number;
  readonly requests: number;
  readonly events: number;
  /** From the request's write to the answer's last byte, in microseconds. */
  readonly answer: { readonly p50Us: number; readonly p99Us: number };
  /** From the request's write to the body's first byte. */
  readonly firstByte: { readonly p50Us: number; readonly p99Us: number };
  /** From an event's write by the upstream; NaN where that was not to be read. */
  readonly delay: { readonly p50Us: number; readonly p99Us: number };
}

export type LoadReply =
  | { readonly type: 'done' }
  | { readonly type: 'window'; readonly window: Window }
  | { readonly type: 'failed'; readonly reason: string };
