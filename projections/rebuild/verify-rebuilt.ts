import type { ReadableLog } from '../../contracts/event-log.ts';
import { type AccountId, accountOfStream, CATALOG_STREAM, NO_STREAM } from '../../contracts/ids.ts';
import { AccountsSetAside } from '../accounts-set-aside.ts';
import { BalanceView } from '../balance-view.ts';
import { CatalogView } from '../catalog-view.ts';
import { readFoldedThrough } from '../known-views.ts';
import { MonthlyView } from '../monthly-view.ts';
import { numberOf, textOf, type ViewTable } from '../view.ts';
import { compareWithFold } from './compare-with-fold.ts';
import { LiveRows } from './live-rows.ts';

/** Accounts that are folded once more, from their own streams, evenly out of all. */
const SAMPLED_MAX = 100;

export interface VerifiedViews {
  readonly accounts: number;
  readonly sampled: number;
  /** Sums over all rows. */
  readonly balanceMicroUsd: bigint;
  readonly billedPicoUsd: bigint;
  /** In one line each; none where the rows are what the log says. */
  readonly faults: readonly string[];
}

/**
 * Whether a file of views that nobody writes to has a row of each account, each as far as the account's stream goes; and some
 * of the accounts value by value. @throws EventLogError; Error where the file has no views
 */
export async function verifyRebuilt(path: string, log: ReadableLog): Promise<VerifiedViews> {
  const ends = await endsOf(path, log);
  const rows = new LiveRows(path);
  try {
    const faults = [...faultsIn(rows, ends)];
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
    return { accounts: ids.length, sampled: sampled.length, ...totalsOf(rows), faults };
  } finally {
    rows.close();
  }
}

interface StreamEnds {
  /** The last revision of each account up to the views' checkpoint. */
  readonly accounts: ReadonlyMap<AccountId, number>;
  readonly catalog: number;
}

async function endsOf(path: string, log: ReadableLog): Promise<StreamEnds> {
  const through = readFoldedThrough(path)?.position ?? null;
  if (through === null) throw new Error(`${path} holds no views that are fed from the log`);
  const accounts = new Map<AccountId, number>();
  let catalog: number = NO_STREAM;
  for await (const { stream, revision, position } of log.readAll({ placesOnly: true })) {
    if (position > through) break;
    const id = accountOfStream(stream);
    if (id !== null) accounts.set(id, revision);
    else if (stream === CATALOG_STREAM) catalog = revision;
  }
  return { accounts, catalog };
}

function* faultsIn(rows: LiveRows, { accounts, catalog }: StreamEnds): Generator<string> {
  const aside = new Set([...rows.rows(new AccountsSetAside().tables[0])].map(([id]) => textOf(id)));
  for (const { revisions } of [new BalanceView(), new MonthlyView()]) {
    for (const [id, last] of accounts) {
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

/** Sums of what the rows say. */
function totalsOf(rows: LiveRows): Pick<VerifiedViews, 'balanceMicroUsd' | 'billedPicoUsd'> {
  let [balanceMicroUsd, billedPicoUsd] = [0n, 0n];
  for (const row of rows.rows(new BalanceView().tables[0])) balanceMicroUsd += BigInt(textOf(row[3]));
  for (const row of rows.rows(new MonthlyView().tables[0])) billedPicoUsd += BigInt(textOf(row[7]));
  return { balanceMicroUsd, billedPicoUsd };
}
