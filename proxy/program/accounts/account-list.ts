import type { Command } from 'commander';
import { formatUsd, microUsd } from '../../../contracts/money.ts';
import { usableCredits } from '../../../ledger/account/grants.ts';
import type { AccountViews } from '../../../projections/account-views.ts';
import type { CommandContext } from '../command-context.ts';
import { withViews } from '../ledger/with-views.ts';
import { type ShownRow, showRows } from '../show.ts';

/** `gateway account list`: from the views and what the log has beyond them; the views' file is left alone. */
export function addAccountListCommand(account: Command, context: CommandContext): void {
  account
    .command('list')
    .description('list all accounts')
    .action(async (_options: unknown, command: Command) => {
      await withViews(context, command, (accounts) =>
        showRows(context, command, openAccounts(accounts, context.clock()), ROW),
      );
    });
}

type ListedAccount = ReturnType<typeof openAccounts> extends Generator<infer Listed> ? Listed : never;

const ROW: ShownRow<ListedAccount> = {
  head: ['account', 'kind', 'e-mail', 'plan', 'USD available'],
  cells: (one) => [one.accountId, one.kind, one.email, one.plan, formatUsd(one.availableMicroUsd)],
  json: (one) => one,
};

/** One at a time: there may be many. */
function* openAccounts(accounts: AccountViews, nowMs: number) {
  for (const [accountId, { state }] of accounts.balance.all())
    if (state.type === 'open')
      yield {
        accountId,
        kind: state.kind,
        email: state.email,
        plan: state.plan,
        isSuspended: state.suspended !== null,
        availableMicroUsd: microUsd(usableCredits(state.grants, nowMs) - state.uncovered),
      };
}
