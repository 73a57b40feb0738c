import { randomBytes } from 'node:crypto';
import { type Command, Option } from 'commander';
import { type AccountId, paymentId } from '../../../contracts/ids.ts';
import { formatUsd, type MicroUsd } from '../../../contracts/money.ts';
import { MANUAL } from '../../../contracts/payments-configuration.ts';
import type { AccountCommand } from '../../../ledger/account/commands.ts';
import { creditsTaken, sayTaken } from '../../../ledger/account/credits-taken.ts';
import { paidBy } from '../../../ledger/account/payments.ts';
import { runAccountCommand } from '../accounts/run-account-command.ts';
import { accountArgument, nameArgument, usdArgument } from '../command-arguments.ts';
import { type CommandContext, CommandError, EXIT, recordingOf, withEventLog } from '../command-context.ts';
import { showWritten } from '../show.ts';
import { readPayer } from './read-payer.ts';

interface ReturnOptions {
  readonly usd: MicroUsd;
  readonly id?: string;
}

/** `gateway payment refund|dispute|close-dispute`: what became of money that an operator has confirmed. */
export function addRefundCommands(payment: Command, context: CommandContext): void {
  ofPayment(
    payment,
    'refund',
    'write down that money of a payment went back: its credits are revoked, and owed where they are spent',
  )
    .requiredOption('--usd <amount>', 'how much, in USD', usdArgument)
    .option('--id <refund>', 'an id of your own: the same one again takes nothing more', nameArgument)
    .addHelpText('after', '\nExample:\n  gateway payment refund acct_demo "transfer 42" --usd 5')
    .action(async (id: AccountId, payment: string, { usd, id: given }: ReturnOptions, command: Command) => {
      const refundId = given ?? `refund_${randomBytes(8).toString('hex')}`;
      await run(
        'RecordRefund',
        { id, payment, command, context },
        `${formatUsd(usd)} USD refunded (${refundId})`,
        (said) => ({
          ...{ type: 'RecordRefund', refundId, amount: usd, refundedAtMs: said.nowMs },
          ...said,
        }),
      );
    });

  ofPayment(
    payment,
    'dispute',
    'write down that whoever paid disputes a payment: its credits are revoked until it is decided',
  )
    .requiredOption('--usd <amount>', 'how much, in USD', usdArgument)
    .requiredOption('--id <dispute>', 'what it is called', nameArgument)
    .addHelpText('after', '\nExample:\n  gateway payment dispute acct_demo "transfer 42" --usd 20 --id case-7')
    .action(async (id: AccountId, payment: string, { usd, id: disputeId = '' }: ReturnOptions, command: Command) =>
      run(
        'RecordDispute',
        { id, payment, command, context },
        `${formatUsd(usd)} USD disputed (${disputeId})`,
        (said) => ({
          ...{ type: 'RecordDispute', disputeId, amount: usd, openedAtMs: said.nowMs },
          ...said,
        }),
      ),
    );

  ofPayment(payment, 'close-dispute', 'write down how a dispute ended: what one that was won had taken is restored')
    .requiredOption('--id <dispute>', 'what it is called', nameArgument)
    .addOption(new Option('--outcome <outcome>', 'for us').choices(['won', 'lost']).makeOptionMandatory())
    .addHelpText(
      'after',
      '\nExample:\n  gateway payment close-dispute acct_demo "transfer 42" --id case-7 --outcome won',
    )
    .action(async (id: AccountId, payment: string, options: CloseOptions, command: Command) => {
      const { id: disputeId, outcome } = options;
      await run('CloseDispute', { id, payment, command, context }, `dispute ${disputeId} was ${outcome}`, (said) => ({
        ...{ type: 'CloseDispute', disputeId, outcome, closedAtMs: said.nowMs },
        ...said,
      }));
    });
}

interface CloseOptions {
  readonly id: string;
  readonly outcome: 'won' | 'lost';
}

const ofPayment = (payment: Command, word: string, what: string): Command =>
  payment
    .command(word)
    .description(what)
    .argument('<account>', 'account id', accountArgument)
    .argument('<payment>', 'what the payment is called; `gateway payment list ACCOUNT` shows it', nameArgument);

interface Call {
  readonly id: AccountId;
  readonly payment: string;
  readonly command: Command;
  readonly context: CommandContext;
}

interface Said {
  readonly paymentId: ReturnType<typeof paymentId>;
  readonly actor: string;
  readonly nowMs: number;
}

async function run(
  type: 'RecordRefund' | 'RecordDispute' | 'CloseDispute',
  { id, payment: named, command, context }: Call,
  what: string,
  commandOf: (said: Said) => AccountCommand,
): Promise<void> {
  await withEventLog(context, command, async (log, configuration) => {
    const payment = paymentId(named);
    const state = await readPayer(context, { log, configuration }, id, type);
    const attempt = paidBy(state.billing.payments, payment);
    if (attempt !== undefined && attempt.provider !== MANUAL)
      throw new CommandError(`${id}: ${named} is of ${attempt.provider}, which tells it itself`, EXIT.refused);
    const said = { paymentId: payment, actor: recordingOf(context).actor, nowMs: context.clock() };
    const { recordedAt, events, before } = await runAccountCommand(context, log, id, commandOf(said));
    const moved = events.find(({ type }) => type === 'GrantRevoked' || type === 'GrantRestored');
    const balance = moved !== undefined && 'balanceAfter' in moved.data ? moved.data.balanceAfter : state.balance;
    const taken = creditsTaken(events, before);
    showWritten(context, command, recordedAt, {
      json: {
        ...{ accountId: id, paymentId: payment, balanceMicroUsd: balance, revokedMicroUsd: taken?.revoked ?? null },
        ...{ owedMicroUsd: taken?.owed ?? null, notRevokedMicroUsd: taken?.notRevoked ?? null },
      },
      text: `${id}: of ${named} ${what}${taken === null ? '' : `, ${sayTaken(taken)}`}; the balance is ${formatUsd(balance)} USD`,
    });
  });
}
