import type { FeedEvent } from '../../contracts/feed-message.ts';
import type { Revision, StreamName } from '../../contracts/ids.ts';

/** An event came whose predecessor in its stream never came: what is built of the feed would be wrong. */
export class FeedGapError extends Error {
  override readonly name = 'FeedGapError';
  readonly stream: StreamName;
  /** The revision that should have come. */
  readonly expected: Revision;
  readonly found: Revision;

  constructor({ stream, expected, found }: { stream: StreamName; expected: Revision; found: Revision }) {
    super(`${stream} has a gap in the feed: revision ${found} came where ${expected} is next`);
    this.stream = stream;
    this.expected = expected;
    this.found = found;
  }
}

interface NewEvents {
  /** In the same order, each of them once. */
  readonly events: readonly FeedEvent[];
  /** The last revision of each stream that has new events. */
  readonly revisions: ReadonlyMap<StreamName, Revision>;
}

/**
 * What of a batch is new, by stream and revision. `lastRevision` tells what was taken before: NO_STREAM where nothing was,
 * null where that is not known and whatever comes first is taken. @throws FeedGapError
 */
export function newEvents(
  batch: readonly FeedEvent[],
  lastRevision: (stream: StreamName) => Revision | null,
): NewEvents {
  const events: FeedEvent[] = [];
  const revisions = new Map<StreamName, Revision>();
  for (const event of batch) {
    const { stream, revision } = event;
    const last = revisions.get(stream) ?? lastRevision(stream);
    if (last !== null && revision <= last) continue;
    if (last !== null && revision > last + 1)
      throw new FeedGapError({ stream, expected: (last + 1) as Revision, found: revision });
    events.push(event);
    revisions.set(stream, revision);
  }
  return { events, revisions };
}
