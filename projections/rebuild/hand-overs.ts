import type { ReadableLog, RecordedEvent } from '../../contracts/event-log.ts';
import { type Position, position } from '../../contracts/ids.ts';
import { faultOfWrite, RowWriter } from '../row-writer.ts';
import { checkpointTextOf, LOG_SOURCE } from '../sources/log-view-source.ts';
import type { StoredView } from '../view.ts';
import { type Batch, beginning, restamping, standingAt } from '../view-file.ts';
import { type CloseRequest, ViewsNotWrittenError } from '../view-store.ts';
import type { FoldWord } from './fold-part.ts';

interface HandOversOptions {
  readonly log: ReadableLog;
  readonly path: string;
  readonly views: readonly StoredView[];
  /** Nothing is in it yet: the first rows are handed over as such. */
  readonly isFresh: boolean;
  /** The disk is left so much. */
  readonly keepFreeBytes: number;
  readonly clock: () => number;
  /** Of those who fold. */
  readonly parts: number;
  /** The last position, where each of them hands over. */
  readonly upTo: Position;
  /** How long is folded on behind a write that took so long, in milliseconds. */
  readonly pauseMs: (tookMs: number) => number;
}

/** One write: of what all parts have come to at one event. */
interface UnderWay {
  readonly at: RecordedEvent;
  /** Parts that have not handed over all of theirs. */
  left: number;
  readonly written: PromiseWithResolvers<void>;
}

/**
 * Rows of one file from several who fold a part of the accounts each: those of one position are one transaction, and it is their checkpoint.
 * The first to come to a position decides for all whether it is one of these; whoever has handed over folds on while others do.
 */
export class HandOvers {
  readonly #options: HandOversOptions;
  readonly #writer: RowWriter;
  readonly #words = new Map<number, Promise<FoldWord>>();
  #underWay: UnderWay | null = null;
  /** Before one is begun it is looked what stands at its position. */
  #beginning: Promise<FoldWord> | null = null;
  /** What the last write, or the one under way, took. */
  #tookMs = 0;
  /** By `performance.now()`. */
  #dueMs: number;
  #isAll = false;
  #isFirst: boolean;

  /** @throws Error of SQLite */
  constructor(options: HandOversOptions) {
    this.#options = options;
    this.#writer = new RowWriter(options.path, options.keepFreeBytes);
    this.#isFirst = options.isFresh;
    this.#dueMs = performance.now() + options.pauseMs(0);
  }

  /** Whether the log had nothing behind the last position when that was written. */
  get isAll(): boolean {
    return this.#isAll;
  }

  /** The same for each that has come to a position. @throws EventLogError; ViewsNotWrittenError */
  wordAt(at: number): Promise<FoldWord> {
    const known = this.#words.get(at);
    if (known !== undefined) return known;
    const word = at === this.#options.upTo ? this.#atLast() : this.#decide(at);
    this.#words.set(at, word);
    return word;
  }

  /** @throws ViewsNotWrittenError: nothing of this write is in the file */
  take(batches: readonly Batch[]): void {
    this.#write(() => this.#writer.write(batches));
  }

  /** One part has handed over all; with the last of them it is written. @throws as `wordAt` */
  async handedOver(): Promise<void> {
    const underWay = this.#underWay;
    if (underWay === null) throw new Error('nothing was asked for');
    underWay.left -= 1;
    if (underWay.left > 0) return;
    const { log, views, upTo, clock, pauseMs } = this.#options;
    this.#isAll = underWay.at.position === upTo && (await log.headPosition()) === upTo;
    const currentAtMs = this.#isAll ? clock() : null;
    const at = { source: LOG_SOURCE, checkpoint: checkpointTextOf(underWay.at), currentAtMs };
    this.#write(() => {
      if (this.#isFirst) this.#writer.write(restamping(views));
      this.#writer.write(standingAt(views, at));
      this.#writer.commit();
    });
    this.#dueMs = performance.now() + pauseMs(this.#tookMs);
    this.#isFirst = false;
    this.#underWay = null;
    underWay.written.resolve();
  }

  /** What was not written is gone. @throws Error of SQLite */
  close(how: CloseRequest['close']): void {
    try {
      this.#writer.rollBack();
    } finally {
      this.#writer.close(how);
    }
  }

  /** Behind what others are still to hand over of before. */
  async #atLast(): Promise<FoldWord> {
    await this.#beginning;
    await this.#underWay?.written.promise;
    const { upTo } = this.#options;
    if ((await this.#begin(upTo)) === 'hand over') return 'hand over';
    throw new Error(`the log has no event at position ${upTo}, where it ended`);
  }

  async #decide(at: number): Promise<FoldWord> {
    if (this.#beginning !== null || this.#underWay !== null || performance.now() < this.#dueMs) return 'go on';
    this.#beginning = this.#begin(at);
    try {
      return await this.#beginning;
    } finally {
      this.#beginning = null;
    }
  }

  /** Nothing is begun where the log has no event at the position: none could be gone on from. */
  async #begin(at: number): Promise<FoldWord> {
    const event = await eventAt(this.#options.log, at);
    if (event === null) return 'go on';
    this.#underWay = { at: event, left: this.#options.parts, written: Promise.withResolvers() };
    this.#tookMs = 0;
    this.#write(() => this.#writer.write([beginning()]));
    return 'hand over';
  }

  #write(work: () => void): void {
    const fromMs = performance.now();
    try {
      work();
    } catch (error) {
      this.#writer.rollBack();
      throw new ViewsNotWrittenError(faultOfWrite(error));
    }
    this.#tookMs += performance.now() - fromMs;
  }
}

async function eventAt(log: ReadableLog, at: number): Promise<RecordedEvent | null> {
  const after = at > 1 ? position(at - 1) : null;
  for await (const event of log.readAll({ after, limit: 1, placesOnly: true }))
    return event.position === at ? event : null;
  return null;
}
