import type { Command } from 'commander';
import { groupedUsd, microUsd } from '../../../contracts/money.ts';
import { usableCredits } from '../../../ledger/account/grants.ts';
import type { AccountViews } from '../../../projections/account-views.ts';
import { productArgument } from '../command-arguments.ts';
import { type CommandContext, configurationOf } from '../command-context.ts';
import { withViews } from '../ledger/with-views.ts';
import { type ShownRow, showRows } from '../show.ts';

/** `gateway account list`: from the views and what the log has beyond them; the views' file is left alone. */
export function addAccountListCommand(account: Command, context: CommandContext): void {
  account
    .command('list')
    .description('list the accounts of a product')
    .option('--product <name>', "which; the configuration's otherwise", productArgument)
    .action(async ({ product }: { readonly product?: string }, command: Command) => {
      const asked = product ?? configurationOf(context, command).product;
      const nowMs = context.clock();
      const listed = await withViews(context, command, async (accounts) => [...openAccounts(accounts, asked, nowMs)]);
      await showRows(context, command, listed, ROW);
    });
}

type ListedAccount = ReturnType<typeof openAccounts> extends Generator<infer Listed> ? Listed : never;

const ROW: ShownRow<ListedAccount> = {
  head: ['account', 'kind', 'e-mail', 'product', 'plan', 'USD available'],
  cells: (one) => [one.accountId, one.kind, one.email, one.product, one.plan, groupedUsd(one.availableMicroUsd)],
  json: (one) => one,
};

/** Of each no more than what is shown: there may be many. */
function* openAccounts(accounts: AccountViews, product: string, nowMs: number) {
  for (const [accountId, { kind, email, organization, plan, suspended, grants, uncovered }] of accounts.balance.all()) {
    if (organization.product !== product) continue;
    yield {
      ...{ accountId, kind, email, product, plan },
      isSuspended: suspended !== null,
      availableMicroUsd: microUsd(usableCredits(grants, nowMs) - uncovered),
    };
  }
}
