import type { Command } from 'commander';
import { type AccountId, requestId } from '../../contracts/ids.ts';
import { accountArgument, reasonArgument } from '../../ledger/commands/command-arguments.ts';
import type { CommandContext } from '../../ledger/commands/command-context.ts';
import { type Ending, type EndOptions, endException } from './end-exception.ts';
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
    .argument('<request>', 'the request id that `exception list` shows')
    .requiredOption('--reason <text>', 'why; it stands in the ledger', reasonArgument)
    .option('--account <account>', 'where the request belongs to: saves looking for it', accountArgument)
    .option('--dry-run', 'say what it would do, and write nothing')
    .addHelpText(
      'after',
      `\nExamples:\n  gateway exception ${word} req_… --reason "the provider has looked into it" --dry-run` +
        `\n  gateway exception ${word} req_… --reason "the provider has looked into it"`,
    )
    .action(async (id: string, options: EndOptions, command: Command) =>
      endException(word, requestId(id), options, { command, context }),
    );
}
