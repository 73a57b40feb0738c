import { join } from 'node:path';
import type { Command } from 'commander';
import type { AccountId } from '../../../contracts/ids.ts';
import { counted } from '../../../contracts/money.ts';
import { VIEWS_FILE } from '../../../projections/known-views.ts';
import { type Compared, compareWithFold } from '../../../projections/rebuild/compare-with-fold.ts';
import type { RowDifference } from '../../../projections/rebuild/row-difference.ts';
import { accountArgument } from '../command-arguments.ts';
import { type CommandContext, CommandError, EXIT, globalOptions, withReadLog } from '../command-context.ts';
import { assertAccount } from '../ledger/assert-account.ts';
import { logWithProgress } from '../ledger/log-with-progress.ts';
import { lineOf } from './difference-line.ts';
import { upcastInWords, versionsInWords } from './versions-in-words.ts';

/** `gateway projections diff`: a line a value that the live views have otherwise than a fold of the log. */
export function addDiffCommand(projections: Command, context: CommandContext): void {
  projections
    .command('diff')
    .description(
      'compare the live views, value by value, with a fresh fold of the log as far as each row has come; one line a difference' +
        ' with both values, exit code 5 where there is any. With --json a JSON object a line, the last of which sums up.' +
        " The fold is the gateway's own: `gateway ledger verify` recomputes by arithmetic that shares none of it",
    )
    .argument('[account]', 'account id', accountArgument)
    .option('--all', 'every account, and the catalog')
    .addHelpText('after', '\nExamples:\n  gateway projections diff acct_demo\n  gateway projections diff --all --json')
    .action(async (account: AccountId | undefined, { all = false }: { readonly all?: boolean }, command: Command) => {
      if (all === (account !== undefined))
        throw new CommandError('name the account to look at, or --all, and not both', EXIT.usage);
      context.whenUnread?.(null);
      const isJson = globalOptions(command).json === true;
      let differences = 0;
      const onDifference = (difference: RowDifference): void => {
        differences++;
        context.whenUnread?.(EXIT.faults);
        context.write(isJson ? `${JSON.stringify({ difference })}\n` : `${lineOf(difference)}\n`);
      };
      const compared = await withReadLog(context, command, async (log, { data }, { isWhole, error }) => {
        if (error !== null)
          throw new CommandError('the views know another ledger than this: nothing can be compared', EXIT.refused);
        if (account !== undefined) await assertAccount(log, account);
        const path = join(data, VIEWS_FILE);
        if (!isWhole) throw new CommandError(`${path}: it cannot be read as views: rebuild them`, EXIT.unavailable);
        const comparison = { path, log: logWithProgress(log, context), only: account ?? null, onDifference };
        const done = await compareWithFold(comparison);
        if (done === null) throw new CommandError(`${path}: ${nothingToCompare(path)}`, EXIT.unavailable);
        return done;
      });
      const summary = { ...compared, differences };
      context.write(isJson ? `${JSON.stringify({ summary })}\n` : `${summaryOf(summary)}\n`);
      if (differences > 0) throw new CommandError(`differences found: ${differences}`, EXIT.faults);
    });
}

function nothingToCompare(path: string): string {
  const versions = versionsInWords(path);
  if (versions === '')
    return 'it holds no views yet: a gateway makes them at its start, and `gateway projections rebuild --all` without one';
  return (
    `it holds views that this program can make nothing of (${versions}): \`gateway projections rebuild --all\` makes ones of this` +
    ' program beside them, and the program that has written them compares them'
  );
}

type Summary = Compared & { readonly differences: number };

const summaryOf = ({ events, rows, notCompared, upcastFrom, differences }: Summary): string =>
  `${counted(rows, 'row')} of ${counted(events, 'event')}: ` +
  (differences === 0 ? 'no difference' : counted(differences, 'difference')) +
  (notCompared === 0 ? '' : `; not compared, for they are hidden or parked: ${counted(notCompared, 'account')}`) +
  upcastInWords(upcastFrom, ', from which it is served until it is rebuilt');
