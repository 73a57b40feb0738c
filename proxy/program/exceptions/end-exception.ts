import type { Command } from 'commander';
import type { AccountEvent } from '../../../contracts/events.ts';
import type { AccountId, RequestId } from '../../../contracts/ids.ts';
import { groupedUsd } from '../../../contracts/money.ts';
import type { AccountCommand } from '../../../ledger/account/commands.ts';
import { endOfException, openException } from '../../../ledger/account/exceptions.ts';
import { type Decided, decideAccountCommand, runAccountCommand } from '../accounts/run-account-command.ts';
import {
  type CommandCall,
  type CommandContext,
  CommandError,
  EXIT,
  recordingOf,
  withEventLog,
} from '../command-context.ts';
import { withViews } from '../ledger/with-views.ts';
import { show, showWritten } from '../show.ts';
import { ENDINGS, type Ending } from './endings.ts';
import { exceptionsByAccount } from './exceptions-by-account.ts';

export interface EndOptions {
  readonly reason: string;
  readonly account?: AccountId;
  readonly dryRun?: boolean;
}

/** `gateway exception approve|drop`. With `--dry-run` it is decided and told, and nothing is written. */
export async function endException(
  word: Ending,
  request: RequestId,
  { reason, account, dryRun = false }: EndOptions,
  { command, context }: CommandCall,
): Promise<void> {
  const accountId = account ?? (await accountOf(request, command, context));
  const { actor } = recordingOf(context);
  const asked: AccountCommand = { type: ENDINGS[word].command, requestId: request, reason, actor };
  await withEventLog(context, command, async (log) => {
    const done = dryRun ? null : await runAccountCommand(context, log, accountId, asked);
    const decided: Decided = done ?? (await decideAccountCommand(context, log, accountId, asked));
    const [event] = decided.events;
    if (event?.type !== 'ExceptionApproved' && event?.type !== 'ExceptionDropped')
      throw new Error('the exception was not ended, and nothing refused');
    const { amount } = event.data;
    const debit = event.type === 'ExceptionApproved' ? event.data : null;
    const revision = done === null ? {} : { revision: done.revision };
    const ended = { [ENDINGS[word].done]: !dryRun, ...(dryRun ? { dryRun } : {}) };
    const after =
      debit === null ? {} : { balanceAfterMicroUsd: debit.balanceAfter, uncoveredMicroUsd: debit.uncovered };
    const shown = {
      json: { accountId, requestId: request, ...ended, amountMicroUsd: amount, ...after, ...revision },
      text: [
        `${dryRun ? `would have ${ENDINGS[word].done}` : ENDINGS[word].done} ${groupedUsd(amount)} USD of ${request} (${accountId}): ${reason}`,
        ...saysDebit(event),
        ...saysUnpriced(decided, request),
        ...(dryRun ? ['nothing was written'] : []),
      ].join('\n'),
    };
    if (done === null) show(context, command, shown);
    else showWritten(context, command, done.recordedAt, shown);
  });
}

function saysDebit(event: AccountEvent): string[] {
  if (event.type !== 'ExceptionApproved') return [];
  const { amount, balanceAfter, uncovered } = event.data;
  const owed = uncovered > 0n ? `, ${groupedUsd(uncovered)} USD of it beyond what the grants have` : '';
  return [`debit ${groupedUsd(amount)} USD${owed}; balance after it ${groupedUsd(balanceAfter)} USD`];
}

/** An approval has nothing to price it with: its rate card is the one that the usage names. */
function saysUnpriced({ before }: Decided, request: RequestId): string[] {
  const exception = before.type === 'open' ? openException(before.exceptions, request) : undefined;
  if (exception === undefined || exception.unpriced.length === 0) return [];
  return [`what had no price stays as it was billed, standard or not at all: ${exception.unpriced.join(', ')}`];
}

/** The account whose exception it is. @throws CommandError where no account has one of this request */
async function accountOf(request: RequestId, command: Command, context: CommandContext): Promise<AccountId> {
  return withViews(context, command, async (accounts) => {
    for (const [accountId, exceptions] of exceptionsByAccount(accounts, null))
      if ((openException(exceptions, request) ?? endOfException(exceptions, request)) !== undefined) return accountId;
    throw new CommandError(`${request}: no account has an exception of this request`, EXIT.refused);
  });
}
