import type { AccountEvent } from '../contracts/events.ts';
import { type AccountId, accountId, type RequestId, type Revision, revision } from '../contracts/ids.ts';
import { type MicroUsd, microUsd } from '../contracts/money.ts';
import { ACCOUNT_STATE_VERSION, type AccountState, type OpenAccount } from '../ledger/account/account-state.ts';
import { evolve } from '../ledger/account/evolve.ts';
import { type ExceptionsState, NO_EXCEPTIONS } from '../ledger/account/exceptions-state.ts';
import { type AccountSnapshot, UNOPENED } from '../ledger/account/load-account.ts';
import { accountOfText, accountText, storedException, withStoredException } from '../ledger/account/stored-account.ts';
import { type ColumnValue, isNext, numberOf, textOf, type View, type ViewRow, type ViewTable } from './view.ts';

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
  readonly #accounts = new Map<AccountId, Entry>();
  #openExceptions = NONE_OPEN;
  #changed: Entry[] = [];
  readonly #changedExceptions = new Map<AccountId, Set<RequestId>>();

  read(id: AccountId): AccountSnapshot {
    return this.#accounts.get(id)?.snapshot ?? UNOPENED;
  }

  /** All accounts, in the order in which they were first seen. */
  *all(): Generator<readonly [AccountId, AccountSnapshot]> {
    for (const [id, { snapshot }] of this.#accounts) yield [id, snapshot];
  }

  /** The exceptions of all accounts that wait for an operator: kept as a sum, so that whoever asks looks at none. */
  get openExceptions(): OpenExceptions {
    return this.#openExceptions;
  }

  revisionOf(id: AccountId): Revision {
    return this.read(id).revision;
  }

  apply(id: AccountId, at: Revision, event: AccountEvent): boolean {
    const entry = this.#accounts.get(id);
    const { state: before, revision } = entry?.snapshot ?? UNOPENED;
    if (!isNext(id, revision, at)) return false;
    const after = evolve(before, event);
    this.#noteException(id, event, before, after);
    const changed = this.#set(id, entry, { state: after, revision: at });
    if (!changed.isChanged) this.#changed.push(changed);
    changed.isChanged = true;
    return true;
  }

  clear(): void {
    this.#accounts.clear();
    this.#openExceptions = NONE_OPEN;
    this.#changed = [];
    this.#changedExceptions.clear();
  }

  *takeChanges(): Generator<ViewRow> {
    const changed = this.#changed;
    this.#changed = [];
    for (const entry of changed) {
      entry.isChanged = false;
      // Taken together, and changed by nobody: what is folded while they are written is not in them.
      const { id, snapshot } = entry;
      const { state, revision } = snapshot;
      const exceptions = this.#changedExceptions.get(id) ?? [];
      this.#changedExceptions.delete(id);
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
      const snapshot = { state: accountOfText(textOf(json)), revision: revision(numberOf(at)) };
      this.#set(accountId(textOf(id)), undefined, snapshot);
    }
  }

  /** Its account stands before it: the sums of it are there. */
  #restoreException([id, requestId, state, text]: readonly ColumnValue[]): void {
    const entry = this.#accounts.get(accountId(textOf(id)));
    if (entry === undefined) throw new Error(`${textOf(id)} has exceptions, and is not there`);
    const { state: before, revision } = entry.snapshot;
    const stored = { state: textOf(state), text: textOf(text) };
    entry.snapshot = { state: withStoredException(before, textOf(requestId), stored), revision };
  }

  #noteException(id: AccountId, { data }: AccountEvent, before: AccountState, { exceptions }: OpenAccount): void {
    const { open, ended } = exceptionsOf(before);
    if (!('requestId' in data) || (exceptions.open === open && exceptions.ended === ended)) return;
    const changed = this.#changedExceptions.get(id);
    if (changed === undefined) this.#changedExceptions.set(id, new Set([data.requestId]));
    else changed.add(data.requestId);
  }

  /** @param entry what there is of the account; undefined is nothing */
  #set(id: AccountId, entry: Entry | undefined, snapshot: OpenSnapshot): Entry {
    this.#count(exceptionsOf(entry?.snapshot.state ?? UNOPENED.state), snapshot.state.exceptions);
    if (entry !== undefined) {
      entry.snapshot = snapshot;
      return entry;
    }
    const added = { id, snapshot, isChanged: false };
    this.#accounts.set(id, added);
    return added;
  }

  #count(before: ExceptionsState, after: ExceptionsState): void {
    if (after.openCount === before.openCount && after.openAmount === before.openAmount) return;
    const { count, amount } = this.#openExceptions;
    this.#openExceptions = {
      count: count - before.openCount + after.openCount,
      amount: microUsd(amount - before.openAmount + after.openAmount),
    };
  }
}

type OpenSnapshot = AccountSnapshot & { readonly state: OpenAccount };

/** Found once for an event, and changed in place; a snapshot that somebody has read stays as it is. */
interface Entry {
  readonly id: AccountId;
  snapshot: OpenSnapshot;
  /** Since its rows were taken. */
  isChanged: boolean;
}

interface OpenExceptions {
  readonly count: number;
  /** What they would debit, each without its account's carry. */
  readonly amount: MicroUsd;
}

const NONE_OPEN: OpenExceptions = { count: 0, amount: microUsd(0n) };

const exceptionsOf = (state: AccountState) => (state.type === 'open' ? state.exceptions : NO_EXCEPTIONS);
