import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { z } from 'zod';
import {
  accountId,
  accountStream,
  CATALOG_STREAM,
  eventId,
  ledgerId,
  type Position,
  position,
  type StreamName,
} from '../contracts/ids.ts';
import { isSameLedger, type LedgerIdentity } from '../contracts/ledger-identity.ts';
import { makeForFolderOwner } from '../ledger/folder-owner.ts';
import type { KnownEvent, LedgerKnowledge } from '../ledger/identity/known-ledger.ts';
import { IDENTITY_LIMITS } from '../ledger/identity/limits.ts';
import { openRows } from './restored-rows.ts';
import { type LogCheckpoint, logCheckpointSchema } from './sources/log-view-source.ts';
import { TopicCheckpoint } from './sources/topic-checkpoint.ts';
import { UPCAST_FROM } from './view-file.ts';

const keptKey = z.looseObject({
  revokedAtMs: z.number().nullish(),
  sha256: z.string().default(''),
  previous: z.unknown().optional(),
});

/** What of an account must outlive a ledger that has forgotten it; read from views of any version. */
const keptSchema = z.looseObject({
  suspended: z.string().nullish(),
  /** Since version 18 each is a row of its own. */
  keys: z.record(z.string(), keptKey).default({}),
});

/** Of each account that views know, who is refused in it. */
export interface KnownLockouts {
  /** Of the ledger that the views are of; 1 where they are from before there were generations. */
  readonly generation: number;
  readonly accounts: readonly {
    readonly accountId: string;
    readonly revision: number;
    /** Why it is; null where it is not. */
    readonly suspended: string | null;
    readonly revokedKeys: readonly string[];
    /** Those of the others that were rotated, with the SHA-256 of the newest secret: the ones before are not to work again. */
    readonly rotatedKeys: readonly { readonly keyId: string; readonly sha256: string }[];
  }[];
}

export const VIEWS_FILE = 'views.db';

/** What a views' file knows of its ledger. Null where there is no such file. @throws Error when it is no database. */
export function readKnownViews(path: string): LedgerKnowledge | null {
  return reading(path, (database, tables) => {
    const identity = tables.has('of_ledger') ? identityIn(database) : null;
    const newest = [...checkpointIn(database, tables), ...catalogIn(database, tables)];
    const accounts = accountsIn(database, tables);
    // The log is one order: with its newest event there, what stood before it is.
    const isComparable = accounts.length <= IDENTITY_LIMITS.accountsCompared || newest.length === 0;
    if (isComparable) return { source: VIEWS_FILE, identity, events: [...newest, ...accounts] };
    return { source: VIEWS_FILE, identity, events: newest, notCompared: accountCountIn(database, tables) };
  });
}

/** Which ledger a views' file is of; null where it does not say so, or there is none. @throws as `readKnownViews` */
export const readLedgerOfViews = (path: string): LedgerIdentity | null =>
  reading(path, (database, tables) => (tables.has('of_ledger') ? identityIn(database) : null));

/** Whether it is of this one, in its generation. @throws as `readKnownViews` */
export function areViewsOf(path: string, identity: LedgerIdentity | null): boolean {
  const of = readLedgerOfViews(path);
  return of === null || identity === null ? of === identity : isSameLedger(of, identity);
}

export interface FoldedThrough {
  /** Where their events come from, by the source's name. */
  readonly feed: string;
  /** They hold every event of the log up to here; null where that is not known yet. */
  readonly position: Position | null;
  /** The event that stands there, where the log itself feeds them: in a log that the ledger has moved to it stands elsewhere. */
  readonly last: LogCheckpoint | null;
}

/** How far a views' file goes; null where there is none, or nothing is folded in it. @throws as `readKnownViews` */
export const readFoldedThrough = (path: string): FoldedThrough | null =>
  reading(path, (database, tables) => {
    const row = tables.has('checkpoint')
      ? database.prepare('SELECT feed, checkpoint FROM checkpoint').get()
      : undefined;
    if (row === undefined) return null;
    const [feed, text] = [String(row.feed), String(row.checkpoint)];
    if (feed !== 'log') return { feed, position: TopicCheckpoint.parse(text).verified, last: null };
    const last = logCheckpointSchema.parse(JSON.parse(text));
    return { feed, position: position(last.position), last };
  });

/** Null where there is no such file. @throws as `readKnownViews` */
export const readLockouts = (path: string): KnownLockouts | null =>
  reading(path, (database, tables) => {
    const rows = Map.groupBy(partRowsIn(database, tables, 'key'), ({ accountId }) => accountId);
    const accounts = balanceStatesIn(database, tables).map(({ accountId, revision, state }) => {
      const { suspended = null, keys } = keptSchema.parse(JSON.parse(state));
      for (const { id, value } of rows.get(accountId) ?? []) keys[id] = keptKey.parse(JSON.parse(value));
      const revokedKeys = Object.entries(keys).flatMap(([key, { revokedAtMs }]) => (revokedAtMs == null ? [] : [key]));
      const rotatedKeys = Object.entries(keys).flatMap(([keyId, { revokedAtMs, previous, sha256 }]) =>
        revokedAtMs == null && previous != null ? [{ keyId, sha256 }] : [],
      );
      return { accountId, revision, suspended, revokedKeys, rotatedKeys };
    });
    return { generation: (tables.has('of_ledger') ? identityIn(database) : null)?.generation ?? 1, accounts };
  });

