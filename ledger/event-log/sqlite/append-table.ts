import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { SQLITE_LIMITS } from './limits.ts';
import { APPENDED, type AppendGroup, CONFLICT, FIELDS_BEFORE_EVENTS, FIELDS_PER_EVENT, REPEATED } from './messages.ts';
import { prepareArrays } from './open-database.ts';

interface StreamHead {
  readonly streamId: number;
  revision: number;
}

const NO_REVISION = -1;

/** The append table of the port (contracts/event-log.ts), applied inside a transaction that the caller has begun. */
export class AppendTable {
  readonly #findStream: StatementSync;
  readonly #addStream: StatementSync;
  readonly #findHead: StatementSync;
  readonly #findLast: StatementSync;
  readonly #findSame: StatementSync;
  readonly #addEvent: StatementSync;
  readonly #dataVersion: StatementSync;
  /** True so long as no other connection commits, which `PRAGMA data_version` tells inside a transaction. */
  readonly #heads = new Map<string, StreamHead>();
  #lastPosition = 0;
  #knownVersion: unknown = null;

  constructor(database: DatabaseSync) {
    this.#findStream = prepareArrays(database, 'SELECT id FROM stream WHERE name = ?');
    this.#addStream = prepareArrays(database, 'INSERT INTO stream (name) VALUES (?)');
    this.#findHead = prepareArrays(database, 'SELECT max(revision) FROM event WHERE stream_id = ?');
    this.#findLast = prepareArrays(database, 'SELECT max(position) FROM event');
    this.#findSame = prepareArrays(
      database,
      "SELECT position FROM event WHERE stream_id = ? AND revision = ? AND id = unhex(?, '-')",
    );
    this.#addEvent = prepareArrays(
      database,
      `INSERT INTO event (position, stream_id, revision, id, type, data, metadata, recorded_at)
        VALUES (?, ?, ?, unhex(?, '-'), ?, ?, ?, ?)`,
    );
    this.#dataVersion = prepareArrays(database, 'PRAGMA data_version');
  }

  /** The outcomes of a whole group, each append decided by itself. */
  apply(group: AppendGroup, nowMs: number): number[] {
    this.#forgetIfOthersWrote();
    const outcomes: number[] = [];
    for (let at = 0; at < group.length; ) {
      this.#applyOne(group, at, nowMs, outcomes);
      at += FIELDS_BEFORE_EVENTS + Number(group[at + 1]) * FIELDS_PER_EVENT;
    }
    return outcomes;
  }

  /** After a transaction that was rolled back: what it made known is not true. */
  forget(): void {
    this.#heads.clear();
    this.#knownVersion = null;
  }

  #forgetIfOthersWrote(): void {
    const version = firstOf(this.#dataVersion.get());
    if (version === this.#knownVersion && this.#heads.size < SQLITE_LIMITS.headsMax) return;
    this.#heads.clear();
    this.#knownVersion = version;
    this.#lastPosition = firstOf(this.#findLast.get()) ?? 0;
  }

  #applyOne(group: AppendGroup, at: number, nowMs: number, outcomes: number[]): void {
    const expected = Number(group[at]);
    const stream = String(group[at + 2]);
    const head = this.#headOf(stream);
    const revision = head?.revision ?? NO_REVISION;
    if (expected === revision) this.#write(group, at, head ?? this.#create(stream), nowMs, outcomes);
    else if (expected > revision || head === null) outcomes.push(CONFLICT, revision, 0);
    else this.#compare(group, at, head, outcomes);
  }

  #write(group: AppendGroup, at: number, head: StreamHead, nowMs: number, outcomes: number[]): void {
    const end = endOf(group, at);
    for (let field = at + FIELDS_BEFORE_EVENTS; field < end; field += FIELDS_PER_EVENT) {
      const [id, type, data, metadata] = [group[field], group[field + 1], group[field + 2], group[field + 3]];
      this.#addEvent.run(
        ++this.#lastPosition,
        head.streamId,
        ++head.revision,
        id ?? null,
        type ?? null,
        data ?? null,
        metadata ?? null,
        nowMs,
      );
    }
    outcomes.push(APPENDED, head.revision, this.#lastPosition);
  }

  /** The expected revision is behind: an exact retry, or one with a prefix of what was written; else a conflict. */
  #compare(group: AppendGroup, at: number, head: StreamHead, outcomes: number[]): void {
    let revision = Number(group[at]);
    let position = 0;
    const end = endOf(group, at);
    for (let field = at + FIELDS_BEFORE_EVENTS; field < end; field += FIELDS_PER_EVENT) {
      const found = firstOf(this.#findSame.get(head.streamId, ++revision, group[field] ?? null));
      if (found === null) {
        outcomes.push(CONFLICT, head.revision, 0);
        return;
      }
      position = found;
    }
    outcomes.push(REPEATED, revision, position);
  }

  #headOf(stream: string): StreamHead | null {
    const known = this.#heads.get(stream);
    if (known !== undefined) return known;
    const streamId = firstOf(this.#findStream.get(stream));
    if (streamId === null) return null;
    return this.#remember(stream, { streamId, revision: firstOf(this.#findHead.get(streamId)) ?? NO_REVISION });
  }

  #create(stream: string): StreamHead {
    const streamId = Number(this.#addStream.run(stream).lastInsertRowid);
    return this.#remember(stream, { streamId, revision: NO_REVISION });
  }

  #remember(stream: string, head: StreamHead): StreamHead {
    this.#heads.set(stream, head);
    return head;
  }
}

const endOf = (group: AppendGroup, at: number): number =>
  at + FIELDS_BEFORE_EVENTS + Number(group[at + 1]) * FIELDS_PER_EVENT;

/** The first column of a row of a statement that returns arrays; null where there is no row. */
function firstOf(row: unknown): number | null {
  const value: unknown = Array.isArray(row) ? row[0] : null;
  return typeof value === 'number' ? value : null;
}
