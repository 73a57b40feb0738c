import type { EventLog } from '../contracts/event-log.ts';
import type { LedgerEvent } from '../contracts/events.ts';
import type { ViewSource } from './view-source.ts';

export interface ProjectionsOptions {
  readonly log: EventLog;
  /** Where the events come from, where that is not the log itself. */
  readonly source?: ViewSource;
  /** The views' file; null for a reader that starts from nothing. */
  readonly path: string | null;
  /** False for a reader that leaves the file alone (a command beside a running gateway). */
  readonly persist: boolean;
  /**
   * The file was looked at, and its views are brought beside others that serve, whose turns they leave them: it has to have
   * some. They are not live before everything in it was looked at once.
   */
  readonly isBeside?: boolean;
  /** Wall-clock milliseconds since 1970, the same that `ageMs` is asked with; Date.now by default. */
  readonly clock?: () => number;
  /** The views' file cannot be read, and all is read from the source; where it is written to, it was set aside, and where. */
  readonly onDamaged?: (why: string, aside: string | null) => void;
  /** The file cannot be written for the moment (a full disk, no descriptor): told once, until `onWrittenAgain`. */
  readonly onUnwritten?: (error: Error) => void;
  readonly onWrittenAgain?: () => void;
  /** Each event that says which ledger this is: no view holds it. */
  readonly onLedgerEvent?: (event: LedgerEvent) => void;
}
