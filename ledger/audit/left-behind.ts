import type { RecordedEvent } from '../../contracts/event-log.ts';
import { LEDGER_STREAM, type StreamName } from '../../contracts/ids.ts';

interface Left {
  /** The first of its stream. */
  readonly event: Pick<RecordedEvent, 'stream' | 'revision' | 'type'>;
  more: number;
}

/**
 * What was written to a log behind the ledger's move to another one, which has not got it. What stands before the ledger's
 * arrival has come with it; and relays, which come to their end there, are of no money.
 */
export class LeftBehind {
  #movedAt: RecordedEvent['position'] | null = null;
  readonly #streams = new Map<StreamName, Left>();

  /** In the log's order, or the stream `ledger` before the others. @param isTold false: another one tells of it */
  take({ stream, revision, position, type }: RecordedEvent, isTold: boolean): void {
    if (stream === LEDGER_STREAM) this.#takeMove(type, position);
    else if (this.#movedAt === null || position < this.#movedAt || !isTold || stream.startsWith('relay-')) return;
    else {
      const left = this.#streams.get(stream) ?? { event: { stream, revision, type }, more: -1 };
      left.more++;
      this.#streams.set(stream, left);
    }
  }

  all(): Iterable<Left> {
    return this.#streams.values();
  }

  #takeMove(type: string, position: RecordedEvent['position']): void {
    if (type === 'LedgerMoved') this.#movedAt = position;
    if (type !== 'LedgerIdentified') return;
    this.#movedAt = null;
    this.#streams.clear();
  }
}
