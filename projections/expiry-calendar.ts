import type { AccountId } from '../contracts/ids.ts';
import type { Grant } from '../ledger/account/account-state.ts';

const HOUR_MS = 3_600_000;

/** Accounts that nobody has read, by the hour in which the first of their credits end: a few bytes for each. */
export class ExpiryCalendar {
  readonly #byHour = new Map<number, AccountId[]>();

  /** Nothing where no credits that are left ever end. */
  add(id: AccountId, grants: readonly Grant[]): void {
    const ends = grants.flatMap(({ remaining, expiresAtMs }) =>
      remaining === 0n || expiresAtMs === null ? [] : [expiresAtMs],
    );
    if (ends.length === 0) return;
    const hour = Math.floor(Math.min(...ends) / HOUR_MS);
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
