import { type AccountId, accountId, type Revision, revision } from '../contracts/ids.ts';
import type { AsideReason } from '../ledger/account/account-repository.ts';
import { AccountUnreadableError } from '../ledger/account/account-unreadable-error.ts';
import {
  type ColumnValue,
  numberOf,
  type StoredRows,
  type StoredView,
  textOf,
  type ViewRow,
  type ViewTable,
} from './view.ts';

const NAME = 'set_aside';
const VERSION = 1;

const TABLE: ViewTable = {
  name: `${NAME}_v${VERSION}`,
  columns: { account_id: 'TEXT', cause: 'TEXT', revision: 'INTEGER', why: 'TEXT' },
  keyColumns: 2,
};

const PARKED = 'parked by an operator: ';

/** Whether an operator's word alone is why, which ends with it: what then stands in a file is read again by the next start. */
export const isOfOperator = (why: string): boolean => why.startsWith(PARKED);

/** Whether of an account in that row a fold of the log says what is to be there: none does of hidden events, or of what waits. */
export const isFoldedAside = ([_id, cause, _at, why]: readonly ColumnValue[]): boolean =>
  cause === 'unreadable' && !isOfOperator(textOf(why));

/** `hidden`: the log's server hides events of the stream; `unreadable`: one cannot be read, or not be applied. */
type AsideCause = 'hidden' | 'unreadable';
const CAUSES: readonly AsideCause[] = ['hidden', 'unreadable'];
/** The revision of a stream that is hidden: no event of it is to blame. */
const NONE = -1;

interface Entry {
  readonly revision: number;
  readonly why: string;
}

/** Told when what is said of an account has changed; null where it is not set aside any more. */
type OnChanged = (accountId: AccountId, why: string | null) => void;

/**
 * Accounts whose events cannot be relied on: they are refused, with why, and the others go on. It stands in the views' file
 * beside the checkpoint, which passes over what could not be read: a restart knows of it before its first request.
 */
