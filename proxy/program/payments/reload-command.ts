import type { Command } from 'commander';
import type { AccountId } from '../../../contracts/ids.ts';
import { groupedUsd, type MicroUsd } from '../../../contracts/money.ts';
import { saveMethodCommand } from '../../../ledger/account/save-method-command.ts';
import { runAccountCommand } from '../accounts/run-account-command.ts';
import { accountArgument, usdArgument } from '../command-arguments.ts';
import { type CommandContext, CommandError, EXIT, recordingOf, withEventLog } from '../command-context.ts';
import { nextCommand, startedWithOf } from '../next-command.ts';
import { showWritten } from '../show.ts';
import { readPayer } from './read-payer.ts';

interface ReloadOptions {
  readonly thresholdUsd?: MicroUsd;
  readonly targetUsd?: MicroUsd;
  readonly monthlyCapUsd?: MicroUsd;
  readonly consent?: boolean;
  readonly off?: boolean;
}

/** `gateway credits auto-reload`: credits that are bought by themselves where few are left. */
export function addReloadCommand(credits: Command, context: CommandContext): void {
  credits
    .command('auto-reload')
    .description('buy credits by themselves where few are left, or no more')
    .argument('<account>', 'account id', accountArgument)
    .option('--threshold-usd <amount>', 'with so much left, or less', usdArgument)
    .option('--target-usd <amount>', 'up to so much', usdArgument)
    .option('--monthly-cap-usd <amount>', 'the most of a calendar month (UTC)', usdArgument)
    .option('--consent', 'the owner agrees that the payment method is charged without being asked each time')
    .option('--off', 'no more')
    .addHelpText(
      'after',
      '\nExamples:\n  gateway credits auto-reload acct_demo --threshold-usd 5 --target-usd 20 --monthly-cap-usd 100 --consent\n  gateway credits auto-reload acct_demo --off',
    )
    .action(async (id: AccountId, options: ReloadOptions, command: Command) =>
      withEventLog(context, command, async (log, configuration) => {
        const state = await readPayer(context, { log, configuration }, id, 'ConfigureAutoReload');
        const { reload } = state.billing.payments;
        const threshold = options.thresholdUsd ?? reload?.threshold;
        const target = options.targetUsd ?? reload?.target;
        const monthlyCap = options.monthlyCapUsd ?? reload?.monthlyCap;
        if (options.off === true && options.consent !== true && reload === null && isWithoutTerms(options)) {
          showWritten(context, command, null, {
            json: { accountId: id, isOn: false },
            text: `${id}: auto-reload is off; it never was configured`,
          });
          return;
        }
        if (threshold === undefined || target === undefined || monthlyCap === undefined)
          throw new CommandError('say --threshold-usd, --target-usd and --monthly-cap-usd', EXIT.usage);
        if ((options.off === true) === (options.consent === true))
          throw new CommandError('say one of --consent and --off', EXIT.usage);
        const consentedAtMs = options.off === true ? null : context.clock();
        const asked = { threshold, target, monthlyCap, consentedAtMs, by: recordingOf(context).actor };
        const { recordedAt, events } = await runAccountCommand(context, log, id, {
          type: 'ConfigureAutoReload',
          ...asked,
        });
        const lacksMethod = consentedAtMs !== null && state.billing.payments.method === null;
        const isPaused = events.some(({ type }) => type === 'AutoReloadPaused');
        const terms = `at ${groupedUsd(threshold)} USD up to ${groupedUsd(target)} USD, at most ${groupedUsd(monthlyCap)} USD a month`;
        showWritten(context, command, recordedAt, {
          json: {
            accountId: id,
            thresholdMicroUsd: threshold,
            targetMicroUsd: target,
            monthlyCapMicroUsd: monthlyCap,
            isOn: consentedAtMs !== null,
            lacksMethod,
            isPaused,
          },
          text: `${id}: auto-reload is ${consentedAtMs === null ? 'off' : `on, ${terms}`}${lacksMethod ? WITHOUT_METHOD : ''}${isPaused ? DECLINED_METHOD : ''}${lacksMethod || isPaused ? `\n\nnext: ${nextCommand(startedWithOf(context), ...saveMethodCommand(id, configuration.payments.provider))}` : ''}`,
        });
      }),
    );
}

const WITHOUT_METHOD = '; no payment method is saved, and nothing is bought before one is';
const DECLINED_METHOD = '; the saved payment method was declined, and nothing is bought before another one is saved';

const isWithoutTerms = ({ thresholdUsd, targetUsd, monthlyCapUsd }: ReloadOptions): boolean =>
  thresholdUsd === undefined && targetUsd === undefined && monthlyCapUsd === undefined;
