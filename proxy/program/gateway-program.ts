import { Command } from 'commander';
import { addAccountCommands } from './accounts/account-commands.ts';
import { addAccountListCommand } from './accounts/account-list.ts';
import { addAccountUsageCommand } from './accounts/account-usage.ts';
import { addCreditsCommands } from './accounts/credits-commands.ts';
import { addKeyCommands } from './accounts/key-commands.ts';
import { addLimitCommands } from './accounts/limit-commands.ts';
import { addReinstateCommand } from './accounts/reinstate-command.ts';
import { addBackupCommand } from './backup/backup-command.ts';
import { addRestoreCommand } from './backup/restore-command.ts';
import { addCatalogCommands } from './catalog/catalog-commands.ts';
import { pathArgument } from './command-arguments.ts';
import type { CommandContext } from './command-context.ts';
import { addCompletionCommand } from './completion/completion-command.ts';
import { addDoctorCommand } from './doctor/doctor-command.ts';
import { addExceptionCommands } from './exceptions/exception-commands.ts';
import { addAcceptLossCommand } from './ledger/accept-loss-command.ts';
import { addCopyCommand } from './ledger/copy-command.ts';
import { addFormsCommand } from './ledger/forms-command.ts';
import { addKeysCommand } from './ledger/keys-command.ts';
import { addLedgerCommands } from './ledger/ledger-commands.ts';
import { addProveCommands } from './ledger/prove-command.ts';
import { addVerifyCommand } from './ledger/verify-command.ts';
import { addProjectionsCommands } from './projections/projections-commands.ts';
import { addRelayCommand } from './relay/relay-command.ts';
import { addServeCommand } from './serve/serve-command.ts';

/** All commands of the program `gateway`, each of which throws what it cannot do: the caller decides how the process ends. */
export function gatewayProgram(context: CommandContext): Command {
  const program = new Command('gateway')
    .description('a model gateway that bills to the token and can prove it')
    .option('--config <file>', 'configuration file, YAML or JSON (or GATEWAY_CONFIG)', pathArgument)
    .option('--data <folder>', "data folder instead of the configuration's", pathArgument)
    .option('--json', 'answers for machines')
    .option('--trust-clock', 'write though the ledger disagrees with the clock of this machine')
    .configureOutput({ writeOut: context.write, writeErr: context.warn })
    .showHelpAfterError('(--help shows how)')
    .configureHelp({ showGlobalOptions: true })
    .addHelpText(
      'after',
      '\nExit codes: 0 done, 1 unexpected failure, 2 wrong usage or configuration, 3 refused, 4 data or address out of reach, 5 faults found',
    )
    .exitOverride();
  addServeCommand(program, context);
  addRelayCommand(program, context);
  addDoctorCommand(program, context);
  const account = program.command('account').description('accounts');
  addAccountCommands(account, context);
  addAccountListCommand(account, context);
  addAccountUsageCommand(account, context);
  const credits = program.command('credits').description('credits');
  addCreditsCommands(credits, context);
  addReinstateCommand(credits, context);
  addKeyCommands(program.command('key').description('service keys'), context);
  addExceptionCommands(program.command('exception').description('usage that could not be debited as it came'), context);
  addLimitCommands(program.command('limit').description('monthly spend limits'), context);
  addCatalogCommands(program.command('catalog').description('models and prices'), context);
  const ledger = program.command('ledger').description('the ledger, for auditors, and after a loss');
  addLedgerCommands(ledger, context);
  addVerifyCommand(ledger, context);
  addProveCommands(ledger, context);
  addFormsCommand(ledger, context);
  addKeysCommand(ledger, context);
  addBackupCommand(ledger, context);
  addRestoreCommand(ledger, context);
  addAcceptLossCommand(ledger, context);
  addProjectionsCommands(
    program.command('projections').description('the views that requests are admitted by'),
    context,
  );
  addCopyCommand(ledger, context);
  addCompletionCommand(program, context);
  overrideExits(program);
  return program;
}

/** Sub-commands must throw, too, so that `main.mjs` alone decides how the process ends. */
function overrideExits(command: Command): void {
  for (const inner of command.commands) {
    inner.exitOverride();
    overrideExits(inner);
  }
}
