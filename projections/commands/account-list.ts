import { join } from 'node:path';
import type { Command } from 'commander';
import { formatUsd, microUsd } from '../../contracts/money.ts';
import { usableCredits } from '../../ledger/account/grants.ts';
import { type CommandContext, show, table, withEventLog } from '../../ledger/commands/command-context.ts';
import { Projections } from '../projections.ts';

/** `gateway account list`: from the views and what the log has beyond them; the views' file is left alone. */
export function addAccountListCommand(account: Command, context: CommandContext): void {
  account
    .command('list')
    .description('list all accounts')
    .action(async (_options: unknown, command: Command) => {
      await withEventLog(context, command, async (log, configuration) => {
        const path = join(configuration.data, 'views.db');
        const projections = await Projections.start({ log, path, persist: false, onStopped: () => undefined });
        try {
          await projections.whenCaughtUp();
          const accounts = openAccounts(projections, context.clock());
          const rows = accounts.map((one) => [
            one.accountId,
            one.kind,
            one.email,
            one.plan,
            formatUsd(one.availableMicroUsd),
          ]);
          show(context, command, {
            json: accounts,
            text: table(['account', 'kind', 'e-mail', 'plan', 'USD available'], rows),
          });
        } finally {
          await projections.close();
        }
      });
    });
}

const openAccounts = ({ accounts }: Projections, nowMs: number) =>
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
