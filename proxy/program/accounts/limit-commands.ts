import { isDeepStrictEqual } from 'node:util';
import { type Command, InvalidArgumentError } from 'commander';
import { type AccountId, keyId } from '../../../contracts/ids.ts';
import { USUAL_THRESHOLDS } from '../../../contracts/limit-events.ts';
import { formatUsd, groupedUsd, type MicroUsd, microUsd } from '../../../contracts/money.ts';
import type { AccountState } from '../../../ledger/account/account-state.ts';
import type { AccountCommand } from '../../../ledger/account/commands.ts';
import { evolve } from '../../../ledger/account/evolve.ts';
import { type LimitScope, limitOf, type SpendLimit } from '../../../ledger/account/spend-limits.ts';
import { accountArgument, emailArgument, usdArgument } from '../command-arguments.ts';
import { type CommandContext, CommandError, EXIT, withEventLog } from '../command-context.ts';
import { showWritten } from '../show.ts';
import { decideAccountCommand, runAccountCommand } from './run-account-command.ts';
import { setAsideBefore } from './set-aside.ts';

interface LimitOptions {
  readonly usd?: MicroUsd;
  readonly none?: boolean;
  readonly account?: boolean;
  readonly key?: string;
  readonly member?: string;
  readonly soft?: boolean;
  readonly liftHard?: boolean;
  readonly thresholds?: readonly number[];
}

export function addLimitCommands(limit: Command, context: CommandContext): void {
  limit
    .command('set')
    .description('set or lift the monthly limit of an account, or of one of its members or keys')
    .argument('<account>', 'account id', accountArgument)
    .option('--usd <amount>', 'per calendar month (UTC)', usdArgument)
    .option('--none', 'no limit')
    .option('--account', "the account's limit, as where neither --key nor --member is said")
    .option('--key <key>', "the key's limit instead of the account's")
    .option('--member <address>', "the member's limit, for all of the member's keys together", emailArgument)
    .option('--soft', 'one that only tells, and refuses nothing')
    .option('--lift-hard', 'with --soft: also where that lifts a hard limit, which refuses')
    .option(
      '--thresholds <percents>',
      'at which it is told once a month, such as 60,90; those that it has, or 50,80,100',
      percentsArgument,
    )
    .addHelpText(
      'after',
      '\nExamples:\n  gateway limit set acct_demo --usd 100\n  gateway limit set acct_demo --key key_1a2b3c4d5e6f7081 --none\n' +
        '  gateway limit set acct_example --member ben@example.com --usd 50 --soft --thresholds 60,90',
    )
    .action(async (id: AccountId, options: LimitOptions, command: Command) => {
      const scope = scopeOf(options);
      const { limit: limitMicroUsd, ...asked } = askedBy(options);
      await withEventLog(context, command, async (log, configuration) => {
        const nowMs = context.clock();
        const setting: AccountCommand = { type: 'SetSpendLimit', ...scope, limit: limitMicroUsd, ...asked, nowMs };
        if (asked.mode === 'soft' && options.liftHard !== true) {
          const hard = hardLimitOf((await decideAccountCommand(context, log, id, setting)).before, scope);
          if (hard !== null)
            throw new CommandError(
              `${id}: a limit is hard or soft, not both: this lifts the hard limit of ${groupedUsd(hard)} USD; say --lift-hard, or tell of the hard one earlier (--usd ${formatUsd(hard)} --thresholds …)`,
              EXIT.refused,
            );
        }
        const done = await runAccountCommand(context, log, id, setting);
        const after = done.events.reduce<AccountState>(evolve, done.before);
        const set = after.type === 'open' ? limitOf(after.spend, scope) : null;
        const { mode } = asked;
        const terms: Terms = { mode, thresholdsPercent: set?.thresholdsPercent ?? USUAL_THRESHOLDS };
        const hard = terms.mode === 'soft' ? hardLimitOf(done.before, scope) : null;
        const binds = limitMicroUsd !== null && terms.mode === 'hard';
        const beforeMicroUsd = binds
          ? await setAsideBefore({ accountId: id, ...scope }, done, { log, configuration, nowMs })
          : microUsd(0n);
        const whose = scope.keyId ?? scope.member ?? id;
        const settles = binds ? `; ${sayBefore(beforeMicroUsd)}` : '';
        showWritten(context, command, done.recordedAt, {
          json: { accountId: id, ...scope, limitMicroUsd, ...terms, setAsideBeforeMicroUsd: beforeMicroUsd },
          text: `${whose} has ${said(limitMicroUsd, terms)}${settles}${hard === null ? '' : `; the hard limit of ${groupedUsd(hard)} USD is lifted`}`,
        });
      });
    });
}

function hardLimitOf(state: AccountState, scope: LimitScope): MicroUsd | null {
  const limit = state.type === 'open' ? limitOf(state.spend, scope) : null;
  return limit?.mode === 'hard' ? limit.limit : null;
}

type Terms = Pick<SpendLimit, 'mode' | 'thresholdsPercent'>;

interface Asked extends Pick<SpendLimit, 'mode'> {
  readonly limit: MicroUsd | null;
  /** Absent where nobody says: those that the limit has are kept. */
  readonly thresholdsPercent?: readonly number[];
}

function said(limit: MicroUsd | null, { mode, thresholdsPercent }: Terms): string {
  if (limit === null) return 'no monthly limit';
  const what = mode === 'soft' ? 'a soft monthly limit, by which nothing is refused,' : 'a monthly limit';
  const told = isDeepStrictEqual(thresholdsPercent, USUAL_THRESHOLDS)
    ? ''
    : `, told at ${thresholdsPercent.join(', ')}%`;
  return `${what} of ${groupedUsd(limit)} USD${told}`;
}

function scopeOf({ account = false, key, member }: LimitOptions): LimitScope {
  if ([account, key !== undefined, member !== undefined].filter((isSaid) => isSaid).length > 1)
    throw new CommandError('say one of --account, --key <key> and --member <address>', EXIT.usage);
  return { keyId: key === undefined ? null : keyId(key), member: member ?? null };
}

/** In rising order, each once. */
function percentsArgument(text: string): number[] {
  const percents = text.split(',').map((one) => (/^\s*\d{1,3}\s*$/.test(one) ? Number(one) : 0));
  if (percents.some((one) => one < 1 || one > 100))
    throw new InvalidArgumentError('expected whole percents from 1 to 100, such as 60,90');
  return [...new Set(percents)].toSorted((one, other) => one - other);
}

function sayBefore(before: MicroUsd | null): string {
  if (before === null)
    return 'requests that are under way still settle, also beyond it: how much that is, is known where their gateway has its data folder';
  return before > 0n
    ? `up to ${groupedUsd(before)} USD that was set aside for requests before may still be spent, also beyond it`
    : 'nothing was set aside for requests before';
}

function askedBy({ usd, none, soft = false, liftHard = false, thresholds }: LimitOptions): Asked {
  if ((usd === undefined) === (none !== true))
    throw new CommandError('say one of --usd <amount> and --none', EXIT.usage);
  if (liftHard && !soft) throw new CommandError('--lift-hard is of a soft limit: say --soft', EXIT.usage);
  if (usd === undefined && (soft || thresholds !== undefined))
    throw new CommandError('--soft and --thresholds are of a limit: say --usd <amount>', EXIT.usage);
  const told = thresholds === undefined ? {} : { thresholdsPercent: thresholds };
  return { limit: usd ?? null, mode: soft ? 'soft' : 'hard', ...told };
}
