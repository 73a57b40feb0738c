import type { Logger } from 'pino';
import type { Subscription } from '../../contracts/event-log.ts';
import type { FeedEvent } from '../../contracts/feed-message.ts';
import { NO_STREAM, type Revision, type StreamName } from '../../contracts/ids.ts';
import type { LedgerIdentity } from '../../contracts/ledger-identity.ts';
import { FeedReading } from './feed-reading.ts';
import { type FeedBatch, FeedSession } from './feed-session.ts';
import { type FeedKafka, kafkaClient } from './kafka-client.ts';
import { FEED_LIMITS } from './limits.ts';
import { newEvents } from './new-events.ts';
import { oneLedger } from './one-ledger.ts';

/**
 * How far a consumer has come, kept by the consumer in the same transaction as what it makes of the events. All answer
 * null where nothing is kept yet.
 */
export interface FeedPositions {
  nextOffset(partition: number): bigint | null | Promise<bigint | null>;
  lastRevision(stream: StreamName): Revision | null | Promise<Revision | null>;
  /** Of which ledger, in which generation, what is kept is. */
  ledger?(): LedgerIdentity | null | Promise<LedgerIdentity | null>;
}

export interface ConsumedBatch {
  readonly partition: number;
  /** New events, each once and in order within its stream. May be empty: then only the offset is new. */
  readonly events: readonly FeedEvent[];
  /** To be kept as the partition's next offset. */
  readonly nextOffset: bigint;
  /** To be kept as the streams' last revisions. */
  readonly revisions: ReadonlyMap<StreamName, Revision>;
  /** To be kept as the ledger that it is all of; null where no message has said it yet. */
  readonly ledger: LedgerIdentity | null;
}

interface ConsumeFeedOptions {
  readonly kafka: FeedKafka;
  readonly clientId: string;
  /** Members of one group share the partitions. */
  readonly groupId: string;
  /**
   * Where the consumer keeps how far it has come: then each event is taken exactly once, whatever is killed when. With
   * `group` the offsets are committed to the group after `onEvents`: what was taken just before a kill comes again.
   */
  readonly positions: FeedPositions | 'group';
  /** Other members get the partitions of one that has been silent for so long; 30 seconds where it is not given. */
  readonly sessionMs?: number;
  /** One call at a time, awaited. When it throws, the reading stops: nothing is skipped. */
  readonly onEvents: (batch: ConsumedBatch) => void | Promise<void>;
  /** Kafka is lost from sight; the reading resumes by itself. */
  readonly onDropped?: (error: Error) => void;
  /**
   * Called at most once: `onEvents` has thrown, a stream has a gap (FeedGapError), a message is of another ledger or
   * another generation of it (OtherLedgerError), or none of the feed's.
   */
  readonly onStopped?: (error: Error) => void;
  readonly logger?: Logger;
}

/**
 * Reads the feed as a member of a group: duplicates are dropped by stream and revision, a gap stops it, and so does a
 * message of another ledger than those before it.
 */
export function consumeFeed(options: ConsumeFeedOptions): Subscription {
  const client = kafkaClient(options);
  const seen: SeenLedger = { ledger: null };
  return new FeedReading({
    open: async (signal) => {
      const progress = options.positions === 'group' ? new RememberedRevisions() : new KeptPositions(options.positions);
      const session = new FeedSession({
        client,
        topic: options.kafka.topic,
        groupId: options.groupId,
        sessionMs: options.sessionMs ?? FEED_LIMITS.sessionMs,
        onJoined: () => progress.forget(),
        onBatch: (batch) => take(batch, { ...options, progress, seen }),
      });
      try {
        await session.start(signal);
        return session;
      } catch (error) {
        await session.close();
        throw error;
      }
    },
    onDropped: options.onDropped,
    onStopped: options.onStopped,
  });
}

interface Progress {
  /** What was known of partitions is void: another member may have read on. */
  forget(): void;
  /** The offset to read the partition from instead; null where the batch is the right one. */
  offsetInstead(batch: FeedBatch): Promise<bigint | null>;
  lastRevisions(streams: ReadonlySet<StreamName>): Promise<(stream: StreamName) => Revision | null>;
  /** Null where nothing of it is kept. */
  ledger(): Promise<LedgerIdentity | null>;
  taken(batch: FeedBatch, revisions: ReadonlyMap<StreamName, Revision>): Promise<void>;
}

/** Of this process; across sessions, and whoever keeps the positions. */
interface SeenLedger {
  ledger: LedgerIdentity | null;
}

interface TakeParts extends Pick<ConsumeFeedOptions, 'onEvents'> {
  readonly progress: Progress;
  readonly seen: SeenLedger;
}

async function take(batch: FeedBatch, { progress, seen, onEvents }: TakeParts): Promise<void> {
  const offset = await progress.offsetInstead(batch);
  if (offset !== null) return batch.seek(offset);
  const ledger = oneLedger(batch.events, (await progress.ledger()) ?? seen.ledger);
  const lastRevision = await progress.lastRevisions(new Set(batch.events.map(({ stream }) => stream)));
  const { events, revisions } = newEvents(batch.events, lastRevision);
  const { partition, nextOffset } = batch;
  await onEvents({ partition, events, nextOffset, revisions, ledger });
  seen.ledger = ledger;
  await progress.taken(batch, revisions);
}

/** The consumer keeps both; the topic holds each stream from its beginning, so an unknown stream begins with revision 0. */
class KeptPositions implements Progress {
  readonly #positions: FeedPositions;
  readonly #isPlaced = new Set<number>();

  constructor(positions: FeedPositions) {
    this.#positions = positions;
  }

  forget(): void {
    this.#isPlaced.clear();
  }

  async offsetInstead({ partition, firstOffset }: FeedBatch): Promise<bigint | null> {
    if (this.#isPlaced.has(partition)) return null;
    const kept = await this.#positions.nextOffset(partition);
    this.#isPlaced.add(partition);
    return kept === null || kept === firstOffset ? null : kept;
  }

  async lastRevisions(streams: ReadonlySet<StreamName>): Promise<(stream: StreamName) => Revision | null> {
    const known = new Map<StreamName, Revision>();
    for (const stream of streams) known.set(stream, (await this.#positions.lastRevision(stream)) ?? NO_STREAM);
    return (stream) => known.get(stream) ?? NO_STREAM;
  }

  async ledger(): Promise<LedgerIdentity | null> {
    return (await this.#positions.ledger?.()) ?? null;
  }

  async taken(): Promise<void> {
    // The consumer has kept it.
  }
}

/** Kafka keeps the offsets, and this process what it has seen: a stream that it has not seen yet begins anywhere. */
class RememberedRevisions implements Progress {
  readonly #last = new Map<StreamName, Revision>();

  forget(): void {
    this.#last.clear();
  }

  async offsetInstead(): Promise<bigint | null> {
    return null;
  }

  async lastRevisions(): Promise<(stream: StreamName) => Revision | null> {
    return (stream) => this.#last.get(stream) ?? null;
  }

  async ledger(): Promise<LedgerIdentity | null> {
    return null;
  }

  async taken(batch: FeedBatch, revisions: ReadonlyMap<StreamName, Revision>): Promise<void> {
    await batch.commit();
    for (const [stream, revision] of revisions) {
      // Put at the end, so that those that have long been silent go first.
      this.#last.delete(stream);
      this.#last.set(stream, revision);
    }
    for (const stream of this.#last.keys()) {
      if (this.#last.size <= FEED_LIMITS.streamsMax) break;
      this.#last.delete(stream);
    }
  }
}
