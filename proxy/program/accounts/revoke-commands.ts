import { type Command, Option } from 'commander';
import type { EventData } from '../../../contracts/events.ts';
import { type AccountId, grantId } from '../../../contracts/ids.ts';
import { groupedUsd, type MicroUsd } from '../../../contracts/money.ts';
import { lackOf, sayLack } from '../../../ledger/account/credits-taken.ts';
import { accountArgument, nameArgument, reasonArgument, usdArgument } from '../command-arguments.ts';
import { type CommandContext, recordingOf, withEventLog } from '../command-context.ts';
import { showWritten } from '../show.ts';
import { refusedAs, runAccountCommand, sayBalanceAfter, tryAccountCommand } from './run-account-command.ts';

interface CorrectionOptions {
  readonly reason: string;
  readonly usd?: MicroUsd;
  readonly id?: string;
}

interface RevokeOptions extends CorrectionOptions {
  readonly grant: string;
  readonly cause: EventData<'GrantRevoked'>['cause'];
  readonly payment?: string;
}

interface RestoreOptions extends CorrectionOptions {
  readonly revocation: string;
}

/** `gateway credits revoke|restore`: a grant taken back, and that undone. */
export function addRevokeCommands(credits: Command, context: CommandContext): void {
  corrections(
    credits,
    'revoke',
    'take credits of a grant back: first what is left of it; for a refund or a dispute the rest is owed',
  )
    .requiredOption('--grant <id>', 'the grant; `gateway account show` lists them')
    .addOption(
      new Option('--cause <cause>', 'what for')
        .choices(['refund', 'dispute', 'fraud', 'administration'] satisfies RevokeOptions['cause'][])
        .default('administration'),
    )
    .option('--payment <id>', 'the payment that was refunded or disputed, made elsewhere', nameArgument)
    .option('--usd <amount>', 'how much, in USD; what is left of the grant otherwise', usdArgument)
    .option('--id <id>', 'the revocation is made once under it; `revocation_<grant>` otherwise', nameArgument)
    .addHelpText(
      'after',
      '\nExamples:\n  gateway credits revoke acct_demo --grant grant_1a2b --reason "granted to the wrong account"\n  gateway credits revoke acct_demo --grant grant_1a2b --usd 10 --cause refund --payment "transfer 2027-0042" --reason "sent back by the bank"\n\nOf what was paid through the gateway a refund or a dispute takes the credits by itself: `gateway payment refund`, `dispute`; of what was confirmed by mistake the first does, too.',
    )
    .action(async (id: AccountId, options: RevokeOptions, command: Command) => revoke(id, options, command, context));

  corrections(
    credits,
    'restore',
    'give revoked credits back: first what was owed for them; to a grant that is over for 30 days',
  )
    .requiredOption('--revocation <id>', 'the revocation; `gateway ledger replay` names it', nameArgument)
    .option('--usd <amount>', 'how much, in USD; all that has not come back otherwise', usdArgument)
    .option(
      '--id <id>',
      'it is done once under it; `restoration_<revocation>` otherwise, `restored_<revocation>_by_hand` where that is reserved',
      nameArgument,
    )
    .addHelpText(
      'after',
      '\nExample:\n  gateway credits restore acct_demo --revocation revocation_grant_1a2b --reason "the dispute was won"',
    )
    .action(async (id: AccountId, options: RestoreOptions, command: Command) => restore(id, options, command, context));
}

const corrections = (credits: Command, word: string, what: string): Command =>
  credits
    .command(word)
    .description(what)
    .argument('<account>', 'account id', accountArgument)
    .requiredOption('--reason <text>', 'why; it stands in the ledger', reasonArgument);

async function revoke(id: AccountId, options: RevokeOptions, command: Command, context: CommandContext): Promise<void> {
  await withEventLog(context, command, async (log) => {
    const { grant, cause, payment = null, usd = null, reason } = options;
    const revocationId = options.id ?? `revocation_${grant}`;
    const done = await runAccountCommand(context, log, id, {
      ...{ type: 'RevokeGrant', revocationId, grantId: grantId(grant), amount: usd, cause, paymentId: payment },
      ...{ reason, actor: recordingOf(context).actor, nowMs: context.clock() },
    });
    const [event] = done.events;
    if (event !== undefined && event.type !== 'GrantRevoked') throw new Error('something else was revoked');
    const amount = event?.data.amount ?? null;
    const lack = lackOf(event?.data);
    showWritten(context, command, done.recordedAt, {
      json: {
        ...{ accountId: id, revocationId, grantId: grant, amountMicroUsd: amount, owedMicroUsd: lack.owed },
        ...{ balanceAfterMicroUsd: event?.data.balanceAfter ?? null, revision: done.revision },
      },
      text:
        amount === null
          ? `${id}: ${revocationId} was made before`
          : `revoked ${groupedUsd(amount)} USD of ${grant} from ${id}${sayLack(lack)} (${revocationId})${sayBalanceAfter(done)}`,
    });
  });
}

async function restore(
  id: AccountId,
  options: RestoreOptions,
  command: Command,
  context: CommandContext,
): Promise<void> {
  await withEventLog(context, command, async (log) => {
    const { revocation: revocationId, usd = null, reason } = options;
    const restoreAs = async (restorationId: string) => {
      const done = await tryAccountCommand(context, log, id, {
        ...{ type: 'RestoreGrant', restorationId, revocationId, amount: usd },
        ...{ reason, actor: recordingOf(context).actor, nowMs: context.clock() },
      });
      return { restorationId, done };
    };
    const usual = await restoreAs(options.id ?? `restoration_${revocationId}`);
    // Asked for first also where it is reserved by now: what was done under it before is done.
    const isReserved = usual.done.type === 'refused' && usual.done.code === 'restoration_id_reserved';
    const { restorationId, done } =
      options.id === undefined && isReserved ? await restoreAs(`restored_${revocationId}_by_hand`) : usual;
    if (done.type === 'refused') throw refusedAs(id, done);
    const restored = done.events.find((event) => event.type === 'GrantRestored')?.data;
    const amount = restored?.amount ?? null;
    showWritten(context, command, done.recordedAt, {
      json: {
        ...{ accountId: id, restorationId, revocationId, amountMicroUsd: amount },
        ...{ balanceAfterMicroUsd: restored?.balanceAfter ?? null, revision: done.revision },
      },
      text:
        amount === null
          ? `${id}: ${restorationId} was made before`
          : `restored ${groupedUsd(amount)} USD of ${revocationId} to ${id} (${restorationId})${sayBalanceAfter(done)}`,
    });
  });
}
