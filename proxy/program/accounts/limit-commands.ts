import type { Command } from 'commander';
import { type AccountId, keyId } from '../../../contracts/ids.ts';
import { groupedUsd, type MicroUsd, microUsd } from '../../../contracts/money.ts';
import { accountArgument, usdArgument } from '../command-arguments.ts';
import { type CommandContext, CommandError, EXIT, withEventLog } from '../command-context.ts';
import { showWritten } from '../show.ts';
import { runAccountCommand } from './run-account-command.ts';
import { setAsideBefore } from './set-aside.ts';

interface LimitOptions {
  readonly usd?: MicroUsd;
  readonly none?: boolean;
  readonly key?: string;
}

export function addLimitCommands(limit: Command, context: CommandContext): void {
  limit
    .command('set')
    .description('set or lift the monthly limit of an account, or of one of its keys')
    .argument('<account>', 'account id', accountArgument)
    .option('--usd <amount>', 'per calendar month (UTC)', usdArgument)
    .option('--none', 'no limit')
    .option('--key <key>', "the key's limit instead of the account's")
    .addHelpText(
      'after',
      '\nExamples:\n  gateway limit set acct_demo --usd 100\n  gateway limit set acct_demo --key key_1a2b3c4d5e6f7081 --none',
    )
    .action(async (id: AccountId, options: LimitOptions, command: Command) => {
      const limitMicroUsd = limitOf(options);
      await withEventLog(context, command, async (log, configuration) => {
        const scopedKey = options.key === undefined ? null : keyId(options.key);
        const nowMs = context.clock();
        const done = await runAccountCommand(context, log, id, {
          type: 'SetSpendLimit',
          keyId: scopedKey,
          limit: limitMicroUsd,
        });
        const beforeMicroUsd =
          limitMicroUsd === null
            ? microUsd(0n)
            : await setAsideBefore({ accountId: id, keyId: scopedKey }, done, { log, configuration, nowMs });
        const whose = options.key ?? id;
        const said =
          limitMicroUsd === null ? 'no monthly limit' : `a monthly limit of ${groupedUsd(limitMicroUsd)} USD`;
        const settles = limitMicroUsd === null ? '' : `; ${sayBefore(beforeMicroUsd)}`;
        showWritten(context, command, done.recordedAt, {
          json: { accountId: id, keyId: scopedKey, limitMicroUsd, setAsideBeforeMicroUsd: beforeMicroUsd },
          text: `${whose} has ${said}${settles}`,
        });
      });
    });
}

function sayBefore(before: MicroUsd | null): string {
  if (before === null)
    return 'requests that are under way still settle, also beyond it: how much that is, is known where their gateway has its data folder';
  return before > 0n
    ? `up to ${groupedUsd(before)} USD that was set aside for requests before may still be spent, also beyond it`
    : 'nothing was set aside for requests before';
}

function limitOf({ usd, none }: LimitOptions): MicroUsd | null {
  if ((usd === undefined) === (none !== true))
    throw new CommandError('say one of --usd <amount> and --none', EXIT.usage);
  return usd ?? null;
}
