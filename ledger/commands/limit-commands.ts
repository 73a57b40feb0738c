import type { Command } from 'commander';
import type { Configuration } from '../../contracts/configuration.ts';
import { type AccountId, type KeyId, keyId } from '../../contracts/ids.ts';
import { formatUsd, type MicroUsd, microUsd } from '../../contracts/money.ts';
import type { AccountState } from '../account/account-state.ts';
import { evolve } from '../account/evolve.ts';
import { activeLeases, setAsideForKey, sumOfLeases } from '../account/leases.ts';
import { accountArgument, usdArgument } from './command-arguments.ts';
import { type CommandContext, CommandError, EXIT, show, withEventLog } from './command-context.ts';
import { type Done, runAccountCommand } from './run-account-command.ts';

interface LimitOptions {
  readonly usd?: MicroUsd;
  readonly none?: boolean;
  readonly key?: string;
}

/** `gateway limit set`. */
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
        const beforeMicroUsd = setAsideBefore(done, scopedKey, nowMs);
        const whose = options.key ?? id;
        const said = limitMicroUsd === null ? 'no monthly limit' : `a monthly limit of ${formatUsd(limitMicroUsd)} USD`;
        const settles = limitMicroUsd === null ? '' : `; ${sayBefore(beforeMicroUsd, configuration.proxies)}`;
        show(context, command, {
          json: { accountId: id, keyId: scopedKey, limitMicroUsd, setAsideBeforeMicroUsd: beforeMicroUsd },
          text: `${whose} has ${said}${settles}`,
        });
      });
    });
}

/**
 * What proxies had set aside of the account's credit for its requests, or for the key's, when the limit was set: it may
 * still be spent, and no more than it beyond the limit.
 */
function setAsideBefore({ before, events }: Done, keyId: KeyId | null, nowMs: number): MicroUsd {
  const account = events.reduce<AccountState>(evolve, before);
  if (account.type === 'unopened') return microUsd(0n);
  const leases = activeLeases(account, nowMs);
  return keyId === null ? sumOfLeases(leases) : setAsideForKey(account, keyId, leases);
}

/** One proxy alone sets nothing aside in the log: what its requests hold is known to it only. */
function sayBefore(before: MicroUsd, proxies: Configuration['proxies']): string {
  if (before > 0n)
    return `up to ${formatUsd(before)} USD that was set aside for requests before may still be spent, also beyond it`;
  return proxies === 'many'
    ? 'nothing was set aside for requests before'
    : 'requests that are under way still settle, also beyond it';
}

function limitOf({ usd, none }: LimitOptions): MicroUsd | null {
  if ((usd === undefined) === (none !== true))
    throw new CommandError('say one of --usd <amount> and --none', EXIT.usage);
  return usd ?? null;
}
