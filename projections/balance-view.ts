import type { AccountEvent } from '../contracts/events.ts';
import { type AccountId, accountId, type RequestId, type Revision } from '../contracts/ids.ts';
import { type MicroUsd, microUsd } from '../contracts/money.ts';
import {
  ACCOUNT_STATE_VERSION,
  type AccountState,
  type ApiKey,
  type OpenAccount,
} from '../ledger/account/account-state.ts';
import { evolve } from '../ledger/account/evolve.ts';
import { evolveOwn, OwnParts } from '../ledger/account/evolve-own.ts';
import { type ExceptionsState, NO_EXCEPTIONS } from '../ledger/account/exceptions-state.ts';
import { type AccountSnapshot, UNOPENED } from '../ledger/account/load-account.ts';
import {
  accountOfText,
  accountText,
  accountUpcaster,
  exceptionOfStored,
  storedException,
  upcasterWithParts,
  withStoredExceptions,
} from '../ledger/account/stored-account.ts';
import {
  type KeptParts,
  keyOfText,
  NO_PARTS,
  partsOf,
  STORED_PARTS,
  type StoredPart,
} from '../ledger/account/stored-parts.ts';
import { ExpiryCalendar } from './expiry-calendar.ts';
import {
  type ColumnValue,
  isNext,
  type OlderTable,
  type StoredRows,
  storedRevision,
  textOf,
  type View,
  type ViewRow,
  type ViewTable,
} from './view.ts';

const NAME = 'balance';

const accountsOf = (version: number): ViewTable => ({
  name: `${NAME}_v${version}`,
  columns: { account_id: 'TEXT', revision: 'INTEGER', email: 'TEXT', balance_micro_usd: 'TEXT', state: 'TEXT' },
  keyColumns: 1,
});

/** Each by itself, because there may be any number of them: a write brings those that have changed. */
const exceptionsTableOf = (version: number): ViewTable => ({
  name: `${NAME}_v${version}_exception`,
  columns: { account_id: 'TEXT', request_id: 'TEXT', state: 'TEXT', exception: 'TEXT' },
  keyColumns: 2,
});

const partsTableOf = ({ name }: StoredPart, version = ACCOUNT_STATE_VERSION): ViewTable => ({
  name: `${NAME}_v${version}_${name}`,
  columns: { account_id: 'TEXT', id: 'TEXT', value: 'TEXT' },
  keyColumns: 2,
});

const ACCOUNTS = accountsOf(ACCOUNT_STATE_VERSION);
const EXCEPTIONS = exceptionsTableOf(ACCOUNT_STATE_VERSION);

/** Where the parts of each kind stand. */
export const PART_TABLES: ReadonlyMap<StoredPart, ViewTable> = new Map(
  Object.values(STORED_PARTS).map((part) => [part, partsTableOf(part)]),
);
export const KEYS = partsTableOf(STORED_PARTS.keys);

/** More of them are read at the start: some milliseconds' worth. */
const EXCEPTIONS_AT_ONCE = 100;

/** Each account's grants, carry, keys, limits, by its own fold: admission reads what settlement decides on. */
export class BalanceView implements View {
  readonly name = NAME;
  readonly version = ACCOUNT_STATE_VERSION;
  readonly tables = [ACCOUNTS, EXCEPTIONS, ...PART_TABLES.values()] as const;
  readonly revisions = ACCOUNTS;
  #accounts = new Map<AccountId, Entry>();
  /** Found last: a request's events come together, and each is asked for several times. */
  #last: Entry | null = null;
  /** Those of accounts that are not in memory. */
  #stored: StoredRows | null = null;
  /** Of accounts that nobody has read. */
  #unreadExpiries = new ExpiryCalendar();
  #openExceptions = NONE_OPEN;
  #changed: Entry[] = [];
  #changedExceptions = new Map<AccountId, Set<RequestId>>();

  read(id: AccountId): AccountSnapshot {
    const entry = this.#find(id);
    return entry === undefined ? UNOPENED : shown(entry);
  }

  /** The same, for one look: what is not in memory is not kept for it. */
  glance(id: AccountId): AccountSnapshot {
    const entry = this.#accounts.get(id) ?? this.#storedEntry(id);
    return entry === undefined ? UNOPENED : shown(entry);
  }

