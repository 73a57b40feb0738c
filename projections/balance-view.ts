import { z } from 'zod';
import type { AccountEvent } from '../contracts/events.ts';
import { type AccountId, accountId, type Revision, revision } from '../contracts/ids.ts';
import {
  ACCOUNT_STATE_VERSION,
  type BillingException,
  type OpenAccount,
  openAccountSchema,
} from '../ledger/account/account-state.ts';
import { evolve } from '../ledger/account/evolve.ts';
import { type AccountSnapshot, UNOPENED } from '../ledger/account/load-account.ts';
import { type ColumnValue, numberOf, textOf, type View, type ViewRow, type ViewTable } from './view.ts';

const NAME = 'balance';

const TABLE: ViewTable = {
  name: `${NAME}_v${ACCOUNT_STATE_VERSION}`,
  columns: { account_id: 'TEXT', revision: 'INTEGER', email: 'TEXT', balance_micro_usd: 'TEXT', state: 'TEXT' },
  keyColumns: 1,
};

/**
 * The balance of each account: its grants, carry, keys and limits. The fold is the account's own, so what admission
 * reads is what settlement decides on; a row is a snapshot of the stream up to its revision.
 */
export class BalanceView implements View {
  readonly name = NAME;
  readonly version = ACCOUNT_STATE_VERSION;
  readonly tables = [TABLE];
  readonly #accounts = new Map<AccountId, AccountSnapshot>();
  /** Accounts with something for an operator to decide: few, so that whoever counts them need not look at all. */
  readonly #withExceptions = new Set<AccountId>();
  #changed = new Set<AccountId>();

  read(id: AccountId): AccountSnapshot {
    return this.#accounts.get(id) ?? UNOPENED;
  }

  /** All accounts, in the order in which they were first seen. */
  all(): IterableIterator<[AccountId, AccountSnapshot]> {
    return this.#accounts.entries();
  }

  /** All exceptions that wait for an operator, by account. */
  *openExceptions(): Generator<[AccountId, BillingException]> {
    for (const id of this.#withExceptions) {
      const { state } = this.read(id);
      if (state.type === 'unopened') continue;
      for (const exception of Object.values(state.exceptions.open)) yield [id, exception];
    }
  }

  revisionOf(id: AccountId): Revision {
    return this.read(id).revision;
  }

  apply(id: AccountId, at: Revision, event: AccountEvent): void {
    this.#set(id, evolve(this.read(id).state, event), at);
    this.#changed.add(id);
  }

  clear(): void {
    this.#accounts.clear();
    this.#withExceptions.clear();
    this.#changed = new Set();
  }

  *takeChanges(): Generator<ViewRow> {
    const changed = this.#changed;
    this.#changed = new Set();
    for (const id of changed) {
      const { state, revision } = this.read(id);
      if (state.type === 'unopened') continue;
      const json = JSON.stringify(z.encode(openAccountSchema, state));
      yield { table: TABLE, values: [id, revision, state.email, state.balance.toString(), json] };
    }
  }

  restore(_table: ViewTable, [id, at, _email, _balance, json]: readonly ColumnValue[]): void {
    const state = openAccountSchema.parse(JSON.parse(textOf(json)));
    this.#set(accountId(textOf(id)), state, revision(numberOf(at)));
  }

  #set(id: AccountId, state: OpenAccount, at: Revision): void {
    this.#accounts.set(id, { state, revision: at });
    if (hasEntries(state.exceptions.open)) this.#withExceptions.add(id);
    else this.#withExceptions.delete(id);
  }
}

/** Without a list of all of them, because this is asked after each event. */
function hasEntries(record: Readonly<Record<string, unknown>>): boolean {
  for (const _name in record) return true;
  return false;
}
