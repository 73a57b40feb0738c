import type { EventLog } from '../contracts/event-log.ts';
import type { LedgerEvent } from '../contracts/events.ts';
import type { OnTaken } from './event-fold.ts';
import type { ParkedAccount } from './parked-accounts.ts';
import type { ViewSource } from './sources/view-source.ts';
import type { OlderViews } from './view-disk.ts';

/** Views that this program has just made, any or none, or those of an earlier version that it reads as they are. */
export type FileHas = 'made' | 'any' | OlderViews;

export interface ProjectionsOptions {
  readonly log: EventLog;
  /** Where the events come from, where that is not the log itself. */
  readonly source?: ViewSource;
  /** The views' file; null for a reader that starts from nothing. */
  readonly path: string | null;
  /** False for a reader that leaves the file alone (a command beside a running gateway). */
  readonly persist: boolean;
  /** The disk is left so much by what is written to the file, as though it were full then: it is for a gateway beside. */
  readonly keepFreeBytes?: number;
  /**
   * The file was looked at, and its views are brought beside others that serve, whose turns they leave them: it has to have
   * some. They are not live before everything in it was looked at once.
   */
  readonly isBeside?: boolean;
  /**
   * What has to be done before the file is read, while nobody is served; what is in it then. All rows that it leaves can be relied
   * on. It ends with the signal.
   */
  readonly prepare?: (signal: AbortSignal) => Promise<FileHas>;
  /** Accounts that an operator has parked. */
  readonly parked?: readonly ParkedAccount[];
  /** Wall-clock milliseconds since 1970, the same that `ageMs` is asked with; Date.now by default. */
  readonly clock?: () => number;
  /** The views' file cannot be read, and all is read from the source; where it is written to, it was set aside, and where. */
  readonly onDamaged?: (why: string, aside: string | null) => void;
  /** The file cannot be written for the moment (a full disk, no descriptor): told once, until `onWrittenAgain`. */
  readonly onUnwritten?: (error: Error) => void;
  readonly onWrittenAgain?: () => void;
  /** Each event that says which ledger this is: no view holds it. */
  readonly onLedgerEvent?: (event: LedgerEvent) => void;
  readonly onTaken?: OnTaken;
}

/** Told how the views fare, whichever turn of it comes, from what they have come to when they began to be followed. */
export interface ViewsFollower {
  /** The projections stand still from here on: an event could not be folded, or the views not be written. */
  readonly onStopped: (error: Error) => void;
  /** The views have caught up with their source, and follow it (again, where it was lost). */
  readonly onLive?: (again: { readonly wasLost: boolean }) => void;
  /**
   * Each time the source is lost from sight, which is news, or is looked for in vain; it is looked for on and on. The same
   * where it is in sight, and behind the ledger or not to be compared with it: `lost` tells which.
   */
  readonly onDropped?: (error: Error, isNews: boolean) => void;
}
