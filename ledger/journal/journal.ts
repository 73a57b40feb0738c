import type { RequestId } from '../../contracts/ids.ts';
import type { Shortage } from '../../contracts/shortage.ts';
import type { JournalError, JournalFullBound } from './journal-error.ts';

/**
 * The local, durable record of the requests in flight: that one went upstream, and what it used, survive a crash at
 * any instant. One call each:
 *
 *     begin ──▶ (upstream) ──▶ finish ──▶ (ledger) ──▶ settle
 */
export interface Journal {
  /**
   * Takes down a request's start (JSON text) before it goes upstream. When this returns it is in the file: `kill -9`
   * of the process does not lose it; against loss of power `durable` does.
   * @throws JournalFull when no request may begin now (`obstacle` has told); nothing of it stays. JournalError `input_output`, `closed`.
   */
  begin(requestId: RequestId, start: string): void;

  /**
   * Takes down what is to be settled for a request that has begun (JSON text), at most once, with the same promise.
   * Accepted above `bytesMax`, and with the disk full: no request begins without room for its end. @throws JournalError
   * `input_output` when the write fails all the same, for ever: what it has cost is nowhere then but with the caller.
   */
  finish(requestId: RequestId, finished: string): void;

  /**
   * The ledger has these requests, or they never reached an upstream: the journal may forget them. Written with the
   * next write. A crash before it hands them over once more, and the ledger recognises them. Unknown ids are ignored.
   */
  settle(requestIds: readonly RequestId[]): void;

  /**
   * What is kept of these requests does not count to `bytesMax` from soon on: they wait for an account that is set aside, for
   * nobody knows how long. It moves to a folder beside, of which all that is promised here holds, too; at no instant it is in
   * neither. For want of room it stays where it is, and is tried again `reserveLookMs` apart. Ids that are not open are
   * ignored, and no end is taken of these any more.
   */
  keepAside(requestIds: readonly RequestId[]): void;

  /** When all written before is on disk; calls share syncs. @throws JournalError `input_output` (final), `closed` */
  durable(): Promise<void>;

  /** Size of all segments that are still needed, but for what is kept aside. */
  readonly bytes: number;
  /** The same of what is kept aside. */
  readonly asideBytes: number;
  /** Requests begun and not yet settled; one that is on its way aside counts twice meanwhile. */
  readonly open: number;
  /** Why no request may begin now; null where one may. Bounds and a full disk pass, by themselves or by settling. */
  readonly obstacle: JournalObstacle | null;
  /** What the machine has too little of for this journal; with descriptors alone requests begin all the same, for long. */
  readonly shortage: JournalShortage | null;
  /** Resolves when nothing more can be written, for ever: `obstacle` is `failed`, and only a process that starts can go on. */
  readonly failed: Promise<JournalError>;

  /** Writes and syncs what waits, then gives the folder free. Idempotent. @throws JournalError when that failed. */
  close(): Promise<void>;
}

export interface JournalShortage {
  readonly of: Shortage;
  /** By `performance.now()`. */
  readonly sinceMs: number;
}

/** A bound that is reached, a disk without room, a write or sync that failed for ever, or the end. */
export type JournalObstacle = JournalFullBound | 'failed' | 'closed';

/** A request that was begun and not settled. Without a start only where the part of the journal that had it is damaged. */
export type RecoveredRequest =
  | { readonly requestId: RequestId; readonly start: string; readonly finished: string | null }
  | { readonly requestId: RequestId; readonly start: null; readonly finished: string };

/** A stretch of a segment that cannot be read; offset 0 with 0 bytes is a segment that is missing as a whole. */
export interface DamagedStretch {
  readonly file: string;
  readonly offset: number;
  readonly bytes: number;
}
