import type { EventLog } from '../contracts/event-log.ts';
import { accountId } from '../contracts/ids.ts';
import { formatUsd, microUsd } from '../contracts/money.ts';
import { type AccountState, INITIAL_SPEND } from '../ledger/account/account-state.ts';
import { loadAccount } from '../ledger/account/load-account.ts';
import { type KnownAccount, readKnownAccounts } from './known-accounts.ts';

/** What the views know of an account and its ledger has lost: nothing but an operator can do it again. */
export interface ToDoAgain {
  readonly accountId: string;
  /** The account itself; null where the ledger has it. */
  readonly account: Pick<KnownAccount, 'kind' | 'email' | 'plan'> | null;
  readonly grants: KnownAccount['grants'];
  /** Those in use: what is not there is as good as revoked. Their secrets were never kept. */
  readonly keys: readonly { readonly keyId: string; readonly name: string; readonly last4: string }[];
  /** As they were; `keyId` null is the account's own, `limit` null is none. In micro-USD. */
  readonly limits: readonly { readonly keyId: string | null; readonly limit: string | null }[];
}

/** Null where there are no views to know it by. @throws EventLogError; Error when the file is no database */
export async function findToDoAgain(log: EventLog, viewsFile: string | null): Promise<readonly ToDoAgain[] | null> {
  if (viewsFile === null) return null;
  const found: ToDoAgain[] = [];
  for (const known of readKnownAccounts(viewsFile)) {
    const { state } = await loadAccount(log, accountId(known.accountId));
    const lacks = missingIn(state, known);
    if (lacks.account !== null || [lacks.grants, lacks.keys, lacks.limits].some(({ length }) => length > 0))
      found.push(lacks);
  }
  return found;
}

function missingIn(state: AccountState, known: KnownAccount): ToDoAgain {
  const { kind, email, plan } = known;
  const { grants, keys, spend } = state.type === 'open' ? state : { grants: [], keys: {}, spend: INITIAL_SPEND };
  const granted = new Set<string>(grants.map(({ grantId }) => grantId));
  const limits = [
    { keyId: null, limit: known.spend.accountLimit, has: spend.accountLimit },
    ...Object.entries(known.spend.keyLimits).map(([keyId, limit]) => ({
      keyId,
      limit,
      has: spend.keyLimits[keyId] ?? null,
    })),
  ];
  return {
    accountId: known.accountId,
    account: state.type === 'open' ? null : { kind, email, plan },
    grants: known.grants.filter(({ grantId }) => !granted.has(grantId)),
    keys: Object.entries(known.keys).flatMap(([keyId, { name, last4, revokedAtMs }]) =>
      revokedAtMs != null || Object.hasOwn(keys, keyId) ? [] : [{ keyId, name, last4 }],
    ),
    limits: limits.flatMap(({ keyId, limit, has }) =>
      (has === null ? null : has.toString()) === limit ? [] : [{ keyId, limit }],
    ),
  };
}

/** As many lines as there are things to do, each with what an operator needs for it. */
export function describeToDoAgain(accounts: readonly ToDoAgain[]): string[] {
  return accounts.flatMap(({ accountId: id, account, grants, keys, limits }) => [
    ...(account === null ? [] : [`account ${id} (${account.kind}, ${account.email}, plan ${account.plan})`]),
    ...grants.map(
      ({ grantId, source, amount, remaining, expiresAtMs }) =>
        `grant ${grantId} of ${id}: ${source}, ${usd(amount)} USD, ${usd(remaining)} of it left, ` +
        (expiresAtMs === null ? 'without end' : `until ${new Date(expiresAtMs).toISOString()}`),
    ),
    ...keys.map(({ keyId, name, last4 }) => `key ${keyId} of ${id} ("${name}", …${last4}): issue another one`),
    ...limits.map(
      ({ keyId, limit }) =>
        `limit of ${keyId === null ? id : `${keyId} of ${id}`}: ${limit === null ? 'none' : `${usd(limit)} USD a month`}`,
    ),
  ]);
}

const usd = (microUsdText: string): string => formatUsd(microUsd(BigInt(microUsdText)));
