import type { Command } from 'commander';
import { type AccountId, grantId } from '../../../contracts/ids.ts';
import { groupedUsd, type MicroUsd, microUsd } from '../../../contracts/money.ts';
import { accountArgument, instantArgument, reasonArgument, usdArgument } from '../command-arguments.ts';
import { type CommandContext, recordingOf, withEventLog } from '../command-context.ts';
import { showWritten } from '../show.ts';
import { runAccountCommand, sayBalanceAfter } from './run-account-command.ts';

interface ReinstateOptions {
  readonly grant: string;
  readonly reason: string;
  readonly usd?: MicroUsd;
  readonly expires?: number;
}

/** `gateway credits reinstate`: undoes `CreditsExpired`. */
export function addReinstateCommand(credits: Command, context: CommandContext): void {
  credits
    .command('reinstate')
    .description(
      'give a grant back what was written down as expired, where a clock was wrong (an account that is suspended: `account reinstate`)',
    )
    .argument('<account>', 'account id', accountArgument)
    .requiredOption('--grant <id>', 'the grant; `gateway account show` lists them')
    .requiredOption('--reason <text>', 'why; it stands in the ledger', reasonArgument)
    .option('--usd <amount>', 'how much, in USD; all that has expired of it otherwise', usdArgument)
    .option('--expires <instant>', 'a new end (exclusive) for a grant whose own end has passed', instantArgument)
    .addHelpText(
      'after',
      '\nExamples:\n  gateway credits reinstate acct_demo --grant grant_trial --reason "the clock of gw-2 was 40 days ahead"\n  gateway credits reinstate acct_demo --grant grant_trial --expires 2027-01-31 --reason "outage of ten days"',
    )
    .action(async (id: AccountId, options: ReinstateOptions, command: Command) =>
      reinstate(id, options, command, context),
    );
}

async function reinstate(id: AccountId, options: ReinstateOptions, command: Command, context: CommandContext) {
  await withEventLog(context, command, async (log, { expiry }) => {
    const { grant, reason, usd = null, expires = null } = options;
    const done = await runAccountCommand(context, log, id, {
      type: 'ReinstateCredits',
      grantId: grantId(grant),
      amount: usd,
      expiresAtMs: expires,
      reason,
      lateMs: expiry.lateMs,
      actor: recordingOf(context).actor,
      nowMs: context.clock(),
    });
    const event = done.events.at(-1);
    if (event?.type !== 'CreditsReinstated') throw new Error('nothing was reinstated, and nothing refused');
    const { amount, expiresAt } = event.data;
    showWritten(context, command, done.recordedAt, {
      json: { accountId: id, grantId: grant, amountMicroUsd: amount, expiresAt, revision: done.revision },
      text: `reinstated ${groupedUsd(microUsd(amount))} USD of ${grant} to ${id}, until ${expiresAt}${sayBalanceAfter(done)}`,
    });
  });
}
