import type { AccountEvent, CreditsDebited, EventData, ExceptionApproved, UsageRecorded } from '../contracts/events.ts';
import { type AccountId, type KeyId, keyId, NO_STREAM, type Revision } from '../contracts/ids.ts';
import { PICO_PER_MICRO, type PicoUsd, picoUsd } from '../contracts/money.ts';
import { type Lane, TOKEN_CLASSES, type TokenClass } from '../contracts/usage.ts';
import { LastUses } from '../ledger/account/last-uses.ts';
import { monthOfInstant } from '../ledger/account/month.ts';
import {
  type ColumnValue,
  isNext,
  numberOf,
  type OlderTable,
  type StoredRows,
  storedRevision,
  textOf,
  type View,
  type ViewRow,
  type ViewTable,
} from './view.ts';

const NAME = 'monthly';
/**
 * 2: uses, exceptions, and counts as text, because their sums pass what a number holds. 3: when each key was last used, of which rows
 * of version 2 say nothing.
 */
const VERSION = 3;

const rowsOf = (version: number): ViewTable => ({
  name: `${NAME}_v${version}`,
  columns: {
    account_id: 'TEXT',
    month: 'TEXT',
    model: 'TEXT',
    item: 'TEXT',
    lane: 'TEXT',
    requests: 'INTEGER',
    count: 'TEXT',
    amount_pico_usd: 'TEXT',
  },
  keyColumns: 5,
});

const revisionsOf = (version: number): ViewTable => ({
  name: `${NAME}_v${version}_revision`,
  columns: { account_id: 'TEXT', revision: 'INTEGER' },
  keyColumns: 1,
});

const ROWS = rowsOf(VERSION);
const REVISIONS = revisionsOf(VERSION);

/** A row a key, of the newest request's start (RFC 3339); none of a key that was never used. */
const LAST_USES: ViewTable = {
  name: `${NAME}_v${VERSION}_last_use`,
  columns: { account_id: 'TEXT', key_id: 'TEXT', last_used_at: 'TEXT' },
  keyColumns: 2,
};

/** A token class, a use, what debits left out (negative) and approvals took, or what was reversed: lines add up to what was debited. */
type MonthlyItem = TokenClass | `use:${string}` | 'exceptions' | 'reversals';

export interface MonthlyLine {
  readonly month: string;
  readonly model: string;
  readonly item: MonthlyItem;
  readonly lane: Lane;
  /** Requests that had this item. */
  requests: number;
  /** Tokens or uses recorded, whether they were charged or not; as reported, so there is no bound to their sum. */
  count: bigint;
  /** Exact cost of those that were debited, in pico-USD; the carry decides in which debit a part of it is. */
  amount: PicoUsd;
}

/** The lines of a month, a model and a lane, in the order in which they came. */
interface Group extends GroupKey {
  readonly lines: Line[];
  /** By item, where they are more than a handful: a provider names uses as it likes. */
  byItem: Map<MonthlyItem, Line> | null;
  /** Since their rows were taken. */
  changed: Line[];
}

type GroupKey = Pick<MonthlyLine, 'month' | 'model' | 'lane'>;
type Line = Pick<MonthlyLine, 'item' | 'requests' | 'count' | 'amount'> & { isChanged: boolean };

const HANDFUL = 16;

interface KeyUses {
  readonly last: LastUses;
  /** Since their rows were taken. */
  readonly changed: Set<KeyId>;
}

interface Entry {
  readonly id: AccountId;
  revision: Revision;
  /** As they came: those of the month that runs stand last. */
  groups: readonly Group[];
  /** Null where no key was used. */
  uses: KeyUses | null;
  /** Since its rows were taken. */
  isChanged: boolean;
}

const NO_GROUPS: readonly Group[] = Object.freeze([]);

/** Usage by account, month (of the request's start, UTC), model, item and lane; and when each key was last used. */
export class MonthlyView implements View {
  readonly name = NAME;
  readonly version = VERSION;
  readonly tables = [ROWS, REVISIONS, LAST_USES] as const;
  readonly revisions = REVISIONS;
  #accounts = new Map<AccountId, Entry>();
  /** As the balance view's. */
  #last: Entry | null = null;
  /** Those of accounts that are not in memory. */
  #stored: StoredRows | null = null;
  #changed: Entry[] = [];

