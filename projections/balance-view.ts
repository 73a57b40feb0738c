import type { AccountEvent } from '../contracts/events.ts';
import { type AccountId, accountId, type RequestId, type Revision, revision } from '../contracts/ids.ts';
import { type MicroUsd, microUsd } from '../contracts/money.ts';
import { ACCOUNT_STATE_VERSION, type AccountState, type OpenAccount } from '../ledger/account/account-state.ts';
import { evolve } from '../ledger/account/evolve.ts';
import { NO_EXCEPTIONS } from '../ledger/account/exceptions-state.ts';
import { type AccountSnapshot, UNOPENED } from '../ledger/account/load-account.ts';
import { accountOfText, accountText, storedException, withStoredException } from '../ledger/account/stored-account.ts';
import { type ColumnValue, numberOf, textOf, type View, type ViewRow, type ViewTable } from './view.ts';

const NAME = 'balance';

const TABLE: ViewTable = {
  name: `${NAME}_v${ACCOUNT_STATE_VERSION}`,
  columns: { account_id: 'TEXT', revision: 'INTEGER', email: 'TEXT', balance_micro_usd: 'TEXT', state: 'TEXT' },
  keyColumns: 1,
};

/** Each by itself, because there may be any number of them: a write brings those that have changed. */
const EXCEPTIONS: ViewTable = {
  name: `${NAME}_v${ACCOUNT_STATE_VERSION}_exception`,
  columns: { account_id: 'TEXT', request_id: 'TEXT', state: 'TEXT', exception: 'TEXT' },
  keyColumns: 2,
};

/** Each account's grants, carry, keys, limits, by its own fold: admission reads what settlement decides on. */
export class BalanceView implements View {
  readonly name = NAME;
  readonly version = ACCOUNT_STATE_VERSION;
  readonly tables = [TABLE, EXCEPTIONS];
  readonly #accounts = new Map<AccountId, AccountSnapshot>();
  #openExceptions = NONE_OPEN;
  #changed = new Set<AccountId>();
  readonly #changedExceptions = new Map<AccountId, Set<RequestId>>();

  read(id: AccountId): AccountSnapshot {
    return this.#accounts.get(id) ?? UNOPENED;
  }

  /** All accounts, in the order in which they were first seen. */
  all(): IterableIterator<[AccountId, AccountSnapshot]> {
    return this.#accounts.entries();
  }

  /** The exceptions of all accounts that wait for an operator: kept as a sum, so that whoever asks looks at none. */
  get openExceptions(): OpenExceptions {
    return this.#openExceptions;
  }

  revisionOf(id: AccountId): Revision {
    return this.read(id).revision;
  }

  apply(id: AccountId, at: Revision, event: AccountEvent): void {
    const before = this.read(id).state;
    const after = evolve(before, event);
    this.#noteException(id, event, before, after);
    this.#set(id, after, at);
    this.#changed.add(id);
  }

  clear(): void {
    this.#accounts.clear();
    this.#openExceptions = NONE_OPEN;
    this.#changed = new Set();
    this.#changedExceptions.clear();
  }

  *takeChanges(): Generator<ViewRow> {
    const changed = this.#changed;
    this.#changed = new Set();
    for (const id of changed) {
      // Taken together, and changed by nobody: what is folded while they are written is not in them.
      const { state, revision } = this.read(id);
      const exceptions = this.#changedExceptions.get(id) ?? [];
      this.#changedExceptions.delete(id);
      if (state.type === 'unopened') continue;
      yield { table: TABLE, values: [id, revision, state.email, state.balance.toString(), accountText(state)] };
      for (const requestId of exceptions) {
        const stored = storedException(state, requestId);
        yield { table: EXCEPTIONS, values: [id, requestId, stored.state, stored.text] };
      }
    }
  }

  restore(table: ViewTable, values: readonly ColumnValue[]): void {
    if (table === EXCEPTIONS) this.#restoreException(values);
    else {
      const [id, at, _email, _balance, json] = values;
      this.#set(accountId(textOf(id)), accountOfText(textOf(json)), revision(numberOf(at)));
    }
  }

  /** Its account stands before it: the sums of it are there. */
  #restoreException([id, requestId, state, text]: readonly ColumnValue[]): void {
    const account = accountId(textOf(id));
    const { state: before, revision } = this.read(account);
    if (before.type === 'unopened') throw new Error(`${account} has exceptions, and is not there`);
    const stored = { state: textOf(state), text: textOf(text) };
    this.#accounts.set(account, { state: withStoredException(before, textOf(requestId), stored), revision });
  }

  #noteException(id: AccountId, { data }: AccountEvent, before: AccountState, { exceptions }: OpenAccount): void {
    const { open, ended } = exceptionsOf(before);
    if (!('requestId' in data) || (exceptions.open === open && exceptions.ended === ended)) return;
    const changed = this.#changedExceptions.get(id);
    if (changed === undefined) this.#changedExceptions.set(id, new Set([data.requestId]));
    else changed.add(data.requestId);
  }

  #set(id: AccountId, state: OpenAccount, at: Revision): void {
    const { openCount, openAmount } = exceptionsOf(this.read(id).state);
    const { count, amount } = this.#openExceptions;
    this.#accounts.set(id, { state, revision: at });
    if (state.exceptions.openCount === openCount && state.exceptions.openAmount === openAmount) return;
    this.#openExceptions = {
      count: count - openCount + state.exceptions.openCount,
      amount: microUsd(amount - openAmount + state.exceptions.openAmount),
    };
  }
}

interface OpenExceptions {
  readonly count: number;
  /** What they would debit, each without its account's carry. */
  readonly amount: MicroUsd;
}

const NONE_OPEN: OpenExceptions = { count: 0, amount: microUsd(0n) };

const exceptionsOf = (state: AccountState) => (state.type === 'open' ? state.exceptions : NO_EXCEPTIONS);
