import type { ReadableLog } from '../../contracts/event-log.ts';
import { NO_STREAM, type Position } from '../../contracts/ids.ts';
import { counted, groupedExactUsd, groupedUsd, picoUsd } from '../../contracts/money.ts';
import { accountOfText } from '../../ledger/account/stored-account.ts';
import { AccountsSetAside } from '../accounts-set-aside.ts';
import { BalanceView } from '../balance-view.ts';
import { CatalogView } from '../catalog-view.ts';
import { readFoldedThrough } from '../known-views.ts';
import { MonthlyView } from '../monthly-view.ts';
import { reachedIn } from '../sources/log-view-source.ts';
import { numberOf, textOf, type ViewTable } from '../view.ts';
import { compareRowsWithFold } from './compare-with-fold.ts';
import { EventSums, type MoneySums } from './event-sums.ts';
import { type KeyBehind, keysBehindAside } from './keys-behind-aside.ts';
import { LiveRows } from './live-rows.ts';
import type { RowDifference } from './row-difference.ts';
import { valueInWords } from './value-in-words.ts';

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
    const folded = readFoldedThrough(path);
    if (folded === null || folded.position === null)
      throw new Error(`${path} holds no views that are fed from the log`);
    const ends = await sumsUpTo(folded.position, rows, log, counted);
    const found = rowsFoundIn(rows);
    const faults = [...ends.unreadable, ...faultsIn(rows, found, ends), ...wrongSums(rows, found, ends)];
    const ids = [...ends.accounts.keys()];
    const step = Math.max(1, Math.ceil(ids.length / SAMPLED_MAX));
    const sampled = ids.filter((_, index) => index % step === 0);
    const through = await reachedIn(log, folded);
    let behind: Promise<readonly KeyBehind[]> | null = null;
    const keysBehind = () => (behind ??= keysBehindAside(rows, log));
    for (const only of sampled)
      await compareRowsWithFold(rows, through, {
        ...{ log, only, keysBehind },
        onDifference: (difference) => faults.push(faultOf(only, difference)),
      });
    return { accounts: ids.length, sampled: sampled.length, ...totalOf(found), faults };
  } finally {
    rows.close();
  }
}

function faultOf(id: string, difference: RowDifference): string {
  const { table, field, live, fold } = difference;
  const value = (text: string | null, none: string): string => (text === null ? none : valueInWords(difference, text));
  return `${table} ${id}: ${field ?? 'the row'} is ${value(live, 'missing')}, a fold of its stream has ${value(fold, 'none')}`;
}

/**
 * What the events come to up to the views' checkpoint: of who is set aside, those that a row has come to. What was counted while
 * they were folded is that where none is; else all are read once more.
 */
async function sumsUpTo(
  through: Position,
  rows: LiveRows,
  log: ReadableLog,
  counted: EventSums | null,
): Promise<EventSums> {
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

function* faultsIn(rows: LiveRows, { accounts: found, counts }: RowsFound, ends: EventSums): Generator<string> {
  const aside = new Set([...rows.rows(new AccountsSetAside().tables[0])].map(([id]) => textOf(id)));
  for (const [view, { name }] of REVISIONS.entries()) {
    let known = ends.accounts.size;
    for (const [id, { last }] of ends.accounts) {
      const at = found.get(id)?.revisions[view] ?? NO_STREAM;
      if (at !== last && !aside.has(id)) yield `${name} ${id}: it is at revision ${at}, its stream ends at ${last}`;
    }
    // Set aside at the first event of theirs: no row is to be there.
    for (const id of aside) if (found.get(id)?.revisions[view] === undefined) known--;
    if (counts[view] !== known)
      yield `${name}: it has ${counted(counts[view] ?? 0, 'row')}, for ${counted(known, 'account')}`;
  }
  const publications = countOf(rows, new CatalogView().tables[0]);
  if (publications !== ends.catalog + 1)
    yield `the catalog has ${counted(publications, 'row')}, for ${counted(ends.catalog + 1, 'publication')}`;
}

const REVISIONS: readonly ViewTable[] = [new BalanceView().revisions, new MonthlyView().revisions];

const countOf = (rows: LiveRows, table: ViewTable): number => {
  let count = 0;
  for (const _ of rows.rows(table)) count++;
  return count;
};

interface RowsFound {
  /** By the rows alone: the balance, which has to be the one that its state is served with, what it was billed, and how far it is. */
  readonly accounts: ReadonlyMap<string, FoundAccount>;
  /** How many rows there are in each of `REVISIONS`. */
  readonly counts: readonly number[];
}

interface FoundAccount extends MoneySums {
  served: bigint;
  /** In each of `REVISIONS`, where there is a row. */
  readonly revisions: (number | undefined)[];
}

/** Each table is looked at once, in its order. */
function rowsFoundIn(rows: LiveRows): RowsFound {
  const accounts = new Map<string, FoundAccount>();
  const accountOf = (id: string): FoundAccount => {
    const known = accounts.get(id);
    if (known !== undefined) return known;
    const added = { balanceMicroUsd: 0n, served: 0n, billedPicoUsd: 0n, revisions: [] };
    accounts.set(id, added);
    return added;
  };
  const counts = REVISIONS.map((table, view) => {
    let count = 0;
    for (const [id, at, , balance, state] of rows.rows(table)) {
      const account = accountOf(textOf(id));
      account.revisions[view] = numberOf(at);
      count++;
      if (state === undefined) continue;
      account.balanceMicroUsd = BigInt(textOf(balance));
      account.served = accountOfText(textOf(state)).balance;
    }
    return count;
  });
  for (const row of rows.rows(new MonthlyView().tables[0]))
    accountOf(textOf(row[0])).billedPicoUsd += BigInt(textOf(row[7]));
  return { accounts, counts };
}

/** Control totals, account by account: two wrong ones do not make a right sum. */
function* wrongSums(
  rows: LiveRows,
  { accounts: found }: RowsFound,
  { accounts }: Pick<EventSums, 'accounts'>,
): Generator<string> {
  const notFolded = rows.notFolded();
  const ends: ReadonlyMap<string, MoneySums> = accounts;
  for (const [id, { balanceMicroUsd, served, billedPicoUsd }] of found) {
    if (notFolded.has(id)) continue;
    const events = ends.get(id) ?? { balanceMicroUsd: 0n, billedPicoUsd: 0n };
    for (const balance of new Set([balanceMicroUsd, served]))
      if (balance !== events.balanceMicroUsd)
        yield `balance ${id}: it is ${groupedUsd(balance)} USD, its events come to ${groupedUsd(events.balanceMicroUsd)} USD`;
    if (billedPicoUsd !== events.billedPicoUsd)
      yield `monthly ${id}: it is ${exact(billedPicoUsd)} USD, its events come to ${exact(events.billedPicoUsd)} USD`;
  }
}

const exact = (amount: bigint): string => groupedExactUsd(picoUsd(amount));

function totalOf({ accounts }: RowsFound): MoneySums {
  const total = { balanceMicroUsd: 0n, billedPicoUsd: 0n };
  for (const { balanceMicroUsd, billedPicoUsd } of accounts.values()) {
    total.balanceMicroUsd += balanceMicroUsd;
    total.billedPicoUsd += billedPicoUsd;
  }
  return total;
}