  /**
   * All that are in memory: what was folded or asked for here, and whoever has leases or many exceptions. Any other account stands in the
   * file as it was before.
   */
  *loaded(): Generator<readonly [AccountId, OpenAccount]> {
    for (const [id, entry] of this.#accounts) yield [id, shown(entry).state];
  }

  /** Also those that are in the file, which are not kept for it. Nothing may be folded meanwhile. */
  *all(): Generator<readonly [AccountId, Omit<OpenAccount, 'exceptions' | 'keys' | 'spend'>]> {
    const others = new Map(this.#accounts);
    for (const { id, snapshot } of this.#stored?.all(ACCOUNTS, entryOf) ?? []) {
      const other = others.get(id);
      yield [id, (other === undefined ? snapshot : shown(other)).state];
      others.delete(id);
    }
    for (const [id, entry] of others) yield [id, shown(entry).state];
  }

  ids(): AccountId[] {
    return [...new Set([...this.#idsOf(ACCOUNTS), ...this.#accounts.keys()])];
  }

  /** Who has exceptions, open or ended, is among them. */
  idsWithExceptions(): AccountId[] {
    return [...new Set([...this.#idsOf(EXCEPTIONS), ...this.#accounts.keys()])];
  }

  #idsWithMany(): AccountId[] {
    const counts = new Map<AccountId, number>();
    for (const id of this.#idsOf(EXCEPTIONS)) counts.set(id, (counts.get(id) ?? 0) + 1);
    return [...counts].filter(([, count]) => count > EXCEPTIONS_AT_ONCE).map(([id]) => id);
  }

  #idsOf(table: ViewTable): Iterable<AccountId> {
    return this.#stored?.all(table, ([id]) => accountId(textOf(id))) ?? [];
  }

  /**
   * One look at each account of the file, without its parts, and at each key, which each step takes one of, for what is asked of
   * all at once, which `each` may add to. @throws Error where a row is not of its form
   */
  *survey(
    each: (id: AccountId, state: OpenAccount, at: Revision) => void,
    eachKey: (id: AccountId, key: ApiKey) => void,
  ): Generator<void> {
    for (const { id, snapshot } of this.#stored?.all(ACCOUNTS, entryOf) ?? []) {
      const { state } = snapshot;
      this.#count(NO_EXCEPTIONS, state.exceptions);
      this.#unreadExpiries.add(id, state.grants);
      if (Object.keys(state.leases).length > 0) this.#load(id);
      each(id, state, snapshot.revision);
      yield;
    }
    for (const [id, key] of this.#stored?.all(KEYS, ofKeyRow) ?? []) {
      eachKey(id, key);
      yield;
    }
    // The start has the time to read many exceptions, and the first request of their account has not.
    for (const id of this.#idsWithMany()) {
      if (!this.#accounts.has(id)) this.#load(id);
      yield;
    }
  }

  /** Brings those into memory, so many at most, of which credits end by an instant. Returns how many these were. */
  loadExpiring(byMs: number, accountsMax: number): number {
    let loaded = 0;
    for (const id of this.#unreadExpiries.due(byMs)) {
      if (!this.#accounts.has(id) && this.#load(id) !== undefined) loaded++;
      if (loaded >= accountsMax) break;
    }
    return loaded;
  }

  /** The exceptions of all accounts that wait for an operator: kept as a sum, so that whoever asks looks at none. */
  get openExceptions(): OpenExceptions {
    return this.#openExceptions;
  }

  revisionOf(id: AccountId): Revision {
    return this.#find(id)?.snapshot.revision ?? UNOPENED.revision;
  }

  apply(id: AccountId, at: Revision, event: AccountEvent): boolean {
    const entry = this.#find(id);
    const { state: before, revision } = entry?.snapshot ?? UNOPENED;
    if (!isNext(id, revision, at)) return false;
    if (entry?.isChanged === false) entry.kept = partsOf(entry.snapshot.state);
    const after = entry === undefined ? evolve(before, event) : evolvedOwn(entry, event);
    this.#noteException(id, event, before, after);
    const changed = this.#set(id, entry, { state: after, revision: at });
    if (!changed.isChanged) this.#changed.push(changed);
    changed.isChanged = true;
    return true;
  }

  clear(): void {
    this.#stored = null;
    this.#unreadExpiries.clear();
    this.#accounts.clear();
    this.#last = null;
    this.#openExceptions = NONE_OPEN;
    this.#changed = [];
    this.#changedExceptions.clear();
  }

  *takeChanges(): Generator<ViewRow> {
    const changed = this.#changed;
    this.#changed = [];
    for (const entry of changed) {
      entry.isChanged = false;
      // Taken together, and changed by nobody: what is folded while they are written is not in them.
      entry.own = null;
      const { id, snapshot, kept } = entry;
      const { state, revision } = snapshot;
      entry.kept = NO_PARTS;
      const exceptions = this.#changedExceptions.get(id) ?? [];
      this.#changedExceptions.delete(id);
      yield { table: ACCOUNTS, values: [id, revision, state.email, state.balance.toString(), accountText(state)] };
      yield* partRows(id, kept, partsOf(state));
      for (const requestId of exceptions) {
        const stored = storedException(state, requestId);
        yield { table: EXCEPTIONS, values: [id, requestId, stored.state, stored.text] };
      }
    }
  }

  restore(rows: StoredRows): void {
    this.#stored = rows;
  }

  /** Exceptions are as they have been since they have had rows of their own. */
  olderTables(version: number): readonly OlderTable[] | null {
    const withParts = tablesWithParts(version);
    if (withParts !== null) return withParts;
    const upcast = accountUpcaster(version);
    if (upcast === null) return null;
    const rowsOf = function* (row: readonly ColumnValue[]): Generator<ViewRow> {
      const state = upcast(textOf(row.at(-1)));
      yield { table: ACCOUNTS, values: [...row.slice(0, -1), accountText(state)] };
      yield* partRows(accountId(textOf(row[0])), NO_PARTS, partsOf(state));
    };
    return [
      { from: accountsOf(version), to: ACCOUNTS, upcast: rowsOf },
      { from: exceptionsTableOf(version), to: EXCEPTIONS },
    ];
  }

  /** Has from here on what another one has, which nobody may use any more. */
  adopt(other: BalanceView): void {
    this.#accounts = other.#accounts;
    this.#last = null;
    this.#stored = other.#stored;
    this.#unreadExpiries = other.#unreadExpiries;
    this.#openExceptions = other.#openExceptions;
    this.#changed = other.#changed;
    this.#changedExceptions = other.#changedExceptions;
  }

  #find(id: AccountId): Entry | undefined {
    if (this.#last?.id === id) return this.#last;
    const entry = this.#accounts.get(id) ?? this.#load(id);
    if (entry !== undefined) this.#last = entry;
    return entry;
  }

  #load(id: AccountId): Entry | undefined {
    const entry = this.#storedEntry(id);
    if (entry !== undefined) this.#accounts.set(id, entry);
    return entry;
  }

  #storedEntry(id: AccountId): Entry | undefined {
    const [entry] = this.#stored?.of(ACCOUNTS, id, entryOf) ?? [];
    if (entry === undefined) return undefined;
    const { revision } = entry.snapshot;
    let { state } = entry.snapshot;
    for (const [part, table] of PART_TABLES) state = part.put(state, this.#stored?.of(table, id, partOf) ?? []);
    const exceptions = this.#stored?.of(EXCEPTIONS, id, exceptionOf) ?? [];
    // The sums of them are there.
    if (exceptions.length > 0) state = withStoredExceptions(state, exceptions);
    entry.snapshot = { state, revision };
    return entry;
  }

  #noteException(id: AccountId, { data }: AccountEvent, before: AccountState, { exceptions }: OpenAccount): void {
    const { open, ended } = exceptionsOf(before);
    if (!('requestId' in data) || (exceptions.open === open && exceptions.ended === ended)) return;
    const changed = this.#changedExceptions.get(id);
    if (changed === undefined) this.#changedExceptions.set(id, new Set([data.requestId]));
    else changed.add(data.requestId);
  }

  /** @param entry what there is of the account; undefined is nothing */
  #set(id: AccountId, entry: Entry | undefined, snapshot: OpenSnapshot): Entry {
    this.#count(exceptionsOf(entry?.snapshot.state ?? UNOPENED.state), snapshot.state.exceptions);
    if (entry !== undefined) {
      entry.snapshot = snapshot;
      return entry;
    }
    const added = { id, snapshot, isChanged: false, own: null, kept: NO_PARTS };
    this.#accounts.set(id, added);
    return added;
  }

  #count(before: ExceptionsState, after: ExceptionsState): void {
    if (after.openCount === before.openCount && after.openAmount === before.openAmount) return;
    const { count, amount } = this.#openExceptions;
    this.#openExceptions = {
      count: count - before.openCount + after.openCount,
      amount: microUsd(amount - before.openAmount + after.openAmount),
    };
  }
}

/** Of a row; its exceptions and its parts have rows of their own. */
function entryOf([id, at, _email, _balance, json]: readonly ColumnValue[]): Entry {
  const snapshot = { state: accountOfText(textOf(json)), revision: storedRevision(at) };
  return { id: accountId(textOf(id)), snapshot, isChanged: false, own: null, kept: NO_PARTS };
}

/** From here on it stays as it is. */
function shown(entry: Entry): OpenSnapshot {
  entry.own = null;
  return entry.snapshot;
}

function evolvedOwn(entry: Entry, event: AccountEvent): OpenAccount {
  entry.own ??= new OwnParts();
  return evolveOwn(entry.snapshot.state, event, entry.own);
}

/** Of a version that has parts as rows, each table is that of now; null of any other. */
function tablesWithParts(version: number): readonly OlderTable[] | null {
  const upcast = upcasterWithParts(version);
  if (upcast === null) return null;
  const table = (from: ViewTable, to: ViewTable, change: (text: string) => string): OlderTable => ({
    ...{ from, to },
    upcast: (row) => [{ table: to, values: [...row.slice(0, -1), change(textOf(row.at(-1)))] }],
  });
  return [
    table(accountsOf(version), ACCOUNTS, upcast.ofAccount),
    { from: exceptionsTableOf(version), to: EXCEPTIONS },
    ...[...PART_TABLES].map(([part, to]) => {
      const from = partsTableOf(part, version);
      return part === STORED_PARTS.endedAttempts ? table(from, to, upcast.ofEndedAttempt) : { from, to };
    }),
  ];
}

function* partRows(id: AccountId, before: KeptParts, after: KeptParts): Generator<ViewRow> {
  for (const [part, table] of PART_TABLES)
    for (const [of, text] of part.changes(before, after))
      yield text === null ? { table, values: [id, of, ''], isGone: true } : { table, values: [id, of, text] };
}

const partOf = ([_id, of, text]: readonly ColumnValue[]) => [textOf(of), textOf(text)] as const;

/** Of a row of `KEYS`. */
export const ofKeyRow = ([id, , text]: readonly ColumnValue[]) =>
  [accountId(textOf(id)), keyOfText(textOf(text))] as const;

const exceptionOf = ([_id, requestId, state, text]: readonly ColumnValue[]) =>
  [textOf(requestId), exceptionOfStored({ state: textOf(state), text: textOf(text) })] as const;

type OpenSnapshot = AccountSnapshot & { readonly state: OpenAccount };

/** Found once for an event, and changed in place; a snapshot that somebody has read stays as it is. */
interface Entry {
  readonly id: AccountId;
  snapshot: OpenSnapshot;
  /** Since its rows were taken. */
  isChanged: boolean;
  /** Where it is changed: its parts as its rows have them. */
  kept: KeptParts;
  /** What of its state was made since somebody has read it, or its rows were taken, and nobody else has. */
  own: OwnParts | null;
}

interface OpenExceptions {
  readonly count: number;
  /** What they would debit, each without its account's carry. */
  readonly amount: MicroUsd;
}

const NONE_OPEN: OpenExceptions = { count: 0, amount: microUsd(0n) };

const exceptionsOf = (state: AccountState) => (state.type === 'open' ? state.exceptions : NO_EXCEPTIONS);
