#!/usr/bin/env -S node --max-semi-space-size=64
import { join } from 'node:path';
import { CommanderError } from 'commander';
import { type Configuration, ConfigurationError } from '../contracts/configuration.ts';
import { EventLogError } from '../contracts/event-log.ts';
import { type CommandContext, CommandError, EXIT, type LogFollower } from '../ledger/commands/command-context.ts';
import { openSqliteEventLog } from '../ledger/event-log/sqlite/sqlite-event-log.ts';
import { LedgerLostError } from '../ledger/identity/ledger-lost.ts';
import { JournalError } from '../ledger/journal/journal-error.ts';
import { proveLedger } from '../projections/commands/proven-ledger.ts';
import { compareCommandClock } from './clock/command-clock.ts';
import { gatewayProgram } from './commands/gateway-program.ts';
import { UnusableError } from './unusable-error.ts';

/** The program `gateway`: the one place where adapters are built and the environment is read. */
const context: CommandContext = {
  openEventLog,
  proveLedger: (log, configuration) => proveLedger(log, configuration, Date.now),
  compareClock: (log, { clock: bounds }) =>
    compareCommandClock(log, { wall: Date.now, monotonic: () => performance.now(), bounds }),
  environment: process.env,
  clock: Date.now,
  write: (text) => process.stdout.write(text),
  warn: (text) => process.stderr.write(text),
};

// A reader that has seen enough (`gateway ledger events … | head`) ends the program; that is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit();
  throw error;
});

try {
  await gatewayProgram(context).parseAsync();
} catch (error) {
  process.exitCode = exitCodeOf(error);
}

async function openEventLog(
  { eventLog, data }: Configuration,
  follower?: LogFollower,
): ReturnType<CommandContext['openEventLog']> {
  if (eventLog.kind === 'sqlite') return openSqliteEventLog({ path: join(data, 'ledger.db') });
  const { connectionString } = eventLog;
  // Loaded here, because its driver is a third of what a command loads, and most commands run over an embedded log.
  const { openEventStoreDbEventLog } = await import('../ledger/event-log/eventstoredb/eventstoredb-event-log.ts');
  if (follower === undefined) return openEventStoreDbEventLog({ connectionString, waitForServer: true });
  const log = await openEventStoreDbEventLog({ connectionString, logger: follower.logger });
  void log.startFaults.then((faults) => {
    if (faults.length > 0) follower.onFaults(faults);
  });
  return log;
}

function exitCodeOf(error: unknown): number {
  // commander has said what is wrong already; help and version are no errors.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT.usage;
  if (error instanceof CommandError) return say(error.message, error.exitCode);
  if (error instanceof LedgerLostError) return say(error.message, EXIT.refused);
  if (error instanceof ConfigurationError) return say(error.message, EXIT.usage);
  if (error instanceof UnusableError) return say(error.message, EXIT.unavailable);
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
