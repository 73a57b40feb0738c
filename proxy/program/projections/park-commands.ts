import type { Command } from 'commander';
import type { AccountId } from '../../../contracts/ids.ts';
import { accountsAsideIn, UNPARKED } from '../../../projections/accounts-aside-in.ts';
import { writeParked } from '../../../projections/parked-accounts.ts';
import { accountArgument, reasonArgument } from '../command-arguments.ts';
import { type CommandContext, CommandError, configurationOf, EXIT, withReadLogIfThere } from '../command-context.ts';
import { assertAccount } from '../ledger/assert-account.ts';
import { nextCommand, startedWithOf } from '../next-command.ts';
import { show } from '../show.ts';
import { askOrDo } from './ask-or-do.ts';

/** `gateway projections park` and `unpark`: an account set aside by hand, as an event that cannot be read does it by itself. */
export function addParkCommands(projections: Command, context: CommandContext): void {
  projections
    .command('park')
    .description(
      'set an account aside on the gateway of this data folder, as an event that it cannot apply would: its requests get 529 and' +
        ' the reason, what they have used waits, and its events wait in the ledger',
    )
    .argument('<account>', 'account id', accountArgument)
    .requiredOption('--reason <text>', 'why, as its callers are told', reasonArgument)
    .addHelpText(
      'after',
      '\nEach gateway of a fleet has accounts of its own parked; `gateway account suspend` refuses an account everywhere.' +
        '\n\nExample:\n  gateway projections park acct_demo --reason "its views look wrong: #4711"',
    )
    .action(async (account: AccountId, { reason }: { readonly reason: string }, command: Command) => {
      const { data } = configurationOf(context, command);
      await withReadLogIfThere(context, command, {
        work: async (log) => (log === null ? undefined : assertAccount(log, account)),
        unknown: 'whether there is such an account was not looked at',
      });
      const asked = { type: 'park', accountId: account, reason } as const;
      const where = await askOrDo(asked, { context, data }, () => writeParked(data, account, reason));
      show(context, command, {
        json: { account, reason, parked: where },
        text: `${account} is parked ${where}; \`${nextCommand(startedWithOf(context), 'gateway', 'projections', 'unpark', account)}\` ends it`,
      });
    });
  projections
    .command('unpark')
    .description(
      'have an account that is parked, or that an event has set aside, read what has waited, and serve it again',
    )
    .argument('<account>', 'account id', accountArgument)
    .addHelpText('after', '\nExample:\n  gateway projections unpark acct_demo')
    .action(async (account: AccountId, _options: unknown, command: Command) => {
      const { data } = configurationOf(context, command);
      // All that is asked stands in the folder: the ledger is only told of.
      const isLogThere = await withReadLogIfThere(context, command, {
        work: async (log) => log !== null,
        unknown: 'whether the ledger is whole was not looked at',
      });
      const aside = accountsAsideIn(data).find(({ accountId }) => accountId === account);
      if (aside === undefined)
        throw new CommandError(`${account} is not parked here, and no event has set it aside`, EXIT.refused);
      if (aside.cause === UNPARKED)
        throw new CommandError(`${account} is unparked already: ${aside.why}`, EXIT.refused);
      const asked = { type: 'unpark', accountId: account } as const;
      const where = await askOrDo(asked, { context, data }, () => writeParked(data, account, null));
      show(context, command, {
        json: { account, unparked: where },
        text: `${account} is unparked ${where}; ${isLogThere ? '' : 'it is refused until what has waited could be read, and '}\`${nextCommand(startedWithOf(context), 'gateway', 'projections', 'status')}\` says whether an event of it sets it aside`,
      });
    });
}
