import type { ReadableLog } from '../../contracts/event-log.ts';
import { NO_STREAM } from '../../contracts/ids.ts';
import { accountOfText } from '../../ledger/account/stored-account.ts';
import { AccountsSetAside } from '../accounts-set-aside.ts';
import { BalanceView } from '../balance-view.ts';
import { CatalogView } from '../catalog-view.ts';
import { readFoldedThrough } from '../known-views.ts';
import { MonthlyView } from '../monthly-view.ts';
import { numberOf, textOf, type ViewTable } from '../view.ts';
import { compareWithFold } from './compare-with-fold.ts';
import { EventSums, type MoneySums } from './event-sums.ts';
import { LiveRows } from './live-rows.ts';

/** Accounts that are folded once more, from their own streams, evenly out of all. */
const SAMPLED_MAX = 100;

/** Its sums are those over all rows. */
export interface VerifiedViews extends Readonly<MoneySums> {
  readonly accounts: number;
  readonly sampled: number;
  /** In one line each; none where the rows are what the log says. */
  readonly faults: readonly string[];
}

/**
 * Whether a file of views that nobody writes to has a row of each account, each as far as the account's stream goes and with the
 * money that the account's events come to; and some of the accounts value by value. @throws EventLogError; Error where the file has no views
 *
 * @param counted of the events, by who handed them to the views, which then are not read once more
 */
export async function verifyRebuilt(
  path: string,
  log: ReadableLog,
  counted: EventSums | null = null,
): Promise<VerifiedViews> {
  const rows = new LiveRows(path);
  try {
    const ends = await sumsUpTo(path, rows, log, counted);
    const sums = sumsIn(rows);
    const faults = [...ends.unreadable, ...faultsIn(rows, ends), ...wrongSums(rows, sums, ends)];
    const ids = [...ends.accounts.keys()];
    const step = Math.max(1, Math.ceil(ids.length / SAMPLED_MAX));
    const sampled = ids.filter((_, index) => index % step === 0);
    for (const only of sampled)
      await compareWithFold({
        ...{ path, log, only },
        onDifference: ({ table, field, live, fold }) =>
          faults.push(
            `${table} ${only}: ${field ?? 'the row'} is ${live ?? 'missing'}, a fold of its stream has ${fold ?? 'none'}`,
          ),
      });
    return { accounts: ids.length, sampled: sampled.length, ...totalOf(sums), faults };
  } finally {
    rows.close();
  }
}

/**
 * What the events come to up to the views' checkpoint: of who is set aside, those that a row has come to. What was counted while
 * they were folded is that where none is; else all are read once more.
 */
async function sumsUpTo(path: string, rows: LiveRows, log: ReadableLog, counted: EventSums | null): Promise<EventSums> {
  const through = readFoldedThrough(path)?.position ?? null;
  if (through === null) throw new Error(`${path} holds no views that are fed from the log`);
  const cameTo = revisionsOfAside(rows);
  if (counted?.isWhole && counted.through === through && cameTo.size === 0) return counted;
  const sums = new EventSums(cameTo);
  for await (const recorded of log.readAll()) {
    if (recorded.position > through) break;
    sums.add(recorded);
  }
  return sums;
}

/** Of who is set aside: how far the rows have come, in all views alike. */
function revisionsOfAside(rows: LiveRows): ReadonlyMap<string, number> {
  const { revisions } = new BalanceView();
  const ids = [...rows.rows(new AccountsSetAside().tables[0])].map(([id]) => textOf(id));
  return new Map(ids.map((id) => [id, numberOf(rows.row(revisions, [id])?.[1] ?? NO_STREAM)]));
}

function* faultsIn(rows: LiveRows, { accounts, catalog }: EventSums): Generator<string> {
  const aside = new Set([...rows.rows(new AccountsSetAside().tables[0])].map(([id]) => textOf(id)));
  for (const { revisions } of [new BalanceView(), new MonthlyView()]) {
    for (const [id, { last }] of accounts) {
      const row = rows.row(revisions, [id]);
      const at = row === null ? NO_STREAM : numberOf(row[1]);
      if (at !== last && !aside.has(id))
        yield `${revisions.name} ${id}: it is at revision ${at}, its stream ends at ${last}`;
    }
    const [found, known] = [countOf(rows, revisions), accounts.size - withoutRow(rows, revisions, aside)];
    if (found !== known) yield `${revisions.name}: it has ${found} rows, for ${known} accounts`;
  }
  const publications = countOf(rows, new CatalogView().tables[0]);
  if (publications !== catalog + 1) yield `the catalog has ${publications} rows, for ${catalog + 1} publications`;
}

/** Set aside at the first event of theirs: no row is to be there. */
const withoutRow = (rows: LiveRows, table: ViewTable, aside: ReadonlySet<string>): number =>
  [...aside].filter((id) => rows.row(table, [id]) === null).length;

const countOf = (rows: LiveRows, table: ViewTable): number => {
  let count = 0;
  for (const _ of rows.rows(table)) count++;
  return count;
};

/** By the rows alone: each account's balance, which has to be the one that its state is served with, and what it was billed. */
function sumsIn(rows: LiveRows): ReadonlyMap<string, MoneySums & { readonly served: bigint }> {
  const sums = new Map<string, MoneySums & { readonly served: bigint }>();
  for (const [id, , , balance, state] of rows.rows(new BalanceView().tables[0])) {
    const served = accountOfText(textOf(state)).balance;
    sums.set(textOf(id), { balanceMicroUsd: BigInt(textOf(balance)), served, billedPicoUsd: 0n });
  }
  for (const row of rows.rows(new MonthlyView().tables[0])) {
    const id = textOf(row[0]);
    const sum = sums.get(id) ?? { balanceMicroUsd: 0n, served: 0n, billedPicoUsd: 0n };
    sum.billedPicoUsd += BigInt(textOf(row[7]));
    sums.set(id, sum);
  }
  return sums;
}

/** Control totals, account by account: two wrong ones do not make a right sum. */
function* wrongSums(
  rows: LiveRows,
  sums: ReturnType<typeof sumsIn>,
  { accounts }: Pick<EventSums, 'accounts'>,
): Generator<string> {
  const notFolded = rows.notFolded();
  const ends: ReadonlyMap<string, MoneySums> = accounts;
  for (const [id, { balanceMicroUsd, served, billedPicoUsd }] of sums) {
    if (notFolded.has(id)) continue;
    const events = ends.get(id) ?? { balanceMicroUsd: 0n, billedPicoUsd: 0n };
    for (const balance of new Set([balanceMicroUsd, served]))
      if (balance !== events.balanceMicroUsd)
        yield `balance ${id}: it is ${balance} micro-USD, its events come to ${events.balanceMicroUsd}`;
    if (billedPicoUsd !== events.billedPicoUsd)
      yield `monthly ${id}: it is ${billedPicoUsd} pico-USD, its events come to ${events.billedPicoUsd}`;
  }
}

function totalOf(sums: ReadonlyMap<string, MoneySums>): MoneySums {
  const total = { balanceMicroUsd: 0n, billedPicoUsd: 0n };
  for (const { balanceMicroUsd, billedPicoUsd } of sums.values()) {
    total.balanceMicroUsd += balanceMicroUsd;
    total.billedPicoUsd += billedPicoUsd;
  }
  return total;
}
