import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import fc from 'fast-check';
import { encodeEvents } from '../../contracts/event-codec.ts';
import type { AccountEvent } from '../../contracts/events.ts';
import {
  type AccountId,
  accountId,
  accountStream,
  commandId,
  type KeyId,
  type Position,
  position,
  revision,
} from '../../contracts/ids.ts';
import type { AccountViews } from '../../projections/account-views.ts';
import type { Projections } from '../../projections/projections.ts';
import { logCheckpointSchema } from '../../projections/sources/log-view-source.ts';
import { TopicCheckpoint } from '../../projections/sources/topic-checkpoint.ts';
import type { MemoryEventLog } from '../fixtures/ledger/memory-event-log.ts';
import { live, lives } from '../fixtures/ledger/random-life.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

/** Lives of a few accounts, the same in every run, with keys of their own. */
export function exampleLives(count: number): Map<AccountId, AccountEvent[]> {
  const steps = fc.sample(
    lives.filter((life) => life.length > 15),
    { seed: 20_261_105, numRuns: count },
  );
  return new Map(
    steps.map((life, number) => {
      const id = accountId(`a${number}`);
      return [id, live(life).map((event) => ownedBy(id, event))];
    }),
  );
}

/** An event of a life as one of an account's own: no two have one key. */
export function ownedBy(id: AccountId, event: AccountEvent): AccountEvent {
  if (event.type === 'AccountOpened') return { ...event, data: { ...event.data, accountId: id } };
  if (event.type !== 'ApiKeyIssued') return event;
  return { ...event, data: { ...event.data, sha256: secretOf(id, event.data.keyId) } };
}

/** By its SHA-256. */
export const secretOf = (id: AccountId, key: KeyId): string =>
  Buffer.from(`${id} ${key}`).toString('hex').padEnd(64, '0').slice(0, 64);

export function foldAll(views: AccountViews, of: ReadonlyMap<AccountId, readonly AccountEvent[]>): void {
  for (const [id, events] of of) foldFrom(views, id, events, 0);
}

export function foldFrom(views: AccountViews, id: AccountId, events: readonly AccountEvent[], first: number): void {
  for (const [index, event] of events.slice(first).entries()) views.fold(id, revision(first + index), event);
}

/** How far the views have folded: the highest position, by their checkpoint. */
export function positionOf({ checkpoint }: Projections): Position | null {
  if (checkpoint === null) return null;
  const { source, text } = checkpoint;
  return source === 'log'
    ? position(logCheckpointSchema.parse(JSON.parse(text)).position)
    : TopicCheckpoint.parse(text).highest;
}

let commands = 0;
/** Writes events to an account's stream as somebody else would. */
export function writeTo(log: MemoryEventLog, id: AccountId, events: readonly AccountEvent[]): void {
  const uuid = commandId(`019a5b3c-7777-7000-8000-${(++commands).toString(16).padStart(8, '0')}0000`);
  log.write(
    accountStream(id),
    encodeEvents(events, { commandId: uuid, actor: 'test', recordedAt: '2026-11-05T10:00:00.000Z' }),
  );
}

/** The lives on the log, interleaved, from each account's n-th event to before its m-th. */
export function writeLives(
  log: MemoryEventLog,
  of: ReadonlyMap<AccountId, readonly AccountEvent[]>,
  from: number,
  to: number,
) {
  for (let index = from; index < to; index += 3)
    for (const [id, events] of of) {
      const slice = events.slice(index, Math.min(index + 3, to));
      if (slice.length > 0) writeTo(log, id, slice);
    }
}

/** A file of its own. */
export const viewsFile = (): string => join(temporaryFolder(), 'views.db');

/** Every row of every table of a file, checkpoint and all, as text; not the time at which the views were last current. */
export function dump(path: string): string[] {
  const database = new DatabaseSync(path, { readOnly: true, timeout: 60_000 });
  try {
    const tables = database
      .prepare(
        `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT IN ('known_current', 'folded_lately', 'written', 'stamped') ORDER BY name`,
      )
      .all();
    return tables.flatMap(({ name }) =>
      database
        .prepare(`SELECT * FROM ${String(name)}`)
        .all()
        .map(({ stamp: _stamp, ...row }) => `${String(name)} ${JSON.stringify(row)}`)
        .sort(),
    );
  } finally {
    database.close();
  }
}

/** Every row but the checkpoint, which is of another kind in each feed. */
export const rowsOf = (path: string): string[] => dump(path).filter((row) => !row.startsWith('checkpoint '));

/** When the views of a file were last known to be current; null when they never were. */
export function currentAtMsOf(path: string): number | null {
  const database = new DatabaseSync(path, { readOnly: true, timeout: 60_000 });
  try {
    const row = database.prepare('SELECT at_ms FROM known_current').get();
    return row === undefined ? null : Number(row.at_ms);
  } finally {
    database.close();
  }
}

export function execute(path: string, sql: string): void {
  const database = new DatabaseSync(path, { timeout: 60_000 });
  database.exec(sql);
  database.close();
}
