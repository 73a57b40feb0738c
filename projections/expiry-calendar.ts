import type { AccountId } from '../contracts/ids.ts';
import type { Grant } from '../ledger/account/account-state.ts';
import { firstEndOf } from '../ledger/account/grants.ts';

const HOUR_MS = 3_600_000;

/** Accounts by the hour in which the first of their credits end, each once an hour however often it comes: a few bytes for each. */
export class ExpiryCalendar {
  readonly #byHour = new Map<number, Set<AccountId>>();

  /** Nothing where no credits that are left ever end. */
  add(id: AccountId, grants: readonly Grant[]): void {
    const endMs = firstEndOf(grants);
    if (endMs === null) return;
    const hour = Math.floor(endMs / HOUR_MS);
    const ofHour = this.#byHour.get(hour);
    if (ofHour === undefined) this.#byHour.set(hour, new Set([id]));
    else ofHour.add(id);
  }

  /** Takes out, one by one, the accounts of which credits end by an instant, or in the hour that it is in. */
  *due(byMs: number): Generator<AccountId> {
    for (const [hour, ids] of this.#byHour) {
      if (hour * HOUR_MS > byMs) continue;
      for (const id of ids) {
        ids.delete(id);
        yield id;
      }
      this.#byHour.delete(hour);
    }
  }

  clear(): void {
    this.#byHour.clear();
  }
}
