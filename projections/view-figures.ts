import { existsSync } from 'node:fs';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { z } from 'zod';
import { type AccountId, accountId } from '../contracts/ids.ts';
import { STORED_PARTS, type StoredPart } from '../ledger/account/stored-parts.ts';
import type { SeenFigures } from '../ledger/audit/audit-views.ts';
import { BalanceView, PART_TABLES } from './balance-view.ts';
import { MonthlyView } from './monthly-view.ts';

const amounts = z.record(z.string(), z.string());
const stateSchema = z.looseObject({
  carry: z.string(),
  uncovered: z.string(),
  suspended: z.string().nullable(),
  grants: z.array(z.looseObject({ grantId: z.string(), remaining: z.string() })),
  leases: z.record(z.string(), z.looseObject({ leaseId: z.string(), amount: z.string(), expiresAtMs: z.int() })),
  spend: z.looseObject({
    accountLimit: z.string().nullable(),
    otherLimits: z
      .strictObject({ members: amounts, soft: amounts, thresholds: z.record(z.string(), z.array(z.int())) })
      .nullable(),
    months: z.record(z.string(), z.looseObject({ account: z.string() })),
  }),
  exceptions: z.looseObject({ openCount: z.int(), openAmount: z.string(), unlisted: z.int() }),
});

const keySchema = z.looseObject({ revokedAtMs: z.int().nullable() });

/** A views' file for whoever compares it with something else: only read, account by account, its rows as they are. */
export class ViewsToCompare {
  readonly #database: DatabaseSync;
  readonly #balance: StatementSync;
  readonly #all: StatementSync;
  readonly #billedAt: StatementSync;
  readonly #billed: StatementSync;
  readonly #parts: ReadonlyMap<StoredPart, StatementSync>;

  /** Null where there is no such file, or one of another program's views. @throws Error when it is no database */
  static open(path: string): ViewsToCompare | null {
    if (!existsSync(path)) return null;
    const database = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
    const names = [new BalanceView(), new MonthlyView()].flatMap(({ tables }) => tables.map(({ name }) => name));
    const isThere = database.prepare(`SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?`);
    if (names.every((name) => isThere.get(name) !== undefined)) return new ViewsToCompare(database);
    database.close();
    return null;
  }

  private constructor(database: DatabaseSync) {
    const [{ name: balance } = { name: '' }] = new BalanceView().tables;
    const [{ name: lines } = { name: '' }, { name: revisions } = { name: '' }] = new MonthlyView().tables;
    this.#database = database;
    this.#balance = database.prepare(`SELECT revision, balance_micro_usd, state FROM ${balance} WHERE account_id = ?`);
    this.#all = database.prepare(`SELECT account_id, revision FROM ${balance}`);
    this.#billedAt = database.prepare(`SELECT revision FROM ${revisions} WHERE account_id = ?`);
    this.#billed = database.prepare(`SELECT amount_pico_usd FROM ${lines} WHERE account_id = ?`);
    this.#parts = new Map(
      [...PART_TABLES].map(([part, { name }]) => [
        part,
        database.prepare(`SELECT id, value FROM ${name} WHERE account_id = ?`),
      ]),
    );
  }

  /** Null where they do not know it. @throws Error where a row is not of its form */
  figuresOf(accountId: string): SeenFigures | null {
    // Of one instant: a gateway may be writing.
    this.#database.exec('BEGIN');
    try {
      const row = this.#balance.get(accountId);
      if (row === undefined) return null;
      const { grants, leases, spend, exceptions, ...state } = stateSchema.parse(JSON.parse(String(row.state)));
      const billed = this.#billed
        .all(accountId)
        .reduce((sum, { amount_pico_usd: amount }) => sum + BigInt(String(amount)), 0n);
      const amountsOf = (part: StoredPart) => amounts.parse(Object.fromEntries(this.#partsOf(accountId, part)));
      const keyLimits = amountsOf(STORED_PARTS.keyLimits);
      const spent = Map.groupBy(Object.entries(amountsOf(STORED_PARTS.spentByKeys)), ([id]) =>
        id.slice(0, id.indexOf(' ')),
      );
      const months = Object.fromEntries(
        Object.entries(spend.months).map(([month, { account }]) => [
          month,
          {
            account,
            keys: Object.fromEntries((spent.get(month) ?? []).map(([id, of]) => [id.slice(month.length + 1), of])),
          },
        ]),
      );
      const keys = this.#partsOf(accountId, STORED_PARTS.keys).map(([keyId, key]) => ({
        ...{ keyId, isRevoked: keySchema.parse(key).revokedAtMs !== null },
      }));
      const isOfSame = this.#billedAt.get(accountId)?.revision === row.revision;
      return {
        ...{ revision: Number(row.revision), balance: String(row.balance_micro_usd) },
        ...{ carry: state.carry, uncovered: state.uncovered, isSuspended: state.suspended !== null, grants },
        ...{ accountLimit: spend.accountLimit, keyLimits, months },
        otherLimits: spend.otherLimits,
        leases: Object.values(leases),
        keys,
        openExceptions: {
          ...{ count: exceptions.openCount, unlisted: exceptions.unlisted, amount: exceptions.openAmount },
        },
        billed: isOfSame ? String(billed) : null,
      };
    } finally {
      this.#database.exec('COMMIT');
    }
  }

  #partsOf(accountId: string, part: StoredPart): [id: string, value: unknown][] {
    const rows = this.#parts.get(part)?.all(accountId) ?? [];
    return rows.map(({ id, value }) => [String(id), JSON.parse(String(value))]);
  }

  /** Every account that they know, and the revision that each has come to. */
  *accounts(): Generator<readonly [id: AccountId, revision: number]> {
    for (const row of this.#all.iterate()) yield [accountId(String(row.account_id)), Number(row.revision)];
  }

  close(): void {
    this.#database.close();
  }
}