export class AccountsSetAside implements StoredView {
  readonly name = NAME;
  readonly version = VERSION;
  readonly tables = [TABLE] as const;
  readonly mayLack = true;
  readonly #causes: { readonly [C in AsideCause]: Map<AccountId, Entry> } = {
    hidden: new Map(),
    unreadable: new Map(),
  };
  /** The highest revision behind an unreadable event that came since, and was left for later. */
  #leftUpTo = new Map<AccountId, Revision>();
  /** Those that an operator has parked: they are not read again by themselves. */
  readonly #parked = new Set<AccountId>();
  readonly #listeners: OnChanged[] = [];
  #changed = new Map<string, readonly [AccountId, AsideCause]>();

  /** In one line; null where it is not. */
  whyOf(id: AccountId): string | null {
    const { hidden, unreadable } = this.#causes;
    // Asked for every request.
    if (hidden.size === 0 && unreadable.size === 0) return null;
    return (hidden.get(id) ?? unreadable.get(id))?.why ?? null;
  }

  /** The first event that cannot be read or applied; null where all can. */
  unreadableFrom(id: AccountId): Revision | null {
    const entry = this.#causes.unreadable.get(id);
    return entry === undefined ? null : revision(entry.revision);
  }

  /** An event behind that one came, and is left until the account is read again. */
  left(id: AccountId, at: Revision): void {
    if (at > this.leftUpTo(id)) this.#leftUpTo.set(id, at);
  }

  leftUpTo(id: AccountId): Revision {
    return this.#leftUpTo.get(id) ?? revision(NONE);
  }

  accountsOf(cause: AsideCause): AccountId[] {
    return [...this.#causes[cause].keys()];
  }

  get count(): number {
    const { hidden, unreadable } = this.#causes;
    return new Set([...hidden.keys(), ...unreadable.keys()]).size;
  }

  put(id: AccountId, reason: AsideReason): void {
    if (reason instanceof AccountUnreadableError)
      this.#setCause(id, 'unreadable', { revision: reason.revision, why: reason.message });
    else this.#setCause(id, 'hidden', { revision: NONE, why: reason.message });
  }

  /** An operator sets it aside from a revision on, as an event that cannot be read would. */
  park(id: AccountId, from: Revision, reason: string): void {
    this.#parked.add(id);
    this.#setCause(id, 'unreadable', { revision: from, why: PARKED + reason });
  }

  /** From here on it may be read again. */
  unpark(id: AccountId): void {
    this.#parked.delete(id);
  }

  isParked(id: AccountId): boolean {
    return this.#parked.has(id);
  }

  /** All of its events have been read and applied, or are there again. */
  takeBack(id: AccountId, cause: AsideCause): void {
    if (cause === 'unreadable') this.#leftUpTo.delete(id);
    this.#setCause(id, cause, null);
  }

  /** Also with what a restart has found. */
  onChanged(listener: OnChanged): void {
    this.#listeners.push(listener);
    for (const cause of CAUSES) for (const [id, { why }] of this.#causes[cause]) listener(id, why);
  }

  *takeChanges(): Generator<ViewRow> {
    const changed = this.#changed;
    this.#changed = new Map();
    for (const [id, cause] of changed.values()) {
      const entry = this.#causes[cause].get(id);
      const values = [id, cause, entry?.revision ?? NONE, entry?.why ?? ''];
      yield entry === undefined ? { table: TABLE, values, isGone: true } : { table: TABLE, values };
    }
  }

  restore(rows: StoredRows): void {
    const known = rows.all(TABLE, ([id, cause, at, why]) => {
      const entry = { revision: numberOf(at), why: textOf(why) };
      return { id: accountId(textOf(id)), cause: causeOf(cause), entry };
    });
    for (const { id, cause, entry } of known) this.#causes[cause].set(id, entry);
  }

  /** What was read is not of this log. That its server hides a stream was told once, and is written anew. */
  clear(): void {
    const { hidden, unreadable } = this.#causes;
    unreadable.clear();
    this.#leftUpTo.clear();
    this.#changed = new Map([...hidden.keys()].map((id) => [keyOf(id, 'hidden'), [id, 'hidden']]));
  }

  /**
   * Of events that cannot be read, what another one has; whose state that changes is told. What the log's server hides, and whom
   * an operator has parked, is known here alone, and is written anew.
   */
  adopt(other: AccountsSetAside): void {
    const { unreadable, hidden } = this.#causes;
    const found = other.#causes.unreadable;
    for (const id of unreadable.keys()) if (!found.has(id) && !this.isParked(id)) this.takeBack(id, 'unreadable');
    for (const [id, entry] of found) if (!this.isParked(id)) this.#setCause(id, 'unreadable', entry);
    this.#leftUpTo = other.#leftUpTo;
    this.#changed = other.#changed;
    for (const id of this.#parked) this.#changed.set(keyOf(id, 'unreadable'), [id, 'unreadable']);
    for (const id of hidden.keys()) this.#changed.set(keyOf(id, 'hidden'), [id, 'hidden']);
  }

  #setCause(id: AccountId, cause: AsideCause, entry: Entry | null): void {
    const before = this.#causes[cause].get(id);
    if (before?.why === entry?.why && before?.revision === entry?.revision) return;
    if (entry === null) this.#causes[cause].delete(id);
    else this.#causes[cause].set(id, entry);
    this.#changed.set(keyOf(id, cause), [id, cause]);
    const why = this.whyOf(id);
    for (const listener of this.#listeners) listener(id, why);
  }
}

function causeOf(value: ColumnValue | undefined): AsideCause {
  const cause = CAUSES.find((name) => name === value);
  if (cause === undefined) throw new Error(`${TABLE.name}: unknown cause ${String(value)}`);
  return cause;
}

const keyOf = (id: AccountId, cause: AsideCause): string => `${cause} ${id}`;
