import type { Command } from 'commander';
import { type AccountId, type RequestId, requestId } from '../../contracts/ids.ts';
import { formatUsd } from '../../contracts/money.ts';
import type { BillingException, ExceptionsState } from '../../ledger/account/account-state.ts';
import { amountOfException, costOfException, reasonsOf } from '../../ledger/account/exceptions.ts';
import { accountArgument } from '../../ledger/commands/command-arguments.ts';
import {
  type CommandContext,
  CommandError,
  EXIT,
  recordingOf,
  show,
  table,
  withEventLog,
} from '../../ledger/commands/command-context.ts';
import { runAccountCommand } from '../../ledger/commands/run-account-command.ts';
import type { AccountViews } from '../account-views.ts';
import { withViews } from './with-views.ts';

/** The command and event of each word. */
const ENDINGS = {
  approve: { command: 'ApproveException', event: 'ExceptionApproved', done: 'approved' },
  drop: { command: 'DropException', event: 'ExceptionDropped', done: 'dropped' },
} as const;
type Word = keyof typeof ENDINGS;

interface EndOptions {
  readonly reason: string;
  readonly account?: AccountId;
}

/** `gateway exception list|approve|drop`: usage that could not be debited as it came, and what becomes of it. */
export function addExceptionCommands(exception: Command, context: CommandContext): void {
  exception
    .command('list')
    .description('what waits for an approval or a drop: beyond its hold, reported late, or without a price')
    .argument('[account]', 'one account; all of them otherwise', accountArgument)
    .option('--all', 'with those that have ended')
    .addHelpText('after', '\nExamples:\n  gateway exception list\n  gateway exception list acct_demo --all')
    .action(async (id: AccountId | undefined, { all }: { readonly all?: boolean }, command: Command) =>
      list(id ?? null, all === true, command, context),
    );
  addEnding(exception, context, 'approve', 'debit what an exception is about, as its request would have been');
  addEnding(exception, context, 'drop', 'never debit what an exception is about');
}

function addEnding(exception: Command, context: CommandContext, word: Word, what: string): void {
  exception
    .command(word)
    .description(what)
    .argument('<request>', 'the request id that `exception list` shows')
    .requiredOption('--reason <text>', 'why; it stands in the ledger')
    .option('--account <account>', 'where the request belongs to: saves looking for it', accountArgument)
    .addHelpText('after', `\nExample:\n  gateway exception ${word} req_… --reason "the provider has looked into it"`)
    .action(async (id: string, options: EndOptions, command: Command) =>
      end(word, requestId(id), options, command, context),
    );
}

async function list(only: AccountId | null, all: boolean, command: Command, context: CommandContext): Promise<void> {
  await withViews(context, command, async (accounts) => {
    const rows = exceptionsIn(accounts, only, all);
    const unlisted = unlistedIn(accounts, only);
    const text = table(
      ['account', 'request', 'started', 'model', 'USD', 'why', 'state'],
      rows.map(({ accountId, request, startedAt, model, amountMicroUsd, why, state }) => [
        accountId,
        request,
        startedAt ?? '',
        model ?? '',
        amountMicroUsd === null ? '' : formatUsd(amountMicroUsd),
        why.join('; '),
        state,
      ]),
    );
    const more = unlisted === 0 ? '' : `\nand ${unlisted} without a price that stand in their UsageRecorded only`;
    show(context, command, { json: { exceptions: rows, unlisted }, text: `${text}${more}` });
  });
}

interface ListedException {
  readonly accountId: AccountId;
  readonly request: string;
  readonly state: 'open' | 'approved' | 'dropped';
  /** Null, like the next three, once it has ended: the event that ended it says the rest. */
  readonly startedAt: string | null;
  readonly model: string | null;
  /** In whole micro-USD; `costPicoUsd` is exact. */
  readonly amountMicroUsd: bigint | null;
  readonly costPicoUsd: bigint | null;
  readonly why: readonly string[];
}

function exceptionsIn(accounts: AccountViews, only: AccountId | null, all: boolean): ListedException[] {
  const open = [...accounts.balance.openExceptions()]
    .filter(([accountId]) => only === null || only === accountId)
    .map(([accountId, exception]) => listed(accountId, exception));
  if (!all) return open;
  const ended = [...statesIn(accounts, only)].flatMap(([accountId, exceptions]) =>
    Object.entries(exceptions.ended).map(
      ([request, state]): ListedException => ({
        ...{ accountId, request, state, startedAt: null, model: null },
        ...{ amountMicroUsd: null, costPicoUsd: null, why: [] },
      }),
    ),
  );
  return [...open, ...ended];
}

const listed = (accountId: AccountId, exception: BillingException): ListedException => ({
  accountId,
  request: exception.requestId,
  state: 'open',
  startedAt: new Date(exception.startedAtMs).toISOString(),
  model: exception.model,
  amountMicroUsd: amountOfException(exception),
  costPicoUsd: costOfException(exception),
  why: reasonsOf(exception),
});

const unlistedIn = (accounts: AccountViews, only: AccountId | null): number =>
  [...statesIn(accounts, only)].reduce((sum, [, { unlisted }]) => sum + unlisted, 0);

function* statesIn(accounts: AccountViews, only: AccountId | null): Generator<[AccountId, ExceptionsState]> {
  for (const [accountId, { state }] of accounts.balance.all())
    if (state.type === 'open' && (only === null || only === accountId)) yield [accountId, state.exceptions];
}

async function end(word: Word, request: RequestId, options: EndOptions, command: Command, context: CommandContext) {
  const { reason } = options;
  const accountId = options.account ?? (await accountOf(request, command, context));
  const ending = ENDINGS[word];
  await withEventLog(context, command, async (log) => {
    const { actor } = recordingOf(context);
    const { events, revision } = await runAccountCommand(context, log, accountId, {
      type: ending.command,
      requestId: request,
      reason,
      actor,
    });
    const [event] = events;
    if (event?.type !== ending.event) throw new Error('the exception was not ended, and nothing refused');
    const { amount } = event.data;
    show(context, command, {
      json: { accountId, requestId: request, [ending.done]: true, amountMicroUsd: amount, revision },
      text: `${ending.done} ${formatUsd(amount)} USD of ${request} (${accountId}): ${reason}`,
    });
  });
}

/** The account whose exception it is. @throws CommandError where no account has one of this request */
async function accountOf(request: RequestId, command: Command, context: CommandContext): Promise<AccountId> {
  return withViews(context, command, async (accounts) => {
    for (const [accountId, { open, ended }] of statesIn(accounts, null))
      if (Object.hasOwn(open, request) || Object.hasOwn(ended, request)) return accountId;
    throw new CommandError(`${request}: no account has an exception of this request`, EXIT.refused);
  });
}