interface BalanceState {
  readonly accountId: string;
  readonly revision: number;
  /** What the account folds to, as JSON text, in whatever version the file holds it. */
  readonly state: string;
}

/** In which version the file holds the accounts; null where it holds none. @throws as `readKnownViews` */
export const readBalanceVersion = (path: string): number | null =>
  reading(path, (database, tables) => versionIn('balance', database, tables));

/** In the order of their ids; none where there is no such file. @throws as `readKnownViews` */
export const readBalanceStates = (path: string): BalanceState[] => reading(path, balanceStatesIn) ?? [];

function balanceStatesIn(database: DatabaseSync, tables: ReadonlySet<string>): BalanceState[] {
  const table = versioned('balance', database, tables);
  if (table === null) return [];
  const rows = database.prepare(`SELECT account_id, revision, state FROM ${table} ORDER BY account_id`).all();
  return rows.map(balanceStateOf);
}

const STATES_A_PAGE = 1_000;

export interface PagedState extends BalanceState {
  /** What of one kind stands in rows of their own, by id, as JSON text; to be asked for while the page is the last. */
  readonly parts: (part: string) => readonly (readonly [id: string, value: string])[];
}

/** The same, so many at a time: a file may have a million. @throws as `readKnownViews` */
export function* balancePages(path: string): Generator<PagedState[]> {
  if (!existsSync(path)) return;
  const database = openRows(path);
  try {
    const tables = tablesOf(database);
    const table = versioned('balance', database, tables);
    if (table === null) return;
    const partsOf = (accountId: string) => (part: string) =>
      tables.has(`${table}_${part}`)
        ? database
            .prepare(`SELECT id, value FROM ${table}_${part} WHERE account_id = ?`)
            .all(accountId)
            .map(({ id, value }) => [String(id), String(value)] as const)
        : [];
    const page = database.prepare(
      `SELECT account_id, revision, state FROM ${table} WHERE account_id > ? ORDER BY account_id LIMIT ${STATES_A_PAGE}`,
    );
    let after = '';
    for (;;) {
      const states = page.all(after).map((row) => ({ ...balanceStateOf(row), parts: partsOf(String(row.account_id)) }));
      if (states.length === 0) return;
      yield states;
      after = states.at(-1)?.accountId ?? '';
    }
  } finally {
    database.close();
  }
}

const balanceStateOf = ({ account_id, revision, state }: Record<string, unknown>): BalanceState => ({
  ...{ accountId: String(account_id), revision: Number(revision), state: String(state) },
});

interface StoredExceptionRow {
  readonly accountId: string;
  readonly requestId: string;
  readonly state: string;
  /** JSON of an open one; empty otherwise. */
  readonly exception: string;
}

/** Exceptions that stand in rows of their own, as they have since version 6; none of views from before. @throws as `readKnownViews` */
export const readExceptionRows = (path: string): StoredExceptionRow[] =>
  reading(path, (database, tables) => {
    const table = `${versioned('balance', database, tables)}_exception`;
    if (!tables.has(table)) return [];
    const rows = database.prepare(`SELECT account_id, request_id, state, exception FROM ${table}`).all();
    return rows.map(({ account_id, request_id, state, exception }) => ({
      ...{ accountId: String(account_id), requestId: String(request_id) },
      ...{ state: String(state), exception: String(exception) },
    }));
  }) ?? [];

interface StoredPartRow {
  readonly accountId: string;
  readonly id: string;
  /** JSON. */
  readonly value: string;
}

/** Parts of accounts that stand in rows of their own, as they have since version 18; none of views from before. @throws as `readKnownViews` */
export const readPartRows = (path: string, part: string): StoredPartRow[] =>
  reading(path, (database, tables) => partRowsIn(database, tables, part)) ?? [];

function partRowsIn(database: DatabaseSync, tables: ReadonlySet<string>, part: string): StoredPartRow[] {
  const table = `${versioned('balance', database, tables)}_${part}`;
  if (!tables.has(table)) return [];
  const rows = database.prepare(`SELECT account_id, id, value FROM ${table}`).all();
  return rows.map(({ account_id, id, value }) => ({
    ...{ accountId: String(account_id), id: String(id), value: String(value) },
  }));
}

/** The catalog's last event that was folded, as JSON text in whatever version the file holds it; null where there is none. @throws as `readKnownViews` */
export const readNewestPublication = (path: string): { revision: number; publication: string } | null =>
  reading(path, (database, tables) => {
    const table = versioned('catalog', database, tables);
    if (table === null) return null;
    const row = database.prepare(`SELECT revision, publication FROM ${table} ORDER BY revision DESC LIMIT 1`).get();
    return row === undefined ? null : { revision: Number(row.revision), publication: String(row.publication) };
  });

