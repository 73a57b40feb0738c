import { randomBytes } from 'node:crypto';
import type { Command } from 'commander';
import { type AccountId, grantId } from '../../../contracts/ids.ts';
import { groupedUsd, type MicroUsd, microUsd } from '../../../contracts/money.ts';
import { sumOf } from '../../../ledger/account/shares-room.ts';
import { accountArgument, nameArgument, reasonArgument, usdArgument } from '../command-arguments.ts';
import { type CommandContext, CommandError, EXIT, recordingOf, withEventLog } from '../command-context.ts';
import { showWritten } from '../show.ts';
import { runAccountCommand } from './run-account-command.ts';

interface AdjustOptions {
  readonly reason: string;
  readonly up?: MicroUsd;
  readonly down?: MicroUsd;
  readonly id?: string;
}

/** `gateway balance adjust`: what no other command puts right. */
export function addBalanceCommands(balance: Command, context: CommandContext): void {
  balance
    .command('adjust')
    .description(
      'put a balance right that nothing else puts right: upwards by a grant that never ends, downwards from what can be spent; the rest is owed',
    )
    .argument('<account>', 'account id', accountArgument)
    .requiredOption('--reason <text>', 'why; it stands in the ledger', reasonArgument)
    .option('--up <amount>', 'how much more, in USD', usdArgument)
    .option('--down <amount>', 'how much less, in USD', usdArgument)
    .option('--id <id>', 'an id of your own: the same adjustment is never made twice', nameArgument)
    .addHelpText(
      'after',
      '\nExamples:\n  gateway balance adjust acct_demo --up 5 --reason "goodwill for the outage"\n  gateway balance adjust acct_demo --down 2.50 --id ticket-17 --reason "credited twice by hand"',
    )
    .action(async (id: AccountId, options: AdjustOptions, command: Command) => adjust(id, options, command, context));
}

async function adjust(id: AccountId, options: AdjustOptions, command: Command, context: CommandContext): Promise<void> {
  const { up, down, reason } = options;
  const amount = up ?? down;
  if (amount === undefined || (up !== undefined && down !== undefined))
    throw new CommandError('say one of --up <amount> and --down <amount>', EXIT.usage);
  const direction = up === undefined ? 'down' : 'up';
  const adjustmentId = grantId(options.id ?? `adjustment_${randomBytes(8).toString('hex')}`);
  await withEventLog(context, command, async (log) => {
    const { events, revision, recordedAt } = await runAccountCommand(context, log, id, {
      ...{ type: 'AdjustBalance', adjustmentId, direction, amount, reason },
      ...{ actor: recordingOf(context).actor, nowMs: context.clock() },
    });
    const [event] = events;
    const adjusted = event?.type === 'BalanceAdjusted' ? event.data : null;
    const owing = adjusted === null ? null : microUsd(adjusted.uncovered - sumOf(adjusted.setOff));
    const owed = owing === null || owing === 0n ? '' : `, ${groupedUsd(owing)} USD of it owed`;
    showWritten(context, command, recordedAt, {
      json: {
        ...{ accountId: id, adjustmentId, direction, amountMicroUsd: amount },
        ...{
          owedMicroUsd: owing,
          balanceAfterMicroUsd: adjusted?.balanceAfter ?? null,
          revision,
        },
      },
      text:
        adjusted === null
          ? `${id}: ${adjustmentId} was made before`
          : `adjusted ${id} ${direction}wards by ${groupedUsd(amount)} USD (${adjustmentId})${owed}; balance after it ${groupedUsd(adjusted.balanceAfter)} USD`,
    });
  });
}