  /** An account's lines of a month, in no particular order. */
  linesOf(id: AccountId, month: string): MonthlyLine[] {
    const groups = this.#find(id)?.groups ?? NO_GROUPS;
    return groups
      .filter((group) => group.month === month)
      .flatMap(({ model, lane, lines }) => lines.map(({ isChanged: _, ...line }) => ({ month, model, lane, ...line })));
  }

  /** Of an account's keys, as far as it is folded; to be gone on with. */
  lastUsesOf(id: AccountId): LastUses {
    return new LastUses(this.#find(id)?.uses?.last);
  }

  revisionOf(id: AccountId): Revision {
    return this.#find(id)?.revision ?? NO_STREAM;
  }

  apply(id: AccountId, at: Revision, event: AccountEvent): boolean {
    const entry = this.#find(id) ?? this.#add(id, NO_STREAM);
    if (!isNext(id, entry.revision, at)) return false;
    entry.revision = at;
    if (!entry.isChanged) this.#changed.push(entry);
    entry.isChanged = true;
    if (event.type === 'UsageRecorded') {
      addUsage(entry, event.data);
      noteUse(entry, event);
    }
    if (event.type === 'LateUsageReported') addUsage(entry, event.data.usage);
    if (event.type === 'CreditsDebited') addCost(entry, event.data);
    if (event.type === 'ExceptionApproved') addApproved(entry, event.data);
    if (event.type === 'DebitReversed') addReversed(entry, event.data);
    return true;
  }

  clear(): void {
    this.#stored = null;
    this.#accounts.clear();
    this.#last = null;
    this.#changed = [];
  }

  *takeChanges(): Generator<ViewRow> {
    const changed = this.#changed;
    this.#changed = [];
    // An account's rows are made in one go: its revision must not be newer than its lines.
    for (const entry of changed) yield* changedRows(entry);
  }

  restore(rows: StoredRows): void {
    this.#stored = rows;
  }

  /** Of version 2 the last uses are missing, and known of no key until all are folded anew. */
  olderTables(version: number): readonly OlderTable[] | null {
    if (version !== 2) return null;
    return [
      { from: rowsOf(version), to: ROWS },
      { from: revisionsOf(version), to: REVISIONS },
    ];
  }

  /** As the balance view's. */
  adopt(other: MonthlyView): void {
    this.#accounts = other.#accounts;
    this.#last = null;
    this.#stored = other.#stored;
    this.#changed = other.#changed;
  }

  #find(id: AccountId): Entry | undefined {
    if (this.#last?.id === id) return this.#last;
    const entry = this.#accounts.get(id) ?? this.#load(id);
    if (entry !== undefined) this.#last = entry;
    return entry;
  }

  #load(id: AccountId): Entry | undefined {
    const [at] = this.#stored?.of(REVISIONS, id, ([_id, at]) => storedRevision(at)) ?? [];
    if (at === undefined) return undefined;
    const lines = this.#stored?.of(ROWS, id, lineOf) ?? [];
    const entry = this.#add(id, at);
    for (const { month, model, lane, ...line } of lines)
      addLine(groupOf(entry, { month, model, lane }), { ...line, isChanged: false });
    const uses = this.#stored?.of(LAST_USES, id, lastUseOf) ?? [];
    if (uses.length > 0) entry.uses = { last: new LastUses(uses), changed: new Set() };
    return entry;
  }

  #add(id: AccountId, at: Revision): Entry {
    const entry: Entry = { id, revision: at, groups: NO_GROUPS, uses: null, isChanged: false };
    this.#accounts.set(id, entry);
    return entry;
  }
}

function changedRows(entry: Entry): ViewRow[] {
  const rows: ViewRow[] = [];
  entry.isChanged = false;
  for (const group of entry.groups) {
    if (group.changed.length === 0) continue;
    for (const line of group.changed) {
      line.isChanged = false;
      rows.push({ table: ROWS, values: valuesOf(entry.id, group, line) });
    }
    group.changed = [];
  }
  if (entry.uses !== null) rows.push(...changedUses(entry.id, entry.uses));
  rows.push({ table: REVISIONS, values: [entry.id, entry.revision] });
  return rows;
}

function changedUses(id: AccountId, { last, changed }: KeyUses): ViewRow[] {
  const rows = [...changed].map((key) => ({ table: LAST_USES, values: [id, key, last.at(key)] }));
  changed.clear();
  return rows;
}

