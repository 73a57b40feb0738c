import type { AccountEvent, CreditsDebited, UsageRecorded } from '../contracts/events.ts';
import { type AccountId, accountId, NO_STREAM, type Revision, revision } from '../contracts/ids.ts';
import type { PicoUsd } from '../contracts/money.ts';
import { picoUsd } from '../contracts/money.ts';
import { type Lane, TOKEN_CLASSES, type TokenClass } from '../contracts/usage.ts';
import { monthOf } from '../ledger/account/month.ts';
import { type ColumnValue, numberOf, textOf, type View, type ViewRow, type ViewTable } from './view.ts';

const NAME = 'monthly';
const VERSION = 1;

const ROWS: ViewTable = {
  name: `${NAME}_v${VERSION}`,
  columns: {
    account_id: 'TEXT',
    month: 'TEXT',
    model: 'TEXT',
    token_class: 'TEXT',
    lane: 'TEXT',
    requests: 'INTEGER',
    tokens: 'INTEGER',
    amount_pico_usd: 'TEXT',
  },
  keyColumns: 5,
};

const REVISIONS: ViewTable = {
  name: `${NAME}_v${VERSION}_revision`,
  columns: { account_id: 'TEXT', revision: 'INTEGER' },
  keyColumns: 1,
};

/** One line of an account's month. */
export interface MonthlyLine {
  readonly month: string;
  readonly model: string;
  readonly tokenClass: TokenClass;
  readonly lane: Lane;
  /** Requests that used this class. */
  requests: number;
  /** Tokens recorded, whether they were charged or not. */
  tokens: number;
  /** Exact cost of those that were debited, in pico-USD; the carry decides in which debit a part of it is. */
  amount: PicoUsd;
}

interface Entry {
  revision: Revision;
  readonly lines: Map<string, MonthlyLine>;
  changed: Set<string> | null;
}

/** Usage by account, month (of the request's start, UTC), model, token class and lane. */
export class MonthlyView implements View {
  readonly name = NAME;
  readonly version = VERSION;
  readonly tables = [ROWS, REVISIONS];
  readonly #accounts = new Map<AccountId, Entry>();
  #changed = new Set<AccountId>();

  /** An account's lines of a month, in no particular order. */
  linesOf(id: AccountId, month: string): MonthlyLine[] {
    return [...(this.#accounts.get(id)?.lines.values() ?? [])].filter((line) => line.month === month);
  }

  revisionOf(id: AccountId): Revision {
    return this.#accounts.get(id)?.revision ?? NO_STREAM;
  }

  apply(id: AccountId, at: Revision, event: AccountEvent): void {
    const entry = this.#entryOf(id);
    entry.revision = at;
    this.#changed.add(id);
    if (event.type === 'UsageRecorded') addUsage(entry, event.data);
    if (event.type === 'CreditsDebited') addCost(entry, event.data);
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
      entry.lines.set(keyOf(line), line);
    }
  }

  #changedRows(id: AccountId): ViewRow[] {
    const entry = this.#entryOf(id);
    const keys = entry.changed ?? [];
    entry.changed = null;
    const rows: ViewRow[] = [];
    for (const key of keys) {
      const line = entry.lines.get(key);
      if (line !== undefined) rows.push({ table: ROWS, values: valuesOf(id, line) });
    }
    rows.push({ table: REVISIONS, values: [id, entry.revision] });
    return rows;
  }

  #entryOf(id: AccountId): Entry {
    let entry = this.#accounts.get(id);
    if (entry === undefined) {
      entry = { revision: NO_STREAM, lines: new Map(), changed: null };
      this.#accounts.set(id, entry);
    }
    return entry;
  }
}

type LineKey = Pick<MonthlyLine, 'month' | 'model' | 'tokenClass' | 'lane'>;
const keyOf = ({ month, model, tokenClass, lane }: LineKey): string => `${month} ${tokenClass} ${lane} ${model}`;

function addUsage(entry: Entry, { startedAt, model, lane, tokens }: UsageRecorded): void {
  const month = monthOf(Date.parse(startedAt));
  for (const tokenClass of TOKEN_CLASSES) {
    if (tokens[tokenClass] === 0) continue;
    const line = changedLine(entry, { month, model, tokenClass, lane });
    line.requests += 1;
    line.tokens += tokens[tokenClass];
  }
}

function addCost(entry: Entry, { month, model, lane, lines }: CreditsDebited): void {
  for (const { tokenClass, cost } of lines) {
    const line = changedLine(entry, { month, model, tokenClass, lane });
    line.amount = picoUsd(line.amount + cost);
  }
}

function changedLine(entry: Entry, at: LineKey): MonthlyLine {
  const key = keyOf(at);
  let line = entry.lines.get(key);
  if (line === undefined) {
    line = { ...at, requests: 0, tokens: 0, amount: picoUsd(0n) };
    entry.lines.set(key, line);
  }
  entry.changed ??= new Set();
  entry.changed.add(key);
  return line;
}

const valuesOf = (id: AccountId, line: MonthlyLine): ColumnValue[] => [
  id,
  line.month,
  line.model,
  line.tokenClass,
  line.lane,
  line.requests,
  line.tokens,
  line.amount.toString(),
];

function lineOf([, month, model, tokenClass, lane, requests, tokens, amount]: readonly ColumnValue[]): MonthlyLine {
  const known = TOKEN_CLASSES.find((name) => name === tokenClass);
  if (known === undefined) throw new Error(`${ROWS.name}: unknown token class ${String(tokenClass)}`);
  return {
    month: textOf(month),
    model: textOf(model),
    tokenClass: known,
    lane: lane === 'fast' ? 'fast' : 'standard',
    requests: numberOf(requests),
    tokens: numberOf(tokens),
    amount: picoUsd(BigInt(textOf(amount))),
  };
}
