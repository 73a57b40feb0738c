import { rmSync } from 'node:fs';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import type { ReadableLog, RecordedEvent } from '../../contracts/event-log.ts';
import type { FeedEvent } from '../../contracts/feed-message.ts';
import { eventId, NO_STREAM, position, revision, type StreamName } from '../../contracts/ids.ts';
import { isSameLedger, type LedgerIdentity } from '../../contracts/ledger-identity.ts';
import { CopyError } from '../copy/copy-error.ts';

/** Where a stream ends in the ledger that is to be refilled. */
interface StreamEnd {
  readonly revision: number;
  /** Null where there is no event. */
  readonly id: string | null;
}

/** What of a stream the topic has beyond a gap: nothing from there on, of any stream, can stand behind what is there. */
export interface TopicGap {
  readonly stream: StreamName;
  readonly revision: number;
  readonly end: number;
}

/**
 * What a topic has and a ledger lacks, kept in a file until all of it is read: its partitions come side by side, and the log
 * is one order.
 */
export class TopicEvents {
  readonly #file: string;
  readonly #database: DatabaseSync;
  readonly #insert: StatementSync;
  readonly #log: ReadableLog;
  readonly #of: LedgerIdentity | null;
  readonly #ends = new Map<StreamName, StreamEnd>();
  /** Where the reading in order has stopped; null where it has all. */
  gap: TopicGap | null = null;

  /** @param of whose they have to be; null where the ledger does not say who it is */
  constructor(file: string, log: ReadableLog, of: LedgerIdentity | null) {
    this.#file = file;
    this.#log = log;
    this.#of = of;
    this.#database = new DatabaseSync(file);
    this.#database.exec(`PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
      CREATE TABLE event (
        position INTEGER NOT NULL, stream TEXT NOT NULL, revision INTEGER NOT NULL, id TEXT NOT NULL, type TEXT NOT NULL,
        data TEXT NOT NULL, metadata TEXT NOT NULL, PRIMARY KEY (stream, revision)
      ) STRICT; CREATE INDEX in_order ON event (position)`);
    this.#insert = this.#database.prepare('INSERT OR IGNORE INTO event VALUES (?, ?, ?, ?, ?, ?, ?)');
  }

  /** @throws CopyError where the topic is another ledger's, or of another generation of it; EventLogError */
  async take(events: readonly FeedEvent[]): Promise<void> {
    for (const event of events) {
      const { stream, revision: at, id, type, data, metadata } = event;
      this.#assertOwn(event);
      const end = await this.#endOf(stream);
      if (at === end.revision && id !== end.id)
        throw new CopyError(
          `the topic has another event at ${stream} revision ${at}: one of the two went on after it was put back`,
        );
      // One that was too large for the topic is there without what it says.
      if (at > end.revision && data !== '') this.#insert.run(event.position, stream, at, id, type, data, metadata);
    }
  }

  /** Those that follow one another in every stream, in the log's order, up to the first gap. */
  async *readAll(): AsyncGenerator<RecordedEvent> {
    const ends = new Map([...this.#ends].map(([stream, end]) => [stream, end.revision]));
    for (const row of this.#database.prepare('SELECT * FROM event ORDER BY position').iterate()) {
      const stream = String(row.stream) as StreamName;
      const end = ends.get(stream) ?? NO_STREAM;
      if (Number(row.revision) !== end + 1) {
        this.gap = { stream, revision: Number(row.revision), end };
        return;
      }
      ends.set(stream, end + 1);
      yield {
        ...{
          stream,
          revision: revision(end + 1),
          position: position(Number(row.position)),
          id: eventId(String(row.id)),
        },
        ...{ type: String(row.type), data: String(row.data), metadata: String(row.metadata) },
      };
    }
  }

  /** Nothing of it is kept. */
  close(): void {
    this.#database.close();
    rmSync(this.#file, { force: true });
  }

  /** What another generation had may be what this one has given up. @throws CopyError */
  #assertOwn({ ledger }: FeedEvent): void {
    if (this.#of === null) return;
    // Messages from before they said whose they are can tell only of a first generation.
    const its = ledger ?? { ...this.#of, generation: 1 };
    if (isSameLedger(its, this.#of)) return;
    const { ledgerId, generation } = this.#of;
    throw new CopyError(
      its.ledgerId === ledgerId
        ? `the topic is of generation ${its.generation} of the ledger, and this one is of generation ${generation}: restore without it`
        : `the topic is of the ledger ${its.ledgerId}, and this one is ${ledgerId}`,
    );
  }

  async #endOf(stream: StreamName): Promise<StreamEnd> {
    const known = this.#ends.get(stream);
    if (known !== undefined) return known;
    let end: StreamEnd = { revision: NO_STREAM, id: null };
    for await (const last of this.#log.readStream(stream, { direction: 'backwards', limit: 1 }))
      end = { revision: last.revision, id: last.id };
    this.#ends.set(stream, end);
    return end;
  }
}
