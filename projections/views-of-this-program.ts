import { AccountViews } from './account-views.ts';
import { CatalogView } from './catalog-view.ts';
import type { StoredView } from './view.ts';

/** All that a file of views holds. */
export function viewsOfThisProgram(): StoredView[] {
  const accounts = new AccountViews();
  return [...accounts.all, new CatalogView(), accounts.setAside];
}
