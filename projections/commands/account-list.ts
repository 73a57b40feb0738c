import type { Command } from 'commander';
import { formatUsd, microUsd } from '../../contracts/money.ts';
import { usableCredits } from '../../ledger/account/grants.ts';
import { type CommandContext, show, table } from '../../ledger/commands/command-context.ts';
import type { AccountViews } from '../account-views.ts';
import { withViews } from './with-views.ts';

/** `gateway account list`: from the views and what the log has beyond them; the views' file is left alone. */
export function addAccountListCommand(account: Command, context: CommandContext): void {
  account
    .command('list')
    .description('list all accounts')
    .action(async (_options: unknown, command: Command) => {
      await withViews(context, command, async (accounts) => {
        const listed = openAccounts(accounts, context.clock());
        const rows = listed.map((one) => [
          one.accountId,
          one.kind,
          one.email,
          one.plan,
          formatUsd(one.availableMicroUsd),
        ]);
        show(context, command, {
          json: listed,
          text: table(['account', 'kind', 'e-mail', 'plan', 'USD available'], rows),
        });
      });
    });
}

const openAccounts = (accounts: AccountViews, nowMs: number) =>
  [...accounts.balance.all()].flatMap(([accountId, { state }]) =>
    state.type === 'unopened'
      ? []
      : [
          {
            accountId,
            kind: state.kind,
            email: state.email,
            plan: state.plan,
            isSuspended: state.suspended !== null,
            availableMicroUsd: microUsd(usableCredits(state.grants, nowMs) - state.uncovered),
          },
        ],
  );