/** Of which version the rows were that views have, where they were not folded (upcast-views.ts). @throws as `readKnownViews` */
export const readUpcastFrom = (path: string): ReadonlyMap<string, number> =>
  reading(path, (database, tables) => {
    if (!tables.has(UPCAST_FROM)) return null;
    const rows = database.prepare(`SELECT name, version FROM ${UPCAST_FROM}`).all();
    return new Map(rows.map(({ name, version }) => [String(name), Number(version)]));
  }) ?? new Map();

/** Whether a file has this table beside those of its views. @throws as `readKnownViews` */
export const hasTable = (path: string, name: string): boolean =>
  reading(path, (_database, tables) => tables.has(name)) ?? false;

function reading<T>(path: string, read: (database: DatabaseSync, tables: ReadonlySet<string>) => T): T | null {
  if (!existsSync(path)) return null;
  const database = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
  try {
    return read(database, tablesOf(database));
  } finally {
    database.close();
  }
}

/** Says in a views' file which ledger its rows are of. The file's other tables are made by the view store. */
export function writeLedgerOfViews(path: string, identity: LedgerIdentity): void {
  makeForFolderOwner(path);
  const database = new DatabaseSync(path, { timeout: 5_000 });
  try {
    database.exec('PRAGMA journal_mode = WAL');
    putLedgerOfViews(database, identity);
  } finally {
    database.close();
  }
}

/** The same, in one that is open. */
export function putLedgerOfViews(database: DatabaseSync, { ledgerId, generation }: LedgerIdentity): void {
  database.exec(`CREATE TABLE IF NOT EXISTS of_ledger (
    one INTEGER PRIMARY KEY CHECK (one = 1), ledger_id TEXT NOT NULL, generation INTEGER NOT NULL
  ) STRICT`);
  // Asked and not read: what no identity can be is written over.
  const known = database.prepare('SELECT 1 FROM of_ledger WHERE ledger_id = ? AND generation = ?');
  if (known.get(ledgerId, generation) !== undefined) return;
  database.prepare('INSERT OR REPLACE INTO of_ledger VALUES (1, ?, ?)').run(ledgerId, generation);
}

const tablesOf = (database: DatabaseSync): ReadonlySet<string> =>
  new Set(
    database
      .prepare(`SELECT name FROM sqlite_schema WHERE type = 'table'`)
      .all()
      .map(({ name }) => String(name)),
  );

function identityIn(database: DatabaseSync): LedgerIdentity | null {
  const row = database.prepare('SELECT ledger_id, generation FROM of_ledger').get();
  if (row === undefined) return null;
  return { ledgerId: ledgerId(String(row.ledger_id)), generation: Number(row.generation) };
}

/** The last event that was folded, where the views are fed from the log itself. */
function checkpointIn(database: DatabaseSync, tables: ReadonlySet<string>): KnownEvent[] {
  if (!tables.has('checkpoint')) return [];
  const row = database.prepare(`SELECT checkpoint FROM checkpoint WHERE feed = 'log'`).get();
  if (row === undefined) return [];
  const { stream, revision, id } = logCheckpointSchema.parse(JSON.parse(String(row.checkpoint)));
  return [{ stream: stream as StreamName, revision, id: eventId(id) }];
}

function catalogIn(database: DatabaseSync, tables: ReadonlySet<string>): KnownEvent[] {
  const table = versioned('catalog', database, tables);
  if (table === null) return [];
  const newest = database.prepare(`SELECT max(revision) AS revision FROM ${table}`).get()?.revision;
  return typeof newest === 'number' ? [{ stream: CATALOG_STREAM, revision: newest, id: null }] : [];
}

function accountsIn(database: DatabaseSync, tables: ReadonlySet<string>): KnownEvent[] {
  const table = versioned('balance', database, tables);
  if (table === null) return [];
  const some = `SELECT account_id, revision FROM ${table} WHERE revision >= 0 LIMIT ${IDENTITY_LIMITS.accountsCompared + 1}`;
  return database
    .prepare(some)
    .all()
    .map((row) => ({
      stream: accountStream(accountId(String(row.account_id))),
      revision: Number(row.revision),
      id: null,
    }));
}

function accountCountIn(database: DatabaseSync, tables: ReadonlySet<string>): number {
  const table = versioned('balance', database, tables);
  return table === null ? 0 : Number(database.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.n);
}

/** The table of a view, in whatever version the file holds it; null where it holds none. */
function versioned(view: string, database: DatabaseSync, tables: ReadonlySet<string>): string | null {
  const version = versionIn(view, database, tables);
  return version === null ? null : `${view}_v${version}`;
}

function versionIn(view: string, database: DatabaseSync, tables: ReadonlySet<string>): number | null {
  if (!tables.has('stored_view')) return null;
  const version = database.prepare('SELECT version FROM stored_view WHERE name = ?').get(view)?.version;
  return version !== undefined && tables.has(`${view}_v${Number(version)}`) ? Number(version) : null;
}
