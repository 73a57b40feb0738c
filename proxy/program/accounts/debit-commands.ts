import type { Command } from 'commander';
import type { EventLog } from '../../../contracts/event-log.ts';
import type { AccountId, RequestId } from '../../../contracts/ids.ts';
import { groupedUsd, type MicroUsd } from '../../../contracts/money.ts';
import type { MoneyOfRequest } from '../../../ledger/account/commands.ts';
import { readAccountEvents } from '../../../ledger/account/load-account.ts';
import { findRequests } from '../../../ledger/statement/find-request.ts';
import { accountArgument, nameArgument, reasonArgument, usdArgument } from '../command-arguments.ts';
import { type CommandContext, CommandError, EXIT, recordingOf, withEventLog } from '../command-context.ts';
import { showWritten } from '../show.ts';
import { runAccountCommand } from './run-account-command.ts';

interface ReverseOptions {
  readonly reason: string;
  readonly account?: AccountId;
  readonly usd?: MicroUsd;
  readonly id?: string;
}

/** `gateway debit reverse`: what a request was debited, whole or in part. */
export function addDebitCommands(debit: Command, context: CommandContext): void {
  debit
    .command('reverse')
    .description(
      'give back what a request was debited, whole or in part, to where it was taken from: first what was owed for it; to a grant that is over for 30 days',
    )
    .argument('<request>', "our request id, or the provider's", nameArgument)
    .requiredOption('--reason <text>', 'why; it stands in the ledger', reasonArgument)
    .option('--account <account>', 'whose request it is: saves looking for it', accountArgument)
    .option('--usd <amount>', 'how much, in USD; all that was not reversed before otherwise', usdArgument)
    .option('--id <id>', 'it is done once under it; `reversal_<request>` otherwise', nameArgument)
    .addHelpText(
      'after',
      '\nExamples:\n  gateway debit reverse req_019a5b3c00007000800000000000000a --reason "the answer was empty"' +
        '\n  gateway debit reverse req_019a5b3c00007000800000000000000a --usd 0.50 --id ticket-17 --reason "half of it was ours"',
    )
    .action(async (request: string, options: ReverseOptions, command: Command) =>
      reverse(request, options, command, context),
    );
}

async function reverse(request: string, options: ReverseOptions, command: Command, context: CommandContext) {
  await withEventLog(context, command, async (log, { eventLog }) => {
    const { account = null, usd = null, reason } = options;
    const [found, ...others] = await findRequests(log, request, { account, hasOrdinals: eventLog.kind === 'sqlite' });
    if (found === undefined)
      throw new CommandError(`${request}: ${account ?? 'the ledger'} has no such request`, EXIT.refused);
    if (others.length > 0)
      throw new CommandError(`${request} is the provider's id of several requests: name one by our own`, EXIT.refused);
    const { accountId, requestId } = found;
    const reversalId = options.id ?? `reversal_${requestId}`;
    const { events, revision, recordedAt } = await runAccountCommand(context, log, accountId, {
      ...{ type: 'ReverseDebit', reversalId, requestId, amount: usd },
      ...{ debits: await debitsOf(log, accountId, requestId), reason },
      ...{ actor: recordingOf(context).actor, nowMs: context.clock() },
    });
    const reversed = events.find((event) => event.type === 'DebitReversed')?.data;
    showWritten(context, command, recordedAt, {
      json: {
        ...{ accountId, requestId, reversalId, amountMicroUsd: reversed?.amount ?? null },
        ...{
          owedLessMicroUsd: reversed?.owedLess ?? null,
          balanceAfterMicroUsd: reversed?.balanceAfter ?? null,
          revision,
        },
      },
      text:
        reversed === undefined
          ? `${accountId}: ${reversalId} was made before`
          : `reversed ${groupedUsd(reversed.amount)} USD of ${requestId} (${accountId}, ${reversalId}); balance after it ${groupedUsd(reversed.balanceAfter)} USD`,
    });
  });
}

async function debitsOf(log: EventLog, accountId: AccountId, requestId: RequestId): Promise<MoneyOfRequest[]> {
  const debits: MoneyOfRequest[] = [];
  for await (const { event } of readAccountEvents(log, accountId))
    if (
      (event.type === 'CreditsDebited' || event.type === 'ExceptionApproved' || event.type === 'DebitReversed') &&
      event.data.requestId === requestId
    )
      debits.push(event);
  return debits;
}
