import type { Logger } from 'pino';
import type { Configuration } from '../contracts/configuration.ts';
import type { EventLog } from '../contracts/event-log.ts';
import type { AccessLogPlace } from './observation/access-log.ts';
import type { Tracing } from './observation/tracing.ts';

export interface GatewayOptions {
  readonly configuration: Configuration;
  readonly log: EventLog;
  readonly logger: Logger;
  /** Where a line of each request goes; absent is nowhere. */
  readonly accessLog?: AccessLogPlace;
  /** Where spans go; absent is nowhere. */
  readonly tracing?: Tracing;
  /** Wall clock, as the machine has it. */
  readonly clock: () => number;
  /** Milliseconds by a clock that nobody sets, against which the other is watched. */
  readonly monotonic: () => number;
  /** Milliseconds that the event loop was late on the average (loop-delay.ts). Absent: no load is shed. */
  readonly loopDelay?: () => number;
  /** Rebuilds the views in a process of its own, which has this gateway go over to them. Absent: nobody does it by himself. */
  readonly rebuildViews?: (signal: AbortSignal) => Promise<string>;
  /** Of the journal (ledger/journal/limits.ts). Absent is as much as there; a test has less, for each start writes it in full. */
  readonly reserveBytes?: number;
  /** Once the ledger has proved to be whole (ledger-watch/), before anything is read from it; whether nothing was in it. */
  readonly onLedgerWhole?: (ledger: { readonly isNew: boolean }) => Promise<void>;
  /**
   * Nothing is admitted any more, and that will not change by itself: a step of the start was in vain, the ledger cannot
   * be compared with what is known of it, or the views follow it no more (UnusableError); or the ledger has turned out to
   * lack what is known of it (LedgerLostError). Called once.
   */
  readonly onUnusable?: (error: Error) => void;
}
