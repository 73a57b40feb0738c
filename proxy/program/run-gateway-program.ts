import { type Command, CommanderError } from 'commander';
import { ConfigurationError } from '../../contracts/configuration.ts';
import { EventLogError, HiddenStreamError } from '../../contracts/event-log.ts';
import { accountOfStream } from '../../contracts/ids.ts';
import { LIMITS } from '../../contracts/limits.ts';
import { printable } from '../../contracts/printable.ts';
import { shortageOf } from '../../contracts/shortage.ts';
import { UnreadFormsError } from '../../contracts/unread-forms-error.ts';
import { UnreadableEventError } from '../../contracts/unreadable-event-error.ts';
import { AccountUnreadableError } from '../../ledger/account/account-unreadable-error.ts';
import { ConflictsError } from '../../ledger/account/conflicts-error.ts';
import { isBusy, mayPass } from '../../ledger/event-log/sqlite/database-fault.ts';
import { LedgerLostError } from '../../ledger/identity/ledger-lost.ts';
import { JournalError } from '../../ledger/journal/journal-error.ts';
import { UnreadableFileError } from '../../ledger/unreadable-file.ts';
import { makeRoom, wantOfDiskOf } from '../../ledger/want-of-disk.ts';
import { wantOfRightsOf } from '../../ledger/want-of-rights.ts';
import { type CommandContext, CommandError, EXIT, toldOfLedger } from './command-context.ts';
import { sayAside } from './command-error.ts';
import { gatewayProgram, withActor } from './gateway-program.ts';
import { ListenError } from './listening.ts';
import { UnusableError } from './unusable-error.ts';

/** Carries out one command line, without the program's name, and says on `warn` why it fails. Returns the exit code. */
export async function runGatewayProgram(given: CommandContext, args: readonly string[]): Promise<number> {
  let program: Command | undefined;
  const context = withActor(printing(given), () => program);
  let end: NodeJS.Timeout | undefined;
  // What cannot go on closes what it has open, each thing by a bound of its own, and together they may take longer than a
  // supervisor should wait: a log that answers nobody, a client that reads its stream to the end. When its time is over it
  // leaves all the same, which loses nothing: it is as though it had been killed.
  const onEnding = (error: unknown): void => {
    end ??= setTimeout(() => given.leave?.(exitCodeOf(error, context)), LIMITS.fatalEndMs);
  };
  try {
    program = await gatewayProgram({ ...context, onEnding }, args);
    await program.parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    return exitCodeOf(error, context);
  } finally {
    clearTimeout(end);
  }
}

/** Names, reasons and messages come from others, and a terminal obeys what is in them. */
const printing = (context: CommandContext): CommandContext => ({
  ...context,
  write: (text) => context.write(printable(text)),
  writeData: (text) => context.write(context.columns === undefined ? text : printable(text.replaceAll('\r\n', '\n'))),
  warn: (text) => context.warn(printable(text)),
});

const OF_NEWER = 'A newer program may have written it: that one serves the account again, from its start on.';

const UNREADABLE =
  'A newer program may have written it: start that one. If not, something else has written into the log: put back a copy from before.';

function exitCodeOf(error: unknown, context: CommandContext): number {
  const say = (message: string, exitCode: number): number => {
    context.warn(`gateway: ${message}\n`);
    return exitCode;
  };
  const sayOfLedger = (message: string, exitCode: number): number => say(toldOfLedger(context, message), exitCode);
  // commander has said what is wrong already; help and version are no errors.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT.usage;
  if (error instanceof CommandError) return say(error.message, error.exitCode);
  // Nothing of it was written, and nothing is amiss.
  if (error instanceof ConflictsError) return say(error.message, EXIT.refused);
  if (error instanceof LedgerLostError) return sayOfLedger(error.message, EXIT.refused);
  if (error instanceof UnreadFormsError) return say(error.message, EXIT.refused);
  if (error instanceof ConfigurationError) return say(error.message, EXIT.usage);
  if (error instanceof ListenError) return say(error.message, error.isWrongPlace ? EXIT.usage : EXIT.unavailable);
  if (error instanceof UnusableError || error instanceof UnreadableFileError)
    return sayOfLedger(error.message, EXIT.unavailable);
  if (error instanceof AccountUnreadableError)
    return sayOfLedger(`${sayAside(error.accountId, error.message)}\n${OF_NEWER}`, EXIT.refused);
  if (error instanceof UnreadableEventError)
    return sayOfLedger(
      `an event of the ledger cannot be read, and none is skipped: ${error.message}\n${UNREADABLE}`,
      EXIT.unavailable,
    );
  const hiddenId = error instanceof HiddenStreamError ? accountOfStream(error.stream) : null;
  if (error instanceof HiddenStreamError && hiddenId !== null)
    return sayOfLedger(sayAside(hiddenId, error.message), EXIT.refused);
  if (error instanceof EventLogError && error.kind === 'ambiguous')
    return say(
      `${toldOfLedger(context, error.message)}\nIt may have been done: look before you repeat it.`,
      EXIT.unavailable,
    );
  if (error instanceof EventLogError || error instanceof JournalError)
    return sayOfLedger(error.message, EXIT.unavailable);
  const lacking = wantOfRightsOf(error) ?? wantOfDiskOf(error);
  if (lacking !== null) return say(lacking, EXIT.unavailable);
  if (isBusy(error) && error instanceof Error)
    return say(
      `${error.message}: another process has a file of the data folder for itself; run it again once that has ended`,
      EXIT.unavailable,
    );
  // What the machine has too little of, or what a file's disk or folder refuses: nothing of it is this program's.
  if (error instanceof Error && (shortageOf(error) !== null || mayPass(error)))
    return say(`${error.message}: ${tooLittle(error)}`, EXIT.unavailable);
  return sayOfLedger(error instanceof Error ? (error.stack ?? error.message) : String(error), 1);
}

/** SQLite has the same words for several of these. */
function tooLittle(error: Error): string {
  const shortage = shortageOf(error);
  if (shortage === 'disk') return makeRoom(null);
  const open = 'raise how many files this process may have open (`ulimit -n`)';
  return shortage === 'descriptors' ? open : `make room on the disk of the data folder, or ${open}`;
}
