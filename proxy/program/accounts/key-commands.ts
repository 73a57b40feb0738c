import type { Command } from 'commander';
import type { EventLog } from '../../../contracts/event-log.ts';
import { type AccountId, type KeyId, keyId } from '../../../contracts/ids.ts';
import { groupedUsd, type MicroUsd } from '../../../contracts/money.ts';
import { nearName } from '../../../contracts/near-name.ts';
import type { OpenAccount } from '../../../ledger/account/account-state.ts';
import { keyInWords, keyStateAt, previousOf } from '../../../ledger/account/key-state.ts';
import { memberOfKey } from '../../../ledger/account/members.ts';
import { newKey } from '../../../ledger/account/new-key.ts';
import { limitOf } from '../../../ledger/account/spend-limits.ts';
import { loadCatalog } from '../../../ledger/catalog/catalog-state.ts';
import {
  accountArgument,
  emailArgument,
  instantArgument,
  listArgument,
  nameArgument,
  usdArgument,
} from '../command-arguments.ts';
import {
  actorOf,
  type CommandContext,
  CommandError,
  EXIT,
  recordingOf,
  withEventLog,
  withReadLog,
} from '../command-context.ts';
import { nextCommand, startedWithOf } from '../next-command.ts';
import { warnOfOtherProduct } from '../product-words.ts';
import { show, showWritten, table } from '../show.ts';
import { accountInViews } from './account-in-views.ts';
import { addRotateCommand } from './rotate-command.ts';
import { readAccountFrom, runAccountCommand } from './run-account-command.ts';
import { issuedOnce } from './shown-once.ts';

interface IssueOptions {
  readonly name: string;
  readonly expires?: number;
  readonly models?: string[];
  readonly monthlyLimitUsd?: MicroUsd;
  readonly member?: string;
  readonly keyOnly?: boolean;
}

export function addKeyCommands(key: Command, context: CommandContext): void {
  key
    .command('issue')
    .description('make a service key; it is shown once and stored as its SHA-256')
    .argument('<account>', 'account id', accountArgument)
    .option('--name <name>', 'what it is for', nameArgument, 'default')
    .option('--expires <instant>', 'when it ends; never otherwise', instantArgument)
    .option('--models <ids>', 'the only models that it may call, with commas between', listArgument)
    .option('--monthly-limit-usd <amount>', 'how much it may spend in a calendar month (UTC)', usdArgument)
    .option(
      '--member <email>',
      "whose it is: a member of the account; who is acting as one, else the first owner's that there is",
      emailArgument,
    )
    .option('--key-only', 'print the key and nothing else (with --json as one JSON string), for scripts')
    .addHelpText(
      'after',
      '\nExamples:\n  gateway key issue acct_demo --name laptop\n  gateway key issue acct_demo --models opal-medium,svc-mock --monthly-limit-usd 20\n  KEY=$(gateway key issue acct_demo --key-only)',
    )
    .action(async (id: AccountId, options: IssueOptions, command: Command) => issue(id, options, command, context));

  addRotateCommand(key, context);

  key
    .command('revoke')
    .description('end a key; running gateways refuse it within a second')
    .argument('<account>', 'account id', accountArgument)
    .argument('<key>', 'key id, as `key list` shows it')
    .addHelpText('after', '\nExample:\n  gateway key revoke acct_demo key_1a2b3c4d5e6f7081')
    .action(async (id: AccountId, revoked: string, _options: unknown, command: Command) => {
      await withEventLog(context, command, async (log) => {
        const revoking = { type: 'RevokeKey', keyId: keyId(revoked), nowMs: context.clock() } as const;
        const { recordedAt } = await runAccountCommand(context, log, id, revoking);
        showWritten(context, command, recordedAt, {
          json: { accountId: id, keyId: revoked },
          text: `revoked ${revoked}`,
        });
      });
    });

  key
    .command('list')
    .description("list an account's keys")
    .argument('<account>', 'account id', accountArgument)
    .action(async (id: AccountId, _options: unknown, command: Command) => list(id, command, context));
}

