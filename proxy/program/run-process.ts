import { userInfo } from 'node:os';
import { LIMITS } from '../../contracts/limits.ts';
import type { CommandContext } from './command-context.ts';
import { EXIT } from './command-error.ts';
import { giveWay } from './give-way.ts';
import { runGatewayProgram } from './run-gateway-program.ts';
import { terminalWords } from './terminal-words.ts';

/** One command line of this process, to its exit code: the one place where the environment is read. */
export async function runProcess(): Promise<void> {
  /** What follows the log runs on for others: a gateway, a relay. */
  let isFollowing = false;
  /** On a terminal that may be held nothing of theirs waits. */
  let words: ((text: string) => void) | null = null;
  let warnings: ((text: string) => void) | null = null;
  let unreadExitCode: number | null = 0;
  let isUnread = false;
  let lostWithIt: string | null = null;

  const context: CommandContext = {
    // What opens a log is loaded where one is opened.
    openEventLog: async (configuration, use) => {
      isFollowing = typeof use === 'object';
      if (isFollowing) {
        words ??= terminalWords(process.stdout.fd);
        warnings ??= terminalWords(process.stderr.fd);
      }
      return (await import('./open-event-log.ts')).openInAdoptedForms(configuration, use);
    },
    proveLedger: async (log, configuration) =>
      (await import('./ledger/proven-ledger.ts')).proveLedger(log, configuration, Date.now),
    compareClock: async (log, { clock: bounds }) => {
      const { compareCommandClock } = await import('../clock/command-clock.ts');
      return compareCommandClock(log, { wall: Date.now, monotonic: () => performance.now(), bounds });
    },
    environment: process.env,
    ...systemUser(),
    clock: Date.now,
    write: (text) => (words === null ? process.stdout.write(text) : words(text)),
    ...(process.stdout.isTTY ? { columns: process.stdout.columns } : {}),
    ...(process.stdout.isTTY && process.stdout.hasColors()
      ? { writePainted: (text) => process.stdout.write(text) }
      : {}),
    warn: (text) => (warnings === null ? process.stderr.write(text) : warnings(text)),
    progressStream: process.stderr,
    whenUnread: (exitCode, lost) => {
      unreadExitCode = exitCode;
      lostWithIt = lost ?? null;
    },
    giveWay,
    leave: (exitCode) => process.exit(exitCode),
  };

  // A reader that has seen enough (`gateway ledger events … | head`) ends the program; that is no failure. On a full disk
  // whoever asked has no answer, and what was asked for may be done all the same. What serves others goes on without a
  // reader: a supervisor that found it ended, and that with a 0, would leave them without it. So does what has a verdict to give.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (isFollowing) {
      context.warn(`gateway: its first words could not be written (${error.message}); it goes on\n`);
      return;
    }
    isUnread ||= error.code === 'EPIPE';
    if (isUnread && unreadExitCode === null) return;
    if (isUnread && lostWithIt === null) process.exit(unreadExitCode ?? 0);
    context.warn(
      `gateway: the answer could not be written (${error.message}); ${lostWithIt ?? 'what was asked for may have been done'}\n`,
    );
    process.exit(EXIT.unavailable);
  });
  // Nobody is left to be told.
  process.stderr.on('error', () => undefined);

  process.exitCode = await runGatewayProgram(context, process.argv.slice(2));
  // All is said and closed. A connection of a driver or a thread that is open all the same does not keep the process, which
  // serves nobody any more, from its supervisor.
  setTimeout(() => process.exit(), LIMITS.leaveMs).unref();
}

/** A container may run as a number that has no name. */
function systemUser(): Pick<CommandContext, 'user'> {
  try {
    return { user: userInfo().username };
  } catch {
    return {};
  }
}
