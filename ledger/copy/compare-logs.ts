import type { ReadableLog, RecordedEvent } from '../../contracts/event-log.ts';
import { LEDGER_STREAM, type Position, type StreamName } from '../../contracts/ids.ts';
import { counted } from '../../contracts/money.ts';
import { lastEvent } from '../last-event.ts';
import { CopyError } from './copy-error.ts';

/** Where two logs stand at the same event. */
export interface SamePlace {
  readonly source: Position;
  readonly target: Position;
}

/**
 * Where a target that was copied in part goes on: behind its newest event; null where it has none. @param hasMoved the source's
 * last event is there: what stands behind it was not copied @throws CopyError
 */
export async function placeReached(
  source: ReadableLog,
  target: ReadableLog,
  hasMoved: boolean,
): Promise<SamePlace | null> {
  if (hasMoved)
    for await (const moved of target.readStream(LEDGER_STREAM, { direction: 'backwards', limit: 1 }))
      return await sameIn(source, moved);
  const newest = await lastEvent(target);
  return newest === null ? null : await sameIn(source, newest);
}

/** An event of the target, in both. @throws CopyError where the source has another in its place, or none */
async function sameIn(source: ReadableLog, event: RecordedEvent): Promise<SamePlace> {
  for await (const found of source.readStream(event.stream, { from: event.revision, limit: 1 }))
    if (found.id === event.id) return { source: found.position, target: event.position };
  throw new CopyError(
    `the target has ${event.stream} revision ${event.revision}, and the source does not have that event: the target is of ` +
      'another ledger, or somebody else has written to it',
  );
}

/**
 * The target, read beside the source: each event that it has in its order is compared with the source's, so far as that goes.
 * `readAll` of it throws CopyError at the first that is not the same.
 */
export class ComparedTarget implements ReadableLog {
  readonly readStream: ReadableLog['readStream'];
  readonly headPosition: ReadableLog['headPosition'];
  readonly #source: ReadableLog;
  readonly #target: ReadableLog;
  readonly #after: SamePlace | null;
  readonly #onCompared: (event: RecordedEvent) => void;
  /** The last event that is the same in both. */
  place: SamePlace | null;
  events = 0;
  /** Streams of relays that were met: their checkpoints are positions of the source. */
  readonly relays = new Set<StreamName>();

  constructor(source: ReadableLog, target: ReadableLog, { after, onCompared }: CompareOptions) {
    this.readStream = target.readStream.bind(target);
    this.headPosition = target.headPosition.bind(target);
    this.#source = source;
    this.#target = target;
    this.#after = after;
    this.#onCompared = onCompared;
    this.place = after;
  }

  async *readAll(): AsyncGenerator<RecordedEvent> {
    const due = this.#source.readAll({ after: this.#after?.source ?? null })[Symbol.asyncIterator]();
    try {
      for await (const event of this.#target.readAll({ after: this.#after?.target ?? null })) {
        const next = await due.next();
        // What stands behind is nothing that was copied.
        if (!next.done) this.#compare(next.value, event);
        yield event;
      }
    } finally {
      await due.return?.(undefined);
    }
  }

  #compare(due: RecordedEvent, found: RecordedEvent): void {
    for (const field of ['stream', 'revision', 'id', 'type', 'data', 'metadata'] as const)
      if (due[field] !== found[field])
        throw new CopyError(
          `the target is no copy of the source: behind ${counted(this.events, 'event')} in which they agree, where the source has ` +
            `${due.stream} revision ${due.revision}, the target has ${found.stream} revision ${found.revision}, with another ${field}`,
        );
    this.place = { source: due.position, target: found.position };
    this.events++;
    if (found.stream.startsWith('relay-')) this.relays.add(found.stream);
    this.#onCompared(due);
  }
}

interface CompareOptions {
  /** Up to there both are known to be the same. */
  readonly after: SamePlace | null;
  readonly onCompared: (event: RecordedEvent) => void;
}
