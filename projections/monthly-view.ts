import type { AccountEvent, CreditsDebited, ExceptionApproved, UsageRecorded } from '../contracts/events.ts';
import { type AccountId, accountId, NO_STREAM, type Revision, revision } from '../contracts/ids.ts';
import { PICO_PER_MICRO, type PicoUsd, picoUsd } from '../contracts/money.ts';
import { type Lane, TOKEN_CLASSES, type TokenClass } from '../contracts/usage.ts';
import { monthOf } from '../ledger/account/month.ts';
import { type ColumnValue, numberOf, textOf, type View, type ViewRow, type ViewTable } from './view.ts';

const NAME = 'monthly';
/** 2: uses, exceptions, and counts as text, because their sums pass what a number holds. */
const VERSION = 2;

const ROWS: ViewTable = {
  name: `${NAME}_v${VERSION}`,
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
};

const REVISIONS: ViewTable = {
  name: `${NAME}_v${VERSION}_revision`,
  columns: { account_id: 'TEXT', revision: 'INTEGER' },
  keyColumns: 1,
};

/** A token class, a use, or what debits left out (negative) and approvals took: lines add up to the debits. */
type MonthlyItem = TokenClass | `use:${string}` | 'exceptions';

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

/** The lines of a month, a model and a lane, by item. */
type Group = Map<MonthlyItem, MonthlyLine>;

interface Entry {
  revision: Revision;
  readonly groups: Map<string, Group>;
  changed: Set<MonthlyLine> | null;
}

/** Usage by account, month (of the request's start, UTC), model, item and lane. */
export class MonthlyView implements View {
  readonly name = NAME;
  readonly version = VERSION;
  readonly tables = [ROWS, REVISIONS];
  readonly #accounts = new Map<AccountId, Entry>();
  #changed = new Set<AccountId>();

  /** An account's lines of a month, in no particular order. */
  linesOf(id: AccountId, month: string): MonthlyLine[] {
    const groups = this.#accounts.get(id)?.groups.values() ?? [];
    return [...groups].flatMap((group) => [...group.values()]).filter((line) => line.month === month);
  }

  revisionOf(id: AccountId): Revision {
    return this.#accounts.get(id)?.revision ?? NO_STREAM;
  }

  apply(id: AccountId, at: Revision, event: AccountEvent): void {
    const entry = this.#entryOf(id);
    entry.revision = at;
    this.#changed.add(id);
    if (event.type === 'UsageRecorded') addUsage(entry, event.data);
    if (event.type === 'LateUsageReported') addUsage(entry, event.data.usage);
    if (event.type === 'CreditsDebited') addCost(entry, event.data);
    if (event.type === 'ExceptionApproved') addApproved(entry, event.data);
  }

  clear(): void {
    this.#accounts.clear();
    this.#changed = new Set();
  }

  *takeChanges(): Generator<ViewRow> {
    const changed = this.#changed;
    this.#changed = new Set();
    // An account's rows are made in one go: its revision must not be newer than its lines.
    for (const id of changed) yield* this.#changedRows(id);
  }

  restore(table: ViewTable, values: readonly ColumnValue[]): void {
    const entry = this.#entryOf(accountId(textOf(values[0])));
    if (table === REVISIONS) entry.revision = revision(numberOf(values[1]));
    else {
      const line = lineOf(values);
      groupOf(entry, line).set(line.item, line);
    }
  }

  #changedRows(id: AccountId): ViewRow[] {
    const entry = this.#entryOf(id);
    const changed = entry.changed ?? [];
    entry.changed = null;
    const rows: ViewRow[] = [];
    for (const line of changed) rows.push({ table: ROWS, values: valuesOf(id, line) });
    rows.push({ table: REVISIONS, values: [id, entry.revision] });
    return rows;
  }

  #entryOf(id: AccountId): Entry {
    let entry = this.#accounts.get(id);
    if (entry === undefined) {
      entry = { revision: NO_STREAM, groups: new Map(), changed: null };
      this.#accounts.set(id, entry);
    }
    return entry;
  }
}

type GroupKey = Pick<MonthlyLine, 'month' | 'model' | 'lane'>;

function groupOf(entry: Entry, { month, model, lane }: GroupKey): Group {
  const key = `${month} ${lane} ${model}`;
  let group = entry.groups.get(key);
  if (group === undefined) {
    group = new Map();
    entry.groups.set(key, group);
  }
  return group;
}

function addUsage(entry: Entry, { startedAt, model, lane, tokens, uses }: UsageRecorded): void {
  const lineOf = changing(entry, { month: monthOf(Date.parse(startedAt)), model, lane });
  const add = (item: MonthlyItem, count: number): void => {
    const line = lineOf(item);
    line.requests += 1;
    line.count += BigInt(count);
  };
  for (const tokenClass of TOKEN_CLASSES) if (tokens[tokenClass] > 0) add(tokenClass, tokens[tokenClass]);
  for (const [use, count] of Object.entries(uses)) add(`use:${use}`, count);
}

function addCost(entry: Entry, { month, model, lane, lines, uses, leftOut }: CreditsDebited): void {
  const lineOf = changing(entry, { month, model, lane });
  for (const { tokenClass, cost } of lines) addAmount(lineOf(tokenClass), cost);
  for (const { use, cost } of uses) addAmount(lineOf(`use:${use}`), cost);
  if (leftOut > 0n) addAmount(lineOf('exceptions'), -leftOut * PICO_PER_MICRO);
}

function addApproved(entry: Entry, { month, model, lane, cost }: ExceptionApproved): void {
  if (cost > 0n) addAmount(changing(entry, { month, model, lane })('exceptions'), cost);
}

function addAmount(line: MonthlyLine, cost: bigint): void {
  line.amount = picoUsd(line.amount + cost);
}

/** The lines that one event changes: their group is looked for once. */
function changing(entry: Entry, of: GroupKey): (item: MonthlyItem) => MonthlyLine {
  const group = groupOf(entry, of);
  entry.changed ??= new Set();
  const { changed } = entry;
  return (item) => {
    let line = group.get(item);
    if (line === undefined) {
      line = { month: of.month, model: of.model, item, lane: of.lane, requests: 0, count: 0n, amount: picoUsd(0n) };
      group.set(item, line);
    }
    changed.add(line);
    return line;
  };
}

const valuesOf = (id: AccountId, line: MonthlyLine): ColumnValue[] => [
  id,
  line.month,
  line.model,
  line.item,
  line.lane,
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

function itemOf(item: string): MonthlyItem {
  if (item === 'exceptions' || item.startsWith('use:')) return item as MonthlyItem;
  const known = TOKEN_CLASSES.find((name) => name === item);
  if (known === undefined) throw new Error(`${ROWS.name}: unknown item ${item}`);
  return known;
}
