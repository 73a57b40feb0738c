import type { AccountId } from '../contracts/ids.ts';
import type { Grant } from '../ledger/account/account-state.ts';
import { firstEndOf } from '../ledger/account/grants.ts';

const HOUR_MS = 3_600_000;

/** Accounts by the hour in which the first of their credits end: a few bytes for each. */
export class ExpiryCalendar {
  readonly #byHour = new Map<number, AccountId[]>();

  /** Nothing where no credits that are left ever end. */
  add(id: AccountId, grants: readonly Grant[]): void {
    const endMs = firstEndOf(grants);
    if (endMs === null) return;
    const hour = Math.floor(endMs / HOUR_MS);
    const ofHour = this.#byHour.get(hour);
    if (ofHour === undefined) this.#byHour.set(hour, [id]);
    else ofHour.push(id);
  }

  /** Takes out, one by one, the accounts of which credits end by an instant, or in the hour that it is in. */
  *due(byMs: number): Generator<AccountId> {
    for (const [hour, ids] of this.#byHour) {
      if (hour * HOUR_MS > byMs) continue;
      for (let id = ids.pop(); id !== undefined; id = ids.pop()) yield id;
      this.#byHour.delete(hour);
    }
  }

  clear(): void {
    this.#byHour.clear();
  }
}
