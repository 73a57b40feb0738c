import { DatabaseSync } from 'node:sqlite';
import { balanceOf } from '../../../ledger/audit/own-account.ts';
import { TOKEN_CLASSES } from '../../../ledger/audit/stored-event.ts';
import { type AccountBooks, availableOf } from './account-books.ts';

/** What of `gateway account show --json` the auditor compares. */
interface ShownAccount {
  readonly revision: number;
  readonly balance: string;
  readonly availableMicroUsd: string;
  readonly carry: string;
  readonly uncovered: string;
  readonly grants: readonly { readonly grantId: string; readonly remaining: string }[];
  readonly spend: {
    readonly months: Readonly<
      Record<string, { readonly account: string; readonly keys: Readonly<Record<string, string>> }>
    >;
  };
}

/** What of GET /me the auditor compares; credits in micro-USD. */
export interface MeSeen {
  readonly available_credits: number;
  readonly held_credits: number;
  readonly month: {
    readonly month: string;
    readonly account: { readonly spent: number };
    readonly key: { readonly spent: number };
  };
}

/** Compares the account that the command line shows with the auditor's own books. */
export function auditShown(books: AccountBooks, json: string, nowMs = Date.now()): string[] {
  const shown = JSON.parse(json) as ShownAccount;
  const remaining = books.grants.map(({ grantId, remaining }) => `${grantId} ${remaining}`).sort();
  const months = [...books.months].map(([month, { account, keys }]) =>
    textOfMonth(
      month,
      account,
      [...keys].map(([key, spent]) => `${key} ${spent}`),
    ),
  );
  return differences(`account show ${books.accountId}`, [
    ['revision', shown.revision, books.revision],
    ['balance', shown.balance, balanceOf(books)],
    ['available', shown.availableMicroUsd, availableOf(books, nowMs)],
    ['carry', shown.carry, books.carry],
    ['uncovered', shown.uncovered, books.uncovered],
    ['grants', shown.grants.map((grant) => `${grant.grantId} ${grant.remaining}`).sort(), remaining],
    [
      'months',
      Object.entries(shown.spend.months).map(([month, { account, keys }]) =>
        textOfMonth(
          month,
          account,
          Object.entries(keys).map(([key, spent]) => `${key} ${spent}`),
        ),
      ),
      months,
    ],
  ]);
}

const textOfMonth = (month: string, account: unknown, keys: readonly string[]): string =>
  `${month}: ${String(account)} (${keys.toSorted().join(', ')})`;

/** Compares what the running gateway tells a key with the auditor's books. */
export function auditMe(books: AccountBooks, keyId: string, me: MeSeen, nowMs = Date.now()): string[] {
  const own = books.months.get(me.month.month);
  return differences(`/me of ${keyId}`, [
    ['available_credits', me.available_credits, availableOf(books, nowMs)],
    ['held_credits', me.held_credits, 0],
    ["account's spent", me.month.account.spent, own?.account ?? 0],
    ["key's spent", me.month.key.spent, own?.keys.get(keyId) ?? 0],
  ]);
}

/** Compares the rows of the views' file with the auditor's books: balance by account, usage by month. */
export function auditViewRows(path: string, all: readonly AccountBooks[]): string[] {
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    const tables = database.prepare(`SELECT name FROM sqlite_schema WHERE type = 'table'`).all();
    const tableOf = (view: string): string => {
      const name = tables.map((row) => String(row.name)).find((one) => new RegExp(`^${view}_v\\d+$`).test(one));
      if (name === undefined) throw new Error(`views.db has no table of the view ${view}`);
      return name;
    };
    const balances = database.prepare(`SELECT * FROM ${tableOf('balance')} WHERE account_id = ?`);
    const monthly = `FROM ${tableOf('monthly')} WHERE account_id = ?`;
    const counts = database.prepare(`SELECT count ${monthly} AND item NOT LIKE 'use:%'`);
    const amounts = database.prepare(`SELECT amount_pico_usd ${monthly}`);
    return all.flatMap((books) =>
      differences(`views.db, ${books.accountId}`, [
        ['revision', balances.get(books.accountId)?.revision, books.revision],
        ['balance', balances.get(books.accountId)?.balance_micro_usd, balanceOf(books)],
        ['tokens', sumOf(counts.all(books.accountId), 'count'), tokensOf(books)],
        [
          'exact cost',
          sumOf(amounts.all(books.accountId), 'amount_pico_usd'),
          books.exact - books.leftOut * 1_000_000n,
        ],
      ]),
    );
  } finally {
    database.close();
  }
}

/** Token counts that an upstream makes up may come to more than a number holds. */
const tokensOf = ({ usages, late }: AccountBooks): bigint =>
  [...usages, ...late].reduce(
    (sum, { tokens }) => sum + TOKEN_CLASSES.reduce((all, name) => all + BigInt(tokens[name]), 0n),
    0n,
  );

const sumOf = (rows: readonly Readonly<Record<string, unknown>>[], column: string): bigint =>
  rows.reduce((sum, row) => sum + BigInt(String(row[column])), 0n);

function differences(where: string, figures: readonly (readonly [string, unknown, unknown])[]): string[] {
  return figures
    .filter(([, got, expected]) => String(got) !== String(expected))
    .map(([what, got, expected]) => `${where}: ${what} is ${String(got)}, should be ${String(expected)}`);
}
