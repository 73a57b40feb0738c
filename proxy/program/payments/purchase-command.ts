import { randomBytes } from 'node:crypto';
import type { Command } from 'commander';
import { type AccountId, type AttemptId, attemptId } from '../../../contracts/ids.ts';
import { groupedUsd, type MicroUsd } from '../../../contracts/money.ts';
import { runAccountCommand } from '../accounts/run-account-command.ts';
import { accountArgument, attemptArgument, usdArgument } from '../command-arguments.ts';
import { type CommandContext, CommandError, EXIT, recordingOf, withEventLog } from '../command-context.ts';
import { showWritten } from '../show.ts';
import { askProvider, configuredProvider, sayAsked } from './ask-provider.ts';
import { type ProvidedLog, readPayer } from './read-payer.ts';

interface PurchaseOptions {
  readonly usd: MicroUsd;
  readonly priceUsd?: MicroUsd;
  readonly id?: AttemptId;
}

/** `gateway credits purchase`: claims the purchase, then asks whoever takes the money. */
export function addPurchaseCommand(credits: Command, context: CommandContext): void {
  credits
    .command('purchase')
    .description('begin to buy credits, which are there once they are paid')
    .argument('<account>', 'account id', accountArgument)
    .requiredOption('--usd <amount>', 'credits, in USD', usdArgument)
    .option(
      '--price-usd <amount>',
      'what is to be paid for them, in USD, by an operator; as much otherwise',
      usdArgument,
    )
    .option('--id <attempt>', 'an id of your own: the same one again buys nothing more', attemptArgument)
    .addHelpText(
      'after',
      '\nExamples:\n  gateway credits purchase acct_demo --usd 20\n  gateway credits purchase acct_demo --usd 100 --price-usd 90 --id invoice-2027-0042',
    )
    .action(async (id: AccountId, options: PurchaseOptions, command: Command) =>
      withEventLog(context, command, (log, configuration) =>
        purchase(id, options, { log, configuration, command, context }),
      ),
    );
}

interface Call extends ProvidedLog {
  readonly command: Command;
  readonly context: CommandContext;
}

async function purchase(id: AccountId, { usd, priceUsd, id: given }: PurchaseOptions, call: Call): Promise<void> {
  const { log, configuration, command, context } = call;
  const attempt = given ?? attemptId(`purchase_${randomBytes(8).toString('hex')}`);
  const { actor: by } = recordingOf(context);
  const price = priceUsd ?? usd;
  await readPayer(context, { log, configuration }, id, 'StartPurchase');
  // Before anything is claimed: its secrets may be missing, and it may never take so much.
  const taker = await configuredProvider(context, { log, configuration });
  const { name: provider } = taker;
  const why = taker.declines?.(price) ?? null;
  if (why !== null)
    throw new CommandError(`${id}: ${priceUsd === undefined ? '--usd' : '--price-usd'}: ${why}`, EXIT.refused);
  const begun = { attemptId: attempt, provider, amount: usd, price, by, nowMs: context.clock() };
  const { recordedAt, events } = await runAccountCommand(context, log, id, { type: 'StartPurchase', ...begun });
  const asked = await askProvider(context, { log, configuration }, { accountId: id, attemptId: attempt }, events);
  const { outcome } = asked;
  showWritten(context, command, recordedAt, {
    json: { accountId: id, attemptId: attempt, amountMicroUsd: usd, priceMicroUsd: price, provider, outcome },
    text: `${id}: ${groupedUsd(usd)} USD of credits for ${groupedUsd(price)} USD (${attempt}): ${sayAsked(context, id, asked)}`,
  });
}
