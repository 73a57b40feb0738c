import type { Command } from 'commander';
import { groupedUsd, microUsd } from '../../../contracts/money.ts';
import { usableCredits } from '../../../ledger/account/grants.ts';
import { ownerOf } from '../../../ledger/account/members.ts';
import { planSaidNow } from '../../../ledger/account/plan-over.ts';
import type { AccountViews } from '../../../projections/account-views.ts';
import { accountsAsideIn } from '../../../projections/accounts-aside-in.ts';
import { productArgument } from '../command-arguments.ts';
import { type CommandContext, configurationOf } from '../command-context.ts';
import { withViews } from '../ledger/with-views.ts';
import { NO_ACCOUNTS, refuseProduct, warnOfNoAccounts } from '../product-words.ts';
import { type ShownRow, showRows } from '../show.ts';

/** `gateway account list`: from the views and what the log has beyond them; the views' file is left alone. */
export function addAccountListCommand(account: Command, context: CommandContext): void {
  account
    .command('list')
    .description('list the accounts of a product')
    .option('--product <name>', "which; the configuration's otherwise", productArgument)
    .action(async ({ product }: { readonly product?: string }, command: Command) => {
      const { data, ...configured } = configurationOf(context, command);
      const setAside = new Map(accountsAsideIn(data).map(({ accountId, cause, why }) => [accountId, { cause, why }]));
      const of = { product: product ?? configured.product, setAside, nowMs: context.clock() };
      const { listed, others } = await withViews(context, command, async (accounts) => {
        const listed = [...openAccounts(accounts, of)];
        if (product !== undefined && listed.length === 0) refuseProduct(product, NO_ACCOUNTS, accounts.products.names);
        return { listed, others: accounts.otherProducts(of.product) };
      });
      warnOfNoAccounts(context, of.product, others);
      await showRows(context, command, listed, ROW);
    });
}

type ListedAccount = ReturnType<typeof openAccounts> extends Generator<infer Listed> ? Listed : never;

const ROW: ShownRow<ListedAccount> = {
  head: ['account', 'kind', 'e-mail', 'product', 'plan', 'state', 'USD available'],
  cells: (one) => [
    ...[one.accountId, one.kind, one.email, one.product, one.plan],
    [
      ...(one.isSuspended ? ['suspended'] : []),
      ...(one.setAside === null ? [] : [`set aside (${one.setAside.cause})`]),
    ],
    groupedUsd(one.availableMicroUsd),
  ],
  json: (one) => one,
};

interface Listing {
  readonly product: string;
  /** By the gateway of this data folder, which refuses them. */
  readonly setAside: ReadonlyMap<string, { readonly cause: string; readonly why: string }>;
  readonly nowMs: number;
}

/** Of each no more than what is shown: there may be many. */
function* openAccounts(accounts: AccountViews, { product, setAside, nowMs }: Listing) {
  for (const [accountId, state] of accounts.balance.all()) {
    const { kind, organization, suspended, grants, uncovered } = state;
    if (organization.product !== product) continue;
    yield {
      ...{ accountId, kind, email: ownerOf(state), product, plan: planSaidNow(state, nowMs) },
      isSuspended: suspended !== null,
      setAside: setAside.get(accountId) ?? null,
      availableMicroUsd: microUsd(usableCredits(grants, nowMs) - uncovered),
    };
  }
}
