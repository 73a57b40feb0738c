import type { RecordedEvent, Subscription } from '../../contracts/event-log.ts';
import type { FeedEvent } from '../../contracts/feed-message.ts';
import type { LedgerIdentity } from '../../contracts/ledger-identity.ts';
import type { TopicLook } from '../../ledger/feed/topic-look.ts';
import type { OpenTopic, TopicOptions } from '../../projections/sources/topic-view-source.ts';

const BATCH_MAX = 5;
/** Of each partition, the last messages that a look shows. */
const TAIL = 20;

/**
 * A topic in memory: events in partitions by their stream, read as ledger/feed reads them. Which partition has the word
 * next is drawn by `draw`, so that the order between partitions is another for each reader.
 */
export class MemoryTopic {
  readonly partitions: FeedEvent[][];
  /** What a look shows otherwise than it is. */
  shown: Partial<TopicLook> = {};
  /** Partitions that nobody gets anything of for now. */
  readonly held = new Set<number>();
  readonly #readings = new Set<MemoryReading>();
  /** A number of at least 0 and below the one given. */
  readonly #draw: (below: number) => number;

  constructor(partitions: number, draw: (below: number) => number = () => 0) {
    this.partitions = Array.from({ length: partitions }, () => []);
    this.#draw = draw;
  }

  /**
   * What a relay sends, in this order; again, where it was killed before its checkpoint.
   * @param ledger whose it says that they are; null as relays from before did
   */
  send(events: readonly RecordedEvent[], ledger: LedgerIdentity | null = null): void {
    for (const event of events)
      this.partitions[this.partitionOf(event.stream)]?.push({ ...event, relayEpoch: 1, ledger });
    for (const reading of this.#readings) reading.wake();
  }

  readonly open: OpenTopic = (options) => {
    const reading = new MemoryReading(this, this.#draw, options, () => this.#readings.delete(reading));
    this.#readings.add(reading);
    reading.wake();
    return reading;
  };

  look(): TopicLook {
    const partitions = new Map(this.partitions.map(({ length }, at) => [at, { low: 0n, high: BigInt(length) }]));
    const events = this.partitions.flatMap((all, partition) =>
      all.slice(-TAIL).map((event) => ({ ...event, partition })),
    );
    return { partitions, replicas: null, settings: null, tail: { events, strangers: 0 }, ...this.shown };
  }

  /** Is looked at while it is followed. */
  async showAgain(): Promise<void> {
    await Promise.all([...this.#readings].map((reading) => reading.showAgain()));
  }

  /** The brokers are lost from sight. */
  async drop(error: Error): Promise<void> {
    await Promise.all([...this.#readings].map((reading) => reading.drop(error)));
  }

  resume(): void {
    for (const reading of this.#readings) reading.resume();
  }

  release(): void {
    this.held.clear();
    for (const reading of this.#readings) reading.wake();
  }

  partitionOf(stream: string): number {
    let sum = 0;
    for (const char of stream) sum = (sum * 31 + char.charCodeAt(0)) % 9973;
    return sum % this.partitions.length;
  }
}

class MemoryReading implements Subscription {
  readonly #topic: MemoryTopic;
  readonly #draw: (below: number) => number;
  readonly #options: TopicOptions;
  readonly #onEnd: () => void;
  readonly #next: number[];
  #pumping: Promise<void> | null = null;
  /** Told once after each start and drop, as ledger/feed does. */
  #hasCaughtUp = false;
  /** Shown once after each start and drop. */
  #isSeen = false;
  #isPaused = false;
  #isOver = false;

  constructor(topic: MemoryTopic, draw: (below: number) => number, options: TopicOptions, onEnd: () => void) {
    this.#topic = topic;
    this.#draw = draw;
    this.#options = options;
    this.#onEnd = onEnd;
    const { from } = options;
    this.#next = topic.partitions.map((_, index) => (from === 'beginning' ? 0 : Number(from.get(index) ?? 0n)));
  }

  wake(): void {
    if (this.#isOver || this.#isPaused || this.#pumping !== null) return;
    this.#pumping = this.#pump().finally(() => {
      this.#pumping = null;
      if (this.#waiting().length > 0) this.wake();
    });
  }

  async showAgain(): Promise<void> {
    try {
      await this.#options.onSeen(this.#topic.look());
    } catch (error) {
      this.#isOver = true;
      this.#onEnd();
      this.#options.onStopped(error instanceof Error ? error : new Error(String(error)));
    }
  }

  async drop(error: Error): Promise<void> {
    this.#isPaused = true;
    this.#hasCaughtUp = false;
    this.#isSeen = false;
    await this.#pumping;
    this.#options.onDropped(error);
  }

  resume(): void {
    this.#isPaused = false;
    this.wake();
  }

  async close(): Promise<void> {
    this.#isOver = true;
    this.#onEnd();
    await this.#pumping;
  }

  #waiting(): number[] {
    const { partitions, held } = this.#topic;
    return partitions.flatMap((events, index) =>
      events.length > (this.#next[index] ?? 0) && !held.has(index) ? [index] : [],
    );
  }

  async #pump(): Promise<void> {
    try {
      if (!this.#isSeen) await this.#options.onSeen(this.#topic.look());
      this.#isSeen = true;
      for (let waiting = this.#waiting(); waiting.length > 0; waiting = this.#waiting()) {
        await new Promise((resolve) => setImmediate(resolve));
        if (this.#isOver || this.#isPaused) return;
        const partition = waiting[this.#draw(waiting.length)] ?? 0;
        const from = this.#next[partition] ?? 0;
        const batch = this.#topic.partitions[partition]?.slice(from, from + 1 + this.#draw(BATCH_MAX)) ?? [];
        await this.#options.onBatch(partition, batch, BigInt(from + batch.length));
        this.#next[partition] = from + batch.length;
      }
      await new Promise((resolve) => setImmediate(resolve));
      if (this.#isOver || this.#isPaused || this.#hasCaughtUp) return;
      this.#hasCaughtUp = true;
      this.#options.onCaughtUp();
    } catch (error) {
      this.#isOver = true;
      this.#onEnd();
      this.#options.onStopped(error instanceof Error ? error : new Error(String(error)));
    }
  }
}
