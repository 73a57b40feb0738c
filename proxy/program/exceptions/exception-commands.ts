import type { Command } from 'commander';
import { type AccountId, requestId } from '../../../contracts/ids.ts';
import { accountArgument, instantArgument, reasonArgument } from '../command-arguments.ts';
import { type CommandCall, type CommandContext, CommandError, EXIT } from '../command-context.ts';
import { endAllExceptions } from './end-all-exceptions.ts';
import { type EndOptions, endException } from './end-exception.ts';
import type { Ending } from './endings.ts';
import { listExceptions } from './list-exceptions.ts';

/** `gateway exception list|approve|drop`: usage that could not be debited as it came, and what becomes of it. */
export function addExceptionCommands(exception: Command, context: CommandContext): void {
  exception
    .command('list')
    .description('what waits for an approval or a drop: beyond its hold, reported late, or without a price')
    .argument('[account]', 'one account; all of them otherwise', accountArgument)
    .option('--all', 'with those that have ended: what was debited or never will be, by whom and why')
    .addHelpText('after', '\nExamples:\n  gateway exception list\n  gateway exception list acct_demo --all')
    .action(async (id: AccountId | undefined, { all }: { readonly all?: boolean }, command: Command) =>
      listExceptions({ only: id ?? null, withEnded: all === true }, command, context),
    );
  addEnding(
    exception,
    context,
    'approve',
    'debit what the hold left out, or what was reported late, as the request itself would have been; for good.' +
      ' What had no price stays as it was billed, at the standard price or not at all',
  );
  addEnding(exception, context, 'drop', 'never debit what an exception is about; for good');
}

function addEnding(exception: Command, context: CommandContext, word: Ending, what: string): void {
  exception
    .command(word)
    .description(what)
    .argument('[request]', 'the request id that `exception list` shows')
    .requiredOption('--reason <text>', 'why; it stands in the ledger', reasonArgument)
    .option('--account <account>', 'where the request belongs to: saves looking for it', accountArgument)
    .option('--all', 'every one of --account that is open')
    .option('--before <time>', 'with --all: of requests that started before it', instantArgument)
    .option('--dry-run', 'say what it would do, and write nothing')
    .addHelpText(
      'after',
      `\nExamples:\n  gateway exception ${word} req_… --reason "the provider has looked into it" --dry-run` +
        `\n  gateway exception ${word} req_… --reason "the provider has looked into it"` +
        `\n  gateway exception ${word} --all --account acct_demo --before 2027-02-01 --reason "their server was mended"`,
    )
    .action(async (id: string | undefined, options: AllOptions, command: Command) =>
      endOneOrAll(word, id, options, { command, context }),
    );
}

interface AllOptions extends EndOptions {
  readonly all?: boolean;
  readonly before?: number;
}

/** @throws CommandError */
async function endOneOrAll(
  word: Ending,
  id: string | undefined,
  options: AllOptions,
  asked: CommandCall,
): Promise<void> {
  const { all = false, before, account } = options;
  if ((id === undefined) !== all) throw new CommandError('say one of <request> and --all', EXIT.usage);
  if (id !== undefined && before !== undefined) throw new CommandError('--before goes with --all', EXIT.usage);
  if (id !== undefined) return endException(word, requestId(id), options, asked);
  if (account === undefined) throw new CommandError('--all: say of which account, by --account', EXIT.usage);
  return endAllExceptions(word, { ...options, account, before }, asked);
}
