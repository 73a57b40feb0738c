import { randomBytes } from 'node:crypto';
import { type Command, Option } from 'commander';
import type { EventData } from '../../../contracts/events.ts';
import { type AccountId, grantId } from '../../../contracts/ids.ts';
import { groupedUsd, type MicroUsd } from '../../../contracts/money.ts';
import { usualCost } from '../../../ledger/account/usual-cost.ts';
import {
  accountArgument,
  instantArgument,
  nameArgument,
  usdArgument,
  wholeNumberArgument,
} from '../command-arguments.ts';
import { type CommandContext, withEventLog } from '../command-context.ts';
import { showWritten } from '../show.ts';
import { runAccountCommand, sayBalanceAfter } from './run-account-command.ts';

type Source = Exclude<EventData<'CreditsGranted'>['source'], 'trial'>;

interface GrantOptions {
  readonly usd: MicroUsd;
  readonly source?: Source;
  readonly priority: number;
  readonly expires?: number;
  readonly costUsd?: MicroUsd;
  readonly id?: string;
}

/** Trial credits have 0; what was paid for burns last. */
const DEFAULT_PRIORITY = 100;

export function addCreditsCommands(credits: Command, context: CommandContext): void {
  credits
    .command('grant')
    .description('add credits to an account')
    .argument('<account>', 'account id', accountArgument)
    .requiredOption('--usd <amount>', 'how much, in USD', usdArgument)
    .addOption(
      new Option('--source <source>', 'where they come from')
        .choices(['purchase', 'plan', 'promotion', 'adjustment'] satisfies Source[])
        .default(undefined, 'promotion; purchase where --cost-usd says that something was paid'),
    )
    .option(
      '--cost-usd <amount>',
      'what was paid for them: by that, books have cash, and the account has paid; the amount for a purchase, else 0',
      usdArgument,
    )
    .option('--expires <instant>', 'when they end (exclusive); never otherwise', instantArgument)
    .option('--priority <n>', 'grants of a lower number burn first', wholeNumberArgument, DEFAULT_PRIORITY)
    .option('--id <grant>', 'an id of your own: the same id is never granted twice', nameArgument)
    .addHelpText(
      'after',
      '\nWhat is given is a promotion, for which nobody paid. What is to be paid is bought: gateway credits purchase.' +
        '\n\nExamples:\n  gateway credits grant acct_demo --usd 10.00\n  gateway credits grant acct_demo --usd 5 --expires 2027-01-01\n  gateway credits grant acct_demo --usd 100 --source purchase --cost-usd 90',
    )
    .action(async (id: AccountId, options: GrantOptions, command: Command) => grant(id, options, command, context));
}

async function grant(id: AccountId, options: GrantOptions, command: Command, context: CommandContext): Promise<void> {
  await withEventLog(context, command, async (log) => {
    const { usd, costUsd, priority, expires = null } = options;
    const source = options.source ?? (costUsd === undefined || costUsd === 0n ? 'promotion' : 'purchase');
    const granted = grantId(options.id ?? `grant_${randomBytes(8).toString('hex')}`);
    const done = await runAccountCommand(context, log, id, {
      type: 'GrantCredits',
      grantId: granted,
      source,
      amount: usd,
      costBasis: costUsd ?? usualCost(source, usd),
      priority,
      effectiveAtMs: context.clock(),
      expiresAtMs: expires,
    });
    showWritten(context, command, done.recordedAt, {
      json: { accountId: id, grantId: granted, source, amountMicroUsd: usd, revision: done.revision },
      text:
        done.events.length === 0
          ? `${id}: ${granted} was made before`
          : `granted ${groupedUsd(usd)} USD to ${id} (${granted}, ${source})${sayBalanceAfter(done)}`,
    });
  });
}
