import { isLogAway, type RecordedEvent, type Subscription } from '../../contracts/event-log.ts';
import type { Position } from '../../contracts/ids.ts';

/**
 * Where the views' events come from: the event log itself, or its feed in Kafka. The events of one account come in
 * order and without gap; those of different accounts in any order, and any of them again.
 */
export interface ViewSource {
  /** What its checkpoints belong to: the rows of one source are not gone on from with another. */
  readonly name: string;
  /** What it lacks of a stream the ledger itself lacks; otherwise it is the source that is not whole. */
  readonly isLedger: boolean;

  /** Up to where a checkpoint of this source holds every event; null where that is not known. @throws Error on another text. */
  throughOf(checkpoint: string): Position | null;

  /** Begins to hand events over, and reaches for its source again whenever that is away. */
  open(options: ViewSourceOptions): Subscription;
}

export interface ViewSourceOptions {
  /** Text of a `SourceBatch`; null is the beginning. */
  readonly from: string | null;
  /** Whether the views hold what an event says, from wherever it came; true for those that are no part of any view. */
  readonly isFolded: (event: RecordedEvent) => boolean;
  /** Awaited before the next. What it throws stops the source: an event is never skipped. */
  readonly onBatch: (batch: SourceBatch) => Promise<void>;
  /**
   * `from` is not of this topic: it was made anew. (A log that is another than the views' is refused, not read.) What was restored with it must be gone when this resolves; events then come from the
   * beginning. Called before any event and before `onCaughtUp`.
   */
  readonly onForeign: () => Promise<void>;
  /**
   * What is folded ends with the same event in this log as in the one that the checkpoint is of, which the ledger has left: this is
   * its text here. Called before any event and before `onCaughtUp`.
   */
  readonly onMoved: (checkpoint: string) => void;
  /** Each time everything that was there has been handed over. */
  readonly onCaughtUp: () => void;
  /** Each time the source is lost from sight, does not come into sight, or is found to be behind the ledger. */
  readonly onDropped: (error: Error) => void;
  /** At most once, with what ended the source; not after `close`. */
  readonly onStopped: (error: Error) => void;
}

/** The source is in sight, and what the ledger has does not come by it. */
export class SourceBehindError extends Error {
  override readonly name = 'SourceBehindError';
}

/** Where the source would be it is not: nobody has made it yet. */
export class SourceMissingError extends Error {
  override readonly name = 'SourceMissingError';
}

/**
 * What keeps views from being live: their source is out of sight; nobody has made it yet; it is there and lacks what the ledger has; or it is there,
 * and the log does not answer that it is compared with.
 */
export type ViewsLost = 'source' | 'missing' | 'behind' | 'log';

/** By what the source has met. */
export function lostBy(error: Error, { isLedger }: Pick<ViewSource, 'isLedger'>): ViewsLost {
  if (error instanceof SourceBehindError) return 'behind';
  if (error instanceof SourceMissingError) return 'missing';
  return !isLedger && isLogAway(error) ? 'log' : 'source';
}

export interface SourceBatch {
  readonly events: readonly RecordedEvent[];
  /** With these events folded, every event up to here is; null where that is not known. */
  readonly through: Position | null;
  /** Where to go on after these events. Written with their rows, in one transaction. */
  readonly checkpoint: () => string;
}
