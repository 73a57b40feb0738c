import { z } from 'zod';
import type { AccountEvent } from '../contracts/events.ts';
import { type AccountId, accountId, type KeyId, NO_STREAM, type Revision, revision } from '../contracts/ids.ts';
import type { MicroUsd } from '../contracts/money.ts';
import { INITIAL_SPEND, type SpendState, spendStateSchema } from '../ledger/account/account-state.ts';
import { evolveSpend, monthOfSpend, spentByKey } from '../ledger/account/spend.ts';
import { type ColumnValue, numberOf, textOf, type View, type ViewRow, type ViewTable } from './view.ts';

const NAME = 'spend_limit';
const VERSION = 1;

const TABLE: ViewTable = {
  name: `${NAME}_v${VERSION}`,
  columns: { account_id: 'TEXT', revision: 'INTEGER', state: 'TEXT' },
  keyColumns: 1,
};

export interface SpendAgainstLimit {
  /** Micro-USD per calendar month; null is no limit. */
  readonly limit: MicroUsd | null;
  readonly spent: MicroUsd;
}

interface Entry {
  readonly spend: SpendState;
  readonly revision: Revision;
}

/** Monthly limits of accounts and keys and what was spent against them, by month. */
export class SpendLimitView implements View {
  readonly name = NAME;
  readonly version = VERSION;
  readonly tables = [TABLE];
  readonly #accounts = new Map<AccountId, Entry>();
  #changed = new Set<AccountId>();

  ofAccount(id: AccountId, month: string): SpendAgainstLimit {
    const spend = this.#accounts.get(id)?.spend ?? INITIAL_SPEND;
    return { limit: spend.accountLimit, spent: monthOfSpend(spend, month).account };
  }

  ofKey(id: AccountId, keyId: KeyId, month: string): SpendAgainstLimit {
    const spend = this.#accounts.get(id)?.spend ?? INITIAL_SPEND;
    return { limit: spend.keyLimits[keyId] ?? null, spent: spentByKey(monthOfSpend(spend, month), keyId) };
  }

  revisionOf(id: AccountId): Revision {
    return this.#accounts.get(id)?.revision ?? NO_STREAM;
  }

  apply(id: AccountId, at: Revision, event: AccountEvent): void {
    const before = this.#accounts.get(id)?.spend ?? INITIAL_SPEND;
    this.#accounts.set(id, { spend: evolveSpend(before, event), revision: at });
    this.#changed.add(id);
  }

  clear(): void {
    this.#accounts.clear();
    this.#changed = new Set();
  }

  *takeChanges(): Generator<ViewRow> {
    const changed = this.#changed;
    this.#changed = new Set();
    for (const id of changed) {
      const entry = this.#accounts.get(id);
      if (entry === undefined) continue;
      const json = JSON.stringify(z.encode(spendStateSchema, entry.spend));
      yield { table: TABLE, values: [id, entry.revision, json] };
    }
  }

  restore(_table: ViewTable, [id, at, json]: readonly ColumnValue[]): void {
    const spend = spendStateSchema.parse(JSON.parse(textOf(json)));
    this.#accounts.set(accountId(textOf(id)), { spend, revision: revision(numberOf(at)) });
  }
}
