import type { Command } from 'commander';
import { decodeMetadata } from '../../../contracts/event-codec.ts';
import type { RecordedEvent } from '../../../contracts/event-log.ts';
import { type AccountId, accountStream, revision } from '../../../contracts/ids.ts';
import { onOneLine } from '../../../contracts/printable.ts';
import { UnreadableEventError } from '../../../contracts/unreadable-event-error.ts';
import { exactEventLine } from '../../../ledger/export/exact-event-line.ts';
import { accountArgument, wholeNumberArgument } from '../command-arguments.ts';
import { type CommandContext, globalOptions, withReadLog } from '../command-context.ts';
import { assertAccount } from './assert-account.ts';
import { addExplainCommand } from './explain-command.ts';
import { addExportCommand } from './export-command.ts';
import { addReconcileCommand } from './reconcile-command.ts';
import { addReplayCommand } from './replay-command.ts';
import { addReportCommand } from './report-command.ts';

interface EventsOptions {
  readonly from: number;
  readonly limit?: number;
}

/** `gateway ledger events`: the stream itself, as it is stored; and the commands in files of their own that read it. */
export function addLedgerCommands(ledger: Command, context: CommandContext): void {
  ledger
    .command('events')
    .description("print an account's stream, oldest first; with --json one event a line")
    .argument('<account>', 'account id', accountArgument)
    .option('--from <revision>', 'the first revision to print', wholeNumberArgument, 0)
    .option('--limit <n>', 'how many at the most', wholeNumberArgument)
    .addHelpText(
      'after',
      '\nExamples:\n  gateway ledger events acct_demo\n  gateway ledger events acct_demo --json | jq .type',
    )
    .action(async (id: AccountId, { from, limit }: EventsOptions, command: Command) => {
      const isJson = globalOptions(command).json === true;
      await withReadLog(context, command, async (log) => {
        await assertAccount(log, id);
        const options = { from: revision(from), ...(limit === undefined ? {} : { limit }) };
        for await (const event of log.readStream(accountStream(id), options))
          context.write(isJson ? exactEventLine(event) : textOf(event));
      });
    });
  addReplayCommand(ledger, context);
  addReconcileCommand(ledger, context);
  addReportCommand(ledger, context);
  addExplainCommand(ledger, context);
  addExportCommand(ledger, context);
}

/** An event whose metadata cannot be read says so in its line: nothing else tells an operator what stands there. */
function textOf(event: RecordedEvent): string {
  const data = onOneLine(event.data);
  return `${String(event.revision).padStart(6)}  ${onOneLine(headOf(event))}\n        ${data}\n`;
}

function headOf(event: RecordedEvent): string {
  try {
    const { recordedAt, actor } = decodeMetadata(event);
    return `${recordedAt}  ${event.type}  (${actor})`;
  } catch (error) {
    if (!(error instanceof UnreadableEventError)) throw error;
    return `cannot be read: ${error.message}`;
  }
}