function groupOf(entry: Entry, { month, model, lane }: GroupKey): Group {
  const { groups } = entry;
  for (let index = groups.length - 1; index >= 0; index--) {
    const group = groups[index];
    if (group?.model === model && group.month === month && group.lane === lane) return group;
  }
  const added: Group = { month, model, lane, lines: [], byItem: null, changed: [] };
  entry.groups = [...groups, added];
  return added;
}

function noteUse(entry: Entry, event: AccountEvent): void {
  entry.uses ??= { last: new LastUses(), changed: new Set() };
  const used = entry.uses.last.take(event);
  if (used !== null) entry.uses.changed.add(used);
}

function addUsage(entry: Entry, { startedAt, model, lane, tokens, uses }: UsageRecorded): void {
  const group = groupOf(entry, { month: monthOfInstant(startedAt), model, lane });
  for (const tokenClass of TOKEN_CLASSES) if (tokens[tokenClass] > 0) addCount(group, tokenClass, tokens[tokenClass]);
  for (const use of Object.keys(uses)) addCount(group, `use:${use}`, uses[use] ?? 0);
}

function addCost(entry: Entry, { month, model, lane, lines, uses, leftOut }: CreditsDebited): void {
  const group = groupOf(entry, { month, model, lane });
  for (const { tokenClass, cost } of lines) addAmount(group, tokenClass, cost);
  for (const { use, cost } of uses) addAmount(group, `use:${use}`, cost);
  if (leftOut > 0n) addAmount(group, 'exceptions', -leftOut * PICO_PER_MICRO);
}

function addApproved(entry: Entry, { month, model, lane, cost }: ExceptionApproved): void {
  if (cost > 0n) addAmount(groupOf(entry, { month, model, lane }), 'exceptions', cost);
}

const addReversed = (entry: Entry, { month, model, lane, amount }: EventData<'DebitReversed'>): void =>
  addAmount(groupOf(entry, { month, model, lane }), 'reversals', -amount * PICO_PER_MICRO);

function addCount(group: Group, item: MonthlyItem, count: number): void {
  const line = changing(group, item);
  line.requests += 1;
  line.count += BigInt(count);
}

function addAmount(group: Group, item: MonthlyItem, cost: bigint): void {
  const line = changing(group, item);
  line.amount = picoUsd(line.amount + cost);
}

function changing(group: Group, item: MonthlyItem): Line {
  const line =
    lineIn(group, item) ?? addLine(group, { item, requests: 0, count: 0n, amount: picoUsd(0n), isChanged: false });
  if (!line.isChanged) group.changed.push(line);
  line.isChanged = true;
  return line;
}

const lineIn = ({ lines, byItem }: Group, item: MonthlyItem): Line | undefined =>
  byItem === null ? lines.find((line) => line.item === item) : byItem.get(item);

function addLine(group: Group, line: Line): Line {
  group.lines.push(line);
  if (group.byItem !== null) group.byItem.set(line.item, line);
  else if (group.lines.length > HANDFUL) group.byItem = new Map(group.lines.map((one) => [one.item, one]));
  return line;
}

const valuesOf = (id: AccountId, group: Group, line: Line): ColumnValue[] => [
  id,
  group.month,
  group.model,
  line.item,
  group.lane,
  line.requests,
  line.count.toString(),
  line.amount.toString(),
];

function lineOf([, month, model, item, lane, requests, count, amount]: readonly ColumnValue[]): MonthlyLine {
  return {
    month: textOf(month),
    model: textOf(model),
    item: itemOf(textOf(item)),
    lane: lane === 'fast' ? 'fast' : 'standard',
    requests: numberOf(requests),
    count: BigInt(textOf(count)),
    amount: picoUsd(BigInt(textOf(amount))),
  };
}

const lastUseOf = ([, key, lastUsedAt]: readonly ColumnValue[]) => [keyId(textOf(key)), textOf(lastUsedAt)] as const;

function itemOf(item: string): MonthlyItem {
  if (item === 'exceptions' || item === 'reversals' || item.startsWith('use:')) return item as MonthlyItem;
  const known = TOKEN_CLASSES.find((name) => name === item);
  if (known === undefined) throw new Error(`${ROWS.name}: unknown item ${item}`);
  return known;
}
