import type { AccountId } from '../contracts/ids.ts';
import type { LastUses } from '../ledger/account/last-uses.ts';
import type { AccountSnapshot } from '../ledger/account/load-account.ts';
import { AccountViews } from './account-views.ts';
import { readFoldedThrough, readUpcastFrom } from './known-views.ts';
import { restoreViews } from './view-store.ts';

/** An account as views have it: what its stream has behind the revision is to be folded onto both. */
export interface AccountInFile {
  readonly snapshot: AccountSnapshot;
  readonly lastUses: LastUses;
}

/**
 * One account out of a views' file, of one moment, by its own rows alone: whether those can be relied on is for the caller to know. A gateway may
 * write meanwhile. Null where the file does not know it, has it aside, or has no rows that this program has folded. @throws Error where a
 * row is not of its form, or the file is no database
 */
export function accountInFile(path: string, id: AccountId): AccountInFile | null {
  const through = readFoldedThrough(path);
  // What was made of rows of an earlier version does not have all last uses.
  if (through === null || readUpcastFrom(path).size > 0) return null;
  const accounts = new AccountViews();
  const { balance, monthly, setAside } = accounts;
  const views = [...accounts.all, setAside];
  const restored = restoreViews(path, views, { source: through.feed, isChecked: true });
  if (restored === null) return null;
  try {
    const snapshot = balance.glance(id);
    const isKnown = snapshot.state.type === 'open' && setAside.whyOf(id) === null;
    // Uses of before the snapshot are not read any more.
    if (!isKnown || monthly.revisionOf(id) < snapshot.revision) return null;
    return { snapshot, lastUses: monthly.lastUsesOf(id) };
  } finally {
    restored.rows.close();
  }
}
