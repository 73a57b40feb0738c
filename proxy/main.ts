#!/usr/bin/env -S node --max-semi-space-size=64
import { join } from 'node:path';
import { Command, CommanderError } from 'commander';
import { type Configuration, ConfigurationError } from '../contracts/configuration.ts';
import { EventLogError } from '../contracts/event-log.ts';
import { addAccountCommands } from '../ledger/commands/account-commands.ts';
import { addCatalogCommands } from '../ledger/commands/catalog-commands.ts';
import { type CommandContext, CommandError, EXIT, type LogFollower } from '../ledger/commands/command-context.ts';
import { addCreditsCommands } from '../ledger/commands/credits-commands.ts';
import { addKeyCommands } from '../ledger/commands/key-commands.ts';
import { addLedgerCommands } from '../ledger/commands/ledger-commands.ts';
import { addLimitCommands } from '../ledger/commands/limit-commands.ts';
import { addReinstateCommand } from '../ledger/commands/reinstate-command.ts';
import { addRelayCommand } from '../ledger/commands/relay-command.ts';
import { openEventStoreDbEventLog } from '../ledger/event-log/eventstoredb/eventstoredb-event-log.ts';
import { openSqliteEventLog } from '../ledger/event-log/sqlite/sqlite-event-log.ts';
import { LedgerLostError } from '../ledger/identity/ledger-lost.ts';
import { JournalError } from '../ledger/journal/journal-error.ts';
import { addAcceptLossCommand } from '../projections/commands/accept-loss.ts';
import { addAccountListCommand } from '../projections/commands/account-list.ts';
import { addExceptionCommands } from '../projections/commands/exception-commands.ts';
import { StartError } from './become-ready.ts';
import { addServeCommand } from './commands/serve-command.ts';

/** The program `gateway`: the one place where adapters are built and the environment is read. */
const context: CommandContext = {
  openEventLog,
  environment: process.env,
  clock: Date.now,
  write: (text) => process.stdout.write(text),
};

const program = new Command('gateway')
  .description('a model gateway that bills to the token and can prove it')
  .option('--config <file>', 'configuration file, YAML or JSON (or GATEWAY_CONFIG)')
  .option('--data <folder>', "data folder instead of the configuration's")
  .option('--json', 'answers for machines')
  .showHelpAfterError('(--help shows how)')
  .configureHelp({ showGlobalOptions: true })
  .addHelpText(
    'after',
    '\nExit codes: 0 done, 1 unexpected failure, 2 wrong usage or configuration, 3 refused, 4 data out of reach',
  )
  .exitOverride();

// A reader that has seen enough (`gateway ledger events … | head`) ends the program; that is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit();
  throw error;
});

addServeCommand(program, context);
addRelayCommand(program, context);
const account = program.command('account').description('accounts');
addAccountCommands(account, context);
addAccountListCommand(account, context);
const credits = program.command('credits').description('credits');
addCreditsCommands(credits, context);
addReinstateCommand(credits, context);
addKeyCommands(program.command('key').description('service keys'), context);
addExceptionCommands(program.command('exception').description('usage that could not be debited as it came'), context);
addLimitCommands(program.command('limit').description('monthly spend limits'), context);
addCatalogCommands(program.command('catalog').description('models and prices'), context);
const ledger = program.command('ledger').description('the ledger, for auditors, and after a loss');
addLedgerCommands(ledger, context);
addAcceptLossCommand(ledger, context);
overrideExits(program);

try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = exitCodeOf(error);
}

async function openEventLog(
  { eventLog, data }: Configuration,
  follower?: LogFollower,
): ReturnType<CommandContext['openEventLog']> {
  if (eventLog.kind === 'sqlite') return openSqliteEventLog({ path: join(data, 'ledger.db') });
  const { connectionString } = eventLog;
  if (follower === undefined) return openEventStoreDbEventLog({ connectionString, waitForServer: true });
  const log = await openEventStoreDbEventLog({ connectionString, logger: follower.logger });
  void log.startFaults.then((faults) => {
    if (faults.length > 0) follower.onFaults(faults);
  });
  return log;
}

/** Sub-commands must throw, too, so that this file alone decides how the process ends. */
function overrideExits(command: Command): void {
  for (const inner of command.commands) {
    inner.exitOverride();
    overrideExits(inner);
  }
}

function exitCodeOf(error: unknown): number {
  // commander has said what is wrong already; help and version are no errors.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT.usage;
  if (error instanceof CommandError) return say(error.message, error.exitCode);
  if (error instanceof LedgerLostError) return say(error.message, EXIT.refused);
  if (error instanceof ConfigurationError) return say(error.message, EXIT.usage);
  if (error instanceof StartError) return say(error.message, EXIT.unavailable);
  if (error instanceof EventLogError && error.kind === 'ambiguous')
    return say(`${error.message}\nIt may have been done: look before you repeat it.`, EXIT.unavailable);
  if (error instanceof EventLogError || error instanceof JournalError) return say(error.message, EXIT.unavailable);
  process.stderr.write(`gateway: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  return 1;
}

function say(message: string, exitCode: number): number {
  process.stderr.write(`gateway: ${message}\n`);
  return exitCode;
}