async function issue(id: AccountId, options: IssueOptions, command: Command, context: CommandContext): Promise<void> {
  await withEventLog(context, command, async (log, { product: served }) => {
    const { secret, keyId: issued, sha256, last4 } = newKey();
    const { name, member, models = null, monthlyLimitUsd = null, expires = null } = options;
    if (models !== null) await assertModelsKnown(context, log, models);
    const { recordedAt, before } = await runAccountCommand(context, log, id, {
      type: 'IssueKey',
      keyId: keyId(issued),
      name,
      sha256,
      last4,
      issuer: recordingOf(context).actor,
      member: member ?? memberActing(context),
      expiresAtMs: expires,
      models,
      monthlyLimit: monthlyLimitUsd,
      nowMs: context.clock(),
    });
    if (before.type === 'open') warnOfOtherProduct(context, { id, product: before.organization.product, served });
    issuedOnce(context, id, keyId(issued));
    if (options.keyOnly === true) {
      show(context, command, { json: secret, text: secret });
      return;
    }
    showWritten(context, command, recordedAt, {
      json: { accountId: id, keyId: issued, key: secret },
      text: `${secret}\n\n${issued} of ${id}. This is the only time that the key is shown.`,
    });
  });
}

/** Null where it is none. */
function memberActing(context: CommandContext): string | null {
  const actor = actorOf(context);
  return actor.type === 'member' ? actor.email : null;
}

/** A key for a model that there is not would refuse each of its requests. @throws CommandError */
async function assertModelsKnown(context: CommandContext, log: EventLog, models: readonly string[]): Promise<void> {
  const catalog = await loadCatalog(log);
  if (catalog.version === 0)
    throw new CommandError(
      `--models: no catalog is published yet, so that there is no model to name: ${nextCommand(startedWithOf(context), 'gateway', 'catalog', 'publish', 'FILE')} first`,
      EXIT.refused,
    );
  const known = [...catalog.models.keys()];
  const unknown = models.filter((model) => !catalog.models.has(model));
  if (unknown.length === 0) return;
  const told = unknown.map((model) => {
    const near = nearName(model, known);
    return near === null ? JSON.stringify(model) : `${JSON.stringify(model)} (is ${near} meant?)`;
  });
  throw new CommandError(
    `--models: the catalog has no model ${told.join(', ')}; it has ${known.join(', ')}`,
    EXIT.refused,
  );
}

async function list(id: AccountId, command: Command, context: CommandContext): Promise<void> {
  await withReadLog(context, command, async (log, configuration, ledger) => {
    const known = accountInViews(context, configuration, ledger, id);
    const { state, keys: seen } = await readAccountFrom(context, log, { accountId: id, action: 'ListKeys', known });
    const nowMs = context.clock();
    const keys = seen.map((key) => ({
      ...key,
      state: keyStateAt(key, nowMs),
      member: memberOfKey(state, key),
      previousUntilMs: previousOf(key)?.untilMs ?? null,
      ...monthlyOf(state, key.keyId),
    }));
    const rows = keys.map((key) => [
      key.keyId,
      key.name,
      `…${key.last4}`,
      key.member,
      keyInWords(key, nowMs),
      key.expiresAtMs === null ? 'never' : new Date(key.expiresAtMs).toISOString(),
      key.models?.join(', ') ?? 'all',
      key.monthlyLimitMicroUsd === null
        ? 'none'
        : `${groupedUsd(key.monthlyLimitMicroUsd)}${key.isSoft ? ', soft' : ''}`,
      key.lastUsedAt ?? 'never',
    ]);
    const head = ['key', 'name', 'ends in', 'whose', 'state', 'expires', 'models', 'USD a month', 'last used'];
    show(context, command, {
      json: keys.map(({ sha256: _hash, number: _number, previous: _previous, ...key }) => key),
      text: () => table(head, rows, context),
    });
  });
}

function monthlyOf({ spend }: OpenAccount, keyId: KeyId) {
  const limit = limitOf(spend, { keyId, member: null });
  return { monthlyLimitMicroUsd: limit?.limit ?? null, isSoft: limit?.mode === 'soft' };
}
