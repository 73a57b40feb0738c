import type { AccountState } from '../../ledger/account/account-state.ts';
import { memberKey } from '../../ledger/account/members.ts';
import type { KnownAccount } from './known-accounts.ts';

/** Null is no member. */
export interface MemberToDoAgain {
  readonly email: string;
  /** By the views. */
  readonly was: string | null;
  /** By the ledger. */
  readonly is: string | null;
}

interface Members {
  readonly now: AccountState;
  /** As the ledger has it at the revision of the views. */
  readonly then: AccountState;
}

/** Those that were added or removed, or got another role, and are not as they were. What the ledger has decided since is not lost. */
export function missingMembers({ now, then }: Members, { organization, email }: KnownAccount): MemberToDoAgain[] {
  if (organization === undefined) return [];
  const { members } = organization;
  const [has, had] = [membersOf(now), membersOf(then)];
  const all = [...new Set([...Object.keys(members), ...Object.keys(has)])].sort();
  return all.flatMap((key) => {
    const was = members[key]?.role ?? null;
    const is = has[key]?.role ?? null;
    // An account that is opened again has its first owner with that.
    const isOfAccount = now.type === 'unopened' && key === memberKey(email);
    if (was === is || was === (had[key]?.role ?? null) || isOfAccount) return [];
    return [{ email: (members[key] ?? has[key])?.email ?? key, was, is }];
  });
}

const membersOf = (state: AccountState): Readonly<Record<string, { readonly email: string; readonly role: string }>> =>
  state.type === 'open' ? state.organization.members : {};
